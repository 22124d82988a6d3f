// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/compiled_reader.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "ir/text.h"
#include "mlpackage/blob_cache.h"
#include "mlpackage/compiled_interface.h"
#include "mlpackage/interface_check.h"
#include "mlpackage/package_files.h"
#include "tensor/shape.h"

namespace anemone::mlpackage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "model.mil";
constexpr const char* kDescription = "coremldata.bin";
constexpr const char* kMetadata = "metadata.json";
constexpr std::uint64_t kMaxMetadataBytes = 16 << 20;
// The specification version of the last release whose rules are known; a compiled model does not
// say which one it has.
constexpr int kLastSpecification = 10;

}  // namespace

bool is_compiled_folder(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::path(path) / kDescription, error) ||
         fs::exists(fs::path(path) / kProgram, error);
}

Result<Model> read_compiled(const std::string& path, const ReadOptions& read_options) {
  const std::string program = (fs::path(path) / kProgram).string();
  std::error_code error;
  if (fs::is_directory(path, error) && !fs::exists(program, error))
    return unsupported("[{}] expected a compiled ML program with a {}, got another compiled model",
                       path, kProgram);
  // References to weights are relative to the folder that model.mil is in.
  ANEMONE_ASSIGN_OR_RETURN(const PackageFiles files, PackageFiles::locate(program));
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(program, kMaxModelBytes));
  BlobCache blobs(&files, read_options.maps_weights);
  ir::ParseOptions options;
  options.blob = [&](const ir::Type& type, std::string_view reference,
                     std::uint64_t offset) -> Result<ir::Literal> {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t elements, checked_element_count(type.shape));
    ANEMONE_ASSIGN_OR_RETURN(auto data, blobs.find(std::string(reference), offset, type.dtype,
                                                   static_cast<std::uint64_t>(elements)));
    return ir::Literal(type, std::move(data));
  };
  Model model;
  ANEMONE_ASSIGN_OR_RETURN(model.program, ir::parse(text, program, options));
  for (const ir::Function* function : model.program.functions())
    model.functions.push_back(interface_of(*function));
  model.is_multifunction = model.functions.size() > 1;
  if (model.function(model.default_function) == nullptr && !model.functions.empty())
    model.default_function = model.functions.front().name;
  // The metadata of a model with several functions describe one of them, and do not say which.
  if (const std::string metadata = (fs::path(path) / kMetadata).string();
      model.functions.size() == 1 && fs::exists(metadata, error)) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string json, read_file(metadata, kMaxMetadataBytes));
    ANEMONE_RETURN_IF_ERROR(add_metadata(json, metadata, model.functions.front()));
    if (const Status status = check_interface(model, kLastSpecification); !status.ok())
      return status.with(metadata);
  }
  model.weight_files = blobs.take_files();
  model.blob_offsets = blobs.take_offsets();
  return model;
}

Result<Model> read_model(const std::string& path, const ReadOptions& options) {
  return is_compiled_folder(path) ? read_compiled(path, options) : read_package(path, options);
}

}  // namespace anemone::mlpackage
