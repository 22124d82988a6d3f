// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/package_writer.h"

#include <cstdio>
#include <filesystem>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/version.h"
#include "mlpackage/constant_plan.h"
#include "mlpackage/description_codec.h"
#include "mlpackage/manifest.h"
#include "mlpackage/package_files.h"
#include "mlpackage/program_codec.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/proto/model.pb.h"
#include "mlpackage/writer_checks.h"

namespace anemone::mlpackage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAuthor = "com.apple.CoreML";
constexpr std::string_view kWeightPath = "weights/weight.bin";

int version_of(const Model& model) {
  return model.specification_version != 0 ? model.specification_version
                                          : minimum_specification_version(model);
}

// A folder that goes away with its content unless it takes its place by rename.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create(const std::string& target) {
    // mkdir takes no name that is there, whatever lies in wait under it.
    std::string path = target + ".tmp." + random_suffix();
    if (::mkdir(path.c_str(), 0777) != 0) return errno_error(target, "create the folder");
    return TemporaryFolder(std::move(path));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

  // An empty folder in its place is replaced, and nothing else: rename() sees to that.
  Status move_to(const std::string& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0)
      return errno_error(target, "rename into place");
    path_.clear();
    return {};
  }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Nothing that is there is ever replaced: who wants that removes it first.
Result<std::string> checked_target(const std::string& path) {
  std::string target = path;
  while (target.size() > 1 && target.ends_with('/')) target.pop_back();
  if (!target.ends_with(".mlpackage") || fs::path(target).filename() == ".mlpackage")
    return invalid_argument("[{}] expected a name that ends in .mlpackage", path);
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (fs::exists(status) && !(fs::is_directory(status) && fs::is_empty(target, error)))
    return invalid_argument("[{}] expected a new name or an empty folder, got a path that is taken",
                            path);
  return target;
}

void add_build_info(wire::Program& program, const BlobOffset& blob_offset, Status& status) {
  auto* entry = program.add_attributes();
  entry->set_key("buildInfo");
  status =
      encode_value(ir::Literal::string_dictionary({{"anemone-version", std::string(version())}}),
                   blob_offset, *entry->mutable_value());
}

Result<std::string> encode_model(const Model& model, int specification_version,
                                 const ConstantPlan& plan, bool stamp) {
  wire::Model out;
  out.set_specification_version(specification_version);
  Metadata metadata = model.metadata;
  if (stamp) metadata.user_defined.emplace(kVersionKey, version());
  ANEMONE_RETURN_IF_ERROR(encode_description(model, metadata, *out.mutable_description()));
  const BlobOffset blob_offset = [&](const ir::Literal& literal) { return plan.offset(literal); };
  ANEMONE_RETURN_IF_ERROR(encode_program(model.program, blob_offset, *out.mutable_program()));
  if (stamp && model.program.attributes.empty()) {
    Status status;
    add_build_info(*out.mutable_program(), blob_offset, status);
    ANEMONE_RETURN_IF_ERROR(status);
  }
  const std::size_t size = out.ByteSizeLong();
  if (size > kMaxModelBytes)
    return unsupported("expected a program of at most {} bytes, got {}", kMaxModelBytes, size);
  std::string bytes;
  bytes.reserve(size);
  google::protobuf::io::StringOutputStream sink(&bytes);
  google::protobuf::io::CodedOutputStream stream(&sink);
  stream.SetSerializationDeterministic(true);
  if (!out.SerializeToCodedStream(&stream)) return internal_error("cannot serialize the model");
  stream.Trim();
  return bytes;
}

Status write_files(const std::string& folder, const std::string& model_bytes,
                   const ConstantPlan& plan, const WriteOptions& options) {
  const std::string data = folder + "/Data/" + std::string(kAuthor);
  ANEMONE_RETURN_IF_ERROR(make_directories(data));
  const auto item = [&](std::string_view name, std::string_view description) {
    ManifestItem out;
    // The model says where its weights lie but not what they are; that is fine, the identifier only
    // has to be unique in this package and the same for the same package.
    out.identifier = make_identifier(std::string(name) + '\n' + model_bytes);
    out.name = name;
    out.author = kAuthor;
    out.path = std::string(kAuthor) + '/' + out.name;
    out.description = description;
    return out;
  };
  Manifest manifest;
  manifest.items.push_back(item("model.mlmodel", "CoreML Model Specification"));
  manifest.root = manifest.items[0].identifier;
  if (!plan.blobs().entries().empty()) {
    manifest.items.push_back(item("weights", "CoreML Model Weights"));
    ANEMONE_RETURN_IF_ERROR(make_directories(data + "/weights"));
    ANEMONE_RETURN_IF_ERROR(plan.write(data + "/" + std::string(kWeightPath), options.pool,
                                       options.max_bytes_in_flight, options.progress,
                                       options.cancel));
  }
  ANEMONE_RETURN_IF_ERROR(write_file(data + "/model.mlmodel", model_bytes));
  return write_file(folder + "/Manifest.json", format_manifest(manifest));
}

// What went wrong is told with the name that the caller gave, not that of a temporary folder.
Status with_path(const Status& status, const std::string& path, const std::string& temporary) {
  std::string message = status.message();
  if (!temporary.empty())
    for (std::size_t at = message.find(temporary); at != message.npos; at = message.find(temporary))
      message.replace(at, temporary.size(), path);
  if (!message.starts_with('[')) message = fmt::format("[{}] {}", path, message);
  return Status(status.code(), std::move(message));
}

Result<WriteReport> write(const Model& model, const std::string& target, std::string& temporary,
                          const WriteOptions& options) {
  WriteReport report;
  report.specification_version = version_of(model);
  ANEMONE_RETURN_IF_ERROR(
      check_before_writing(model, report.specification_version, options.registry));
  ANEMONE_ASSIGN_OR_RETURN(const ConstantPlan plan,
                           ConstantPlan::make(model.program, report.specification_version));
  ANEMONE_ASSIGN_OR_RETURN(const std::string bytes,
                           encode_model(model, report.specification_version, plan, options.stamp));
  report.model_bytes = bytes.size();
  report.blob_count = plan.blobs().entries().size();
  report.weight_bytes = report.blob_count > 0 ? plan.blobs().file_bytes() : 0;

  const std::uint64_t needed = report.model_bytes + report.weight_bytes;
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t available, free_disk_bytes(target));
  if (available < needed)
    return io_error("cannot write: no space left on device (needs {}, {} free)",
                    format_bytes(needed), format_bytes(available));
  ANEMONE_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::create(target));
  temporary = folder.path();
  ANEMONE_RETURN_IF_ERROR(write_files(folder.path(), bytes, plan, options));
  ANEMONE_RETURN_IF_ERROR(folder.move_to(target));
  return report;
}

}  // namespace

Result<WriteReport> write_package(const Model& model, const std::string& path,
                                  const WriteOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string target, checked_target(path));
  std::string temporary;
  Result<WriteReport> report = write(model, target, temporary, options);
  if (!report.ok()) return with_path(report.status(), path, temporary);
  return report;
}

Result<std::optional<ConstantPlace>> place_of_constant(const Model& model,
                                                       const ir::Literal& literal) {
  ANEMONE_ASSIGN_OR_RETURN(const ConstantPlan plan,
                           ConstantPlan::make(model.program, version_of(model)));
  const auto offset = plan.data_offset(literal);
  if (!offset) return std::optional<ConstantPlace>();
  return std::optional(ConstantPlace{fmt::format("Data/{}/{}", kAuthor, kWeightPath), *offset});
}

}  // namespace anemone::mlpackage
