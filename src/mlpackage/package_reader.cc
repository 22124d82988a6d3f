// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/package_reader.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/common.h>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "mlpackage/blob_cache.h"
#include "mlpackage/description_codec.h"
#include "mlpackage/interface_check.h"
#include "mlpackage/package_files.h"
#include "mlpackage/program_codec.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/proto/model.pb.h"

namespace anemone::mlpackage {
namespace {

constexpr int kMaxMessageDepth = 100;
constexpr int kOldestVersion = 6;
constexpr int kNewestVersion = 10;

// Errors of the inner decoders have no subject, those of a weight file have their own.
Status with_subject(const Status& status, const std::string& subject) {
  if (status.ok() || status.message().starts_with('[')) return status;
  return Status(status.code(), fmt::format("[{}] {}", subject, status.message()));
}

// A program has tens of thousands of messages: freed one by one they take longer than to parse.
wire::Model& new_model(google::protobuf::Arena& arena) {
#if GOOGLE_PROTOBUF_VERSION >= 5026000
  return *google::protobuf::Arena::Create<wire::Model>(&arena);
#else
  return *google::protobuf::Arena::CreateMessage<wire::Model>(&arena);
#endif
}

Status parse_wire(std::span<const std::byte> bytes, wire::Model& model) {
  if (bytes.size() > kMaxModelBytes)
    return unsupported("expected a model file of at most {} bytes (weights lie beside it), got {}",
                       kMaxModelBytes, bytes.size());
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxMessageDepth);
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return corrupt("expected a Core ML model, got bytes that do not parse as one");
  return {};
}

Status check_kind(const wire::Model& model) {
  switch (model.kind_case()) {
    case wire::Model::kProgram:
      return {};
    case wire::Model::kNeuralNetwork:
    case wire::Model::kNeuralNetworkClassifier:
    case wire::Model::kNeuralNetworkRegressor:
      return unsupported(
          "expected an ML program, got a neural network: convert the model again "
          "with convert_to=\"mlprogram\"");
    case wire::Model::kPipeline:
    case wire::Model::kPipelineClassifier:
    case wire::Model::kPipelineRegressor:
      return unsupported("expected an ML program, got a pipeline: use the models in it one by one");
    case wire::Model::kSerializedModel:
      return unsupported("expected an ML program, got a model that only Apple's runtime opens");
    case wire::Model::KIND_NOT_SET:
      return corrupt("expected an ML program, got no model");
    default:
      return unsupported("expected an ML program, got another kind of model");
  }
}

Result<Model> decode(std::span<const std::byte> bytes, BlobCache& blobs) {
  google::protobuf::Arena arena;
  wire::Model& in = new_model(arena);
  ANEMONE_RETURN_IF_ERROR(parse_wire(bytes, in));
  ANEMONE_RETURN_IF_ERROR(check_kind(in));
  if (in.specification_version() < kOldestVersion || in.specification_version() > kNewestVersion)
    return version_mismatch("expected specification version {} to {}, got {}", kOldestVersion,
                            kNewestVersion, in.specification_version());
  if (in.is_updatable())
    return unsupported("expected a model for prediction, got one that can be trained");
  Model model;
  model.specification_version = in.specification_version();
  ANEMONE_RETURN_IF_ERROR(decode_description(in.description(), model));
  std::vector<std::string> names;
  for (const FunctionInterface& function : model.functions) names.push_back(function.name);
  ANEMONE_ASSIGN_OR_RETURN(model.program, decode_program(in.program(), names, blobs));
  ANEMONE_RETURN_IF_ERROR(check_interface(model, model.specification_version));
  model.weight_files = blobs.take_files();
  model.blob_offsets = blobs.take_offsets();
  return model;
}

}  // namespace

Result<Model> read_package(const std::string& path, const ReadOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const PackageFiles files, PackageFiles::locate(path));
  // The model is read into memory of its own: nobody can change what was checked.
  ANEMONE_ASSIGN_OR_RETURN(const std::string file, read_file(files.model_path(), kMaxModelBytes));
  BlobCache blobs(&files, options.maps_weights);
  Result<Model> model = decode(std::as_bytes(std::span(file)), blobs);
  if (!model.ok()) {
    // A file that was cut short reads as zeros, so this check comes before errors that the reader
    // finds in zeros.
    for (const auto& mapped : blobs.take_files()) ANEMONE_RETURN_IF_ERROR(mapped->check());
    return with_subject(model.status(), files.model_path());
  }
  return model;
}

Result<Model> parse_model(std::span<const std::byte> bytes, const std::string& subject) {
  BlobCache blobs(nullptr);
  Result<Model> model = decode(bytes, blobs);
  if (!model.ok()) return with_subject(model.status(), subject);
  return model;
}

}  // namespace anemone::mlpackage
