// SPDX-License-Identifier: Apache-2.0
#include "cli/model_folder.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <system_error>

#include "artifact/manifest.h"
#include "artifact/ownership.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/path.h"
#include "base/progress.h"
#include "checkpoint/file_kind.h"
#include "checkpoint/gguf/gguf_file.h"
#include "cli/model_path.h"
#include "cli/output.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

void note(std::string_view text) {
  print_err("note: {}\n", escaped(text));
}

Result<FoundArtifact> from_cache(const std::string& model, const CacheRequest& request) {
  ANEMONE_ASSIGN_OR_RETURN(const ModelCache cache, ModelCache::open());
  ANEMONE_ASSIGN_OR_RETURN(FoundArtifact found, cache.artifact_of(model, request));
  if (request.context > 0 && request.has_notes) {
    ANEMONE_ASSIGN_OR_RETURN(const auto manifest, artifact::read_manifest(found.folder));
    if (manifest.context < request.context)
      note(fmt::format("context {} is more than the model's {}: clamped", request.context,
                       manifest.context));
  }
  return found;
}

// An artifact has the context that it was compiled for.
Status check_context(const std::string& model, std::int64_t context, bool has_notes) {
  ANEMONE_ASSIGN_OR_RETURN(const auto manifest, artifact::read_manifest(model));
  if (context < manifest.context && has_notes)
    note(fmt::format("[--context] has no effect: {} was compiled for {} tokens", model,
                     manifest.context));
  if (context <= manifest.context) return {};
  return invalid_argument(
      "[--context] expected at most {} tokens, for which {} was compiled, got {} (anemone compile "
      "--context makes another one)",
      manifest.context, model, context);
}

}  // namespace

void add_check_hashes_flag(CLI::App& command, bool& checks_hashes) {
  command.add_flag("--check-hashes", checks_hashes,
                   "Compare every file of the model with its hash before it is used");
  // The old name, which is also that of the command that compares numbers.
  command.add_flag("--verify", checks_hashes)->group("");
}

Result<FoundArtifact> artifact_folder(const std::string& named, const CacheRequest& request) {
  ANEMONE_ASSIGN_OR_RETURN(const NamedModel found, find_model(named));
  const std::string& model = found.path;
  CacheRequest for_cache = request;
  if (found.name != last_name(model)) for_cache.name = found.name;
  std::error_code error;
  if (checkpoint::gguf::GgufFile::is_gguf(model)) return from_cache(model, for_cache);
  if (!fs::is_directory(model, error)) return checkpoint::not_a_model(model);
  if (artifact::is_artifact(model)) {
    if (request.context > 0)
      ANEMONE_RETURN_IF_ERROR(check_context(model, request.context, request.has_notes));
    if (!request.checks_hashes) return FoundArtifact{model};
    ANEMONE_ASSIGN_OR_RETURN(const auto manifest, artifact::read_manifest(model));
    ANEMONE_RETURN_IF_ERROR(artifact::check_files(model, manifest, /*check_hashes=*/true));
    return FoundArtifact{model};
  }
  for (const char* name : {"config.json", "genai_config.json"})
    if (is_there(fs::path(model) / name)) return from_cache(model, for_cache);
  return unsupported("[{}] expected a folder with {} (an artifact) or config.json (a checkpoint)",
                     model, artifact::kManifestName);
}

Result<std::shared_ptr<const engine::Model>> load_model(const std::string& named,
                                                        const CacheRequest& request,
                                                        exec::Executor& executor,
                                                        engine::ModelLoadOptions options,
                                                        std::string_view what) {
  ANEMONE_ASSIGN_OR_RETURN(const FoundArtifact found, artifact_folder(named, request));
  ANEMONE_INFO("loads {}{}", found.folder, found.held ? ", from the cache of models" : "");
  const auto start = std::chrono::steady_clock::now();
  std::optional<ProgressReport> bar;
  if (!what.empty())
    options.on_progress = std::ref(bar.emplace(std::string(what), Progress::Unit::kItems));
  ANEMONE_ASSIGN_OR_RETURN(auto model, engine::Model::load(found.folder, executor, options));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ANEMONE_INFO("loaded {} in {:.3f} s: {} packages of layers, {} heads, a context of {} tokens",
               model->manifest().name, seconds.count(), model->manifest().shards.size(),
               model->manifest().heads.size(), model->context());
  return model;
}

}  // namespace anemone::cli
