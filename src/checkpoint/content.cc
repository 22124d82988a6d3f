// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/content.h"

#include <algorithm>
#include <filesystem>

#include "base/digest.h"
#include "base/error.h"
#include "base/inner_file.h"
#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/nvfp4.h"
#include "checkpoint/onnx/onnx_checkpoint.h"
#include "checkpoint/safetensors.h"

namespace anemone::checkpoint {
namespace {

namespace fs = std::filesystem;

Result<std::vector<std::string>> all_files(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    ANEMONE_ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::open(path));
    return file->files();
  }
  std::vector<std::string> files;
  std::vector<std::string_view> optional(std::begin(kTextFiles), std::end(kTextFiles));
  if (fs::exists(path + "/config.json", error)) {
    ANEMONE_ASSIGN_OR_RETURN(files, safetensors_files(path));
    optional.insert(optional.end(), {"config.json", "generation_config.json", kModelOptConfig});
  } else {
    ANEMONE_ASSIGN_OR_RETURN(files, onnx::onnx_bundle_files(path));
  }
  for (const std::string_view name : optional) {
    ANEMONE_ASSIGN_OR_RETURN(std::string file, inner_file(path, name));
    if (fs::exists(file, error)) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

Result<std::vector<std::string>> files_of(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(auto files, all_files(path));
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

Result<Content> content_of(const std::string& path, FileHashes& hashes, bool reads_again,
                           const std::function<Status()>& check) {
  ANEMONE_ASSIGN_OR_RETURN(const auto files, files_of(path));
  std::error_code error;
  const fs::path folder =
      fs::is_directory(path, error) ? fs::path(path) : fs::path(path).parent_path();
  Digest all;
  Content out;
  bool is_checked = false;
  for (const std::string& name : files) {
    ANEMONE_ASSIGN_OR_RETURN(FileIdentity file, FileIdentity::of(name));
    if (!is_checked && (reads_again || !hashes.remembers(file))) {
      ANEMONE_RETURN_IF_ERROR(check());
      is_checked = true;
    }
    ANEMONE_ASSIGN_OR_RETURN(const std::string hash, hashes.of(file, reads_again));
    const std::string inner = fs::path(name).lexically_relative(folder).generic_string();
    // The length first: a name may hold anything.
    all.update(fmt::format("{} {} {} {}\n", inner.size(), inner, file.bytes, hash));
    out.files.push_back(std::move(file));
  }
  out.hash = all.hex();
  return out;
}

}  // namespace anemone::checkpoint
