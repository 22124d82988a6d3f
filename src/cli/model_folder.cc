// SPDX-License-Identifier: Apache-2.0
#include "cli/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <vector>

#include "artifact/manifest.h"
#include "base/digest.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf/gguf_file.h"
#include "cli/model_path.h"
#include "compiler/compiler.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool is_usable(const std::string& folder) {
  const auto manifest = artifact::read_manifest(folder);
  return manifest.ok() && artifact::check_files(folder, *manifest, /*check_hashes=*/false).ok();
}

Result<std::string> compile_into_cache(const std::string& model, int threads) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string cache, cache_folder());
  ANEMONE_ASSIGN_OR_RETURN(const std::string content, checkpoint::fingerprint(model));
  Digest hash;
  hash.update(fmt::format("artifact {} of {}", artifact::kFormatVersion, content));
  const std::string folder = (fs::path(cache) / hash.hex().substr(0, 24)).string();
  if (is_usable(folder)) return folder;
  ANEMONE_RETURN_IF_ERROR(make_directories(cache));
  compiler::CompileOptions options;
  options.threads = threads;
  ProgressReport bar("compiling", Progress::Unit::kBytes);
  const auto report = compiler::compile(model, folder, options, std::ref(bar));
  if (!report.ok()) return report.status();
  return folder;
}

}  // namespace

Result<std::string> cache_folder() {
  if (const auto named = environment_variable("ANEMONE_CACHE")) return *named;
  if (const auto cache = user_cache_folder()) return (fs::path(*cache) / "anemone").string();
  return invalid_argument("[ANEMONE_CACHE] expected a folder for compiled models, got none");
}

Result<std::string> artifact_folder(const std::string& named, int threads) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string model, model_path(named));
  std::error_code error;
  if (checkpoint::gguf::GgufFile::is_gguf(model)) return compile_into_cache(model, threads);
  if (!fs::is_directory(model, error))
    return unsupported("[{}] expected an artifact, a checkpoint folder or a GGUF file, got a file",
                       model);
  if (is_there(fs::path(model) / artifact::kManifestName)) return model;
  for (const char* name : {"config.json", "genai_config.json"})
    if (is_there(fs::path(model) / name)) return compile_into_cache(model, threads);
  return unsupported("[{}] expected a folder with {} (an artifact) or config.json (a checkpoint)",
                     model, artifact::kManifestName);
}

}  // namespace anemone::cli
