// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/compiled_reader.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "ir/text.h"
#include "mlpackage/blob_cache.h"
#include "mlpackage/package_files.h"
#include "tensor/shape.h"

namespace anemone::mlpackage {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "model.mil";
constexpr const char* kDescription = "coremldata.bin";

}  // namespace

bool is_compiled_folder(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::path(path) / kDescription, error) ||
         fs::exists(fs::path(path) / kProgram, error);
}

Result<Model> read_compiled(const std::string& path) {
  const std::string program = (fs::path(path) / kProgram).string();
  if (std::error_code error; fs::is_directory(path, error) && !fs::exists(program, error))
    return unsupported("[{}] expected a compiled ML program with a {}, got another compiled model",
                       path, kProgram);
  // References to weights are relative to the folder that model.mil is in.
  ANEMONE_ASSIGN_OR_RETURN(const PackageFiles files, PackageFiles::locate(program));
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(program, kMaxModelBytes));
  BlobCache blobs(&files);
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
    model.functions.emplace_back().name = function->name;
  model.is_multifunction = model.functions.size() > 1;
  model.weight_files = blobs.take_files();
  model.blob_offsets = blobs.take_offsets();
  return model;
}

}  // namespace anemone::mlpackage
