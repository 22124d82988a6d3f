// SPDX-License-Identifier: Apache-2.0
#include "cli/model_cache.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <system_error>
#include <thread>

#include "artifact/manifest.h"
#include "base/digest.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/version.h"
#include "checkpoint/content.h"
#include "cli/cached_artifact.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/private_folder.h"
#include "compiler/compiler.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyDigits = 32;

// How `run` and `serve` compile: for the processor of this machine.
compiler::CompileOptions options_for(const CacheRequest& request) {
  compiler::CompileOptions options;
  options.context = request.context;
  options.name = request.name;
  options.threads = request.threads;
  const compiler::Processor processor = compiler::processor_here();
  options.form = compiler::default_form(processor);
  options.recipe = *compiler::parse_recipe("auto", processor);
  if (processor == compiler::Processor::kAne) options.prefill = 0;
  return options;
}

bool is_key(const std::string& name) {
  return name.size() == kKeyDigits &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::vector<std::string> keys_in(const std::string& folder) {
  std::vector<std::string> keys;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (is_key(it->path().filename().string())) keys.push_back(it->path().filename().string());
  std::ranges::sort(keys);
  return keys;
}

}  // namespace

Result<std::string> cache_folder() {
  if (const auto named = environment_variable("ANEMONE_CACHE")) return *named;
  if (const auto cache = user_cache_folder()) return (fs::path(*cache) / "anemone").string();
  return invalid_argument(
      "[ANEMONE_CACHE] expected a folder for compiled models, got none: set ANEMONE_CACHE or HOME");
}

Result<std::string> make_cache_folder() {
  ANEMONE_ASSIGN_OR_RETURN(std::string root, cache_folder());
  ANEMONE_RETURN_IF_ERROR(make_private_folder(root));
  return root;
}

Result<std::string> coreml_cache_folder() {
  ANEMONE_ASSIGN_OR_RETURN(const std::string root, cache_folder());
  return root + "/coreml";
}

Result<ModelCache> ModelCache::open() {
  ANEMONE_ASSIGN_OR_RETURN(const std::string root, make_cache_folder());
  const ModelCache cache(root);
  ANEMONE_RETURN_IF_ERROR(make_private_folder(cache.models_));
  ANEMONE_RETURN_IF_ERROR(make_private_folder(cache.files_));
  return cache;
}

Result<checkpoint::Content> ModelCache::content_of(const std::string& model,
                                                   const CacheRequest& request) const {
  ThreadPool threads(request.threads > 0 ? request.threads : default_thread_count());
  FileHashes hashes(files_, threads);
  return checkpoint::content_of(model, hashes, request.checks_hashes, [&]() -> Status {
    compiler::CompileOptions options = options_for(request);
    options.dry_run = true;
    return compiler::compile(model, "", options).status();
  });
}

Result<FoundArtifact> ModelCache::artifact_of(const std::string& model,
                                              const CacheRequest& request) const {
  ANEMONE_ASSIGN_OR_RETURN(const checkpoint::Content content, content_of(model, request));
  const compiler::CompileOptions options = options_for(request);
  Digest key;
  key.update(fmt::format("anemone {} format {} options {} name {} content {}", version(),
                         artifact::kFormatVersion, compiler::describe_options(options),
                         request.name.empty() ? last_name(model) : request.name, content.hash));
  const CachedArtifact entry(models_ + "/" + key.hex().substr(0, kKeyDigits));
  constexpr auto kPause = std::chrono::milliseconds(100);
  for (bool has_told = false;;) {
    // The shared lock comes before the stamp is read: the stamp holds as long as nobody else may
    // change a file.
    if (auto held = entry.share();
        held.ok() && !request.checks_hashes && entry.check_stamp().ok()) {
      entry.note_use();
      return FoundArtifact{entry.artifact(), std::move(*held)};
    }
    auto lock = entry.lock();
    if (lock.ok()) {
      ANEMONE_INFO(
          "checks or compiles the entry {} of the cache for {}: {} tokens of context, 0 for the "
          "default",
          entry.artifact(), model, request.context);
      ANEMONE_RETURN_IF_ERROR(entry.check_or_make(model, content.files, options));
      if (lock->share().ok()) return FoundArtifact{entry.artifact(), std::move(*lock)};
      continue;  // somebody cleared the cache at this moment
    }
    if (lock.status().code() != Code::kBusy) return lock.status();
    if (!has_told) print_err("anemone: another process is compiling this model: waiting\n");
    has_told = true;
    if (interrupt_flag()) return cancelled("[cache] interrupted while waiting for another process");
    std::this_thread::sleep_for(kPause);
  }
}

Result<std::vector<CacheEntry>> ModelCache::list() const {
  std::vector<CacheEntry> out;
  for (const std::string& key : keys_in(models_)) {
    const std::string folder = models_ + "/" + key;
    CacheEntry entry;
    entry.key = key;
    entry.bytes = folder_bytes(folder);
    entry.is_busy = CachedArtifact(folder).share().status().code() == Code::kBusy;
    entry.unused_days = CachedArtifact(folder).unused_days();
    if (const auto manifest = artifact::read_manifest(folder + "/artifact"); manifest.ok()) {
      entry.name = manifest->name;
      entry.producer = manifest->producer;
      entry.context = manifest->context;
    }
    out.push_back(std::move(entry));
  }
  std::ranges::stable_sort(out, {}, [](const CacheEntry& entry) {
    return entry.unused_days.value_or(std::numeric_limits<double>::infinity());
  });
  return out;
}

Status ModelCache::remove_entry(CacheEntry entry, std::vector<CacheEntry>& removed) const {
  const std::string folder = models_ + "/" + entry.key;
  const auto lock = FolderLock::take(folder);
  if (!lock.ok()) return lock.status().code() == Code::kNotFound ? Status() : lock.status();
  entry.bytes = folder_bytes(folder);
  ANEMONE_RETURN_IF_ERROR(CachedArtifact(folder).remove());
  removed.push_back(std::move(entry));
  return {};
}

Result<std::vector<CacheEntry>> ModelCache::remove(const std::vector<std::string>& names) const {
  ANEMONE_ASSIGN_OR_RETURN(const auto entries, list());
  std::vector<CacheEntry> unwanted;
  for (const std::string& name : names) {
    bool is_known = false;
    for (const CacheEntry& entry : entries) {
      if (entry.name != name && entry.key != name) continue;
      if (entry.is_busy)
        return Status(Code::kBusy, fmt::format("[{}] another process is compiling it", name));
      is_known = true;
      unwanted.push_back(entry);
    }
    if (!is_known)
      return not_found(
          "[{}] expected the name or the key of a model in the cache (anemone cache "
          "list shows them)",
          name);
  }
  std::vector<CacheEntry> removed;
  for (CacheEntry& entry : unwanted)
    ANEMONE_RETURN_IF_ERROR(remove_entry(std::move(entry), removed));
  return removed;
}

Result<std::vector<CacheEntry>> ModelCache::prune(const PruneRequest& request) const {
  ANEMONE_ASSIGN_OR_RETURN(auto entries, list());
  // What is incomplete or of another version goes in any case, so it takes no room from the others.
  const std::string here = fmt::format("anemone {}", version());
  const auto is_useless = [&](const CacheEntry& entry) {
    return !entry.unused_days || entry.producer != here;
  };
  std::ranges::stable_sort(entries, {}, is_useless);
  std::uint64_t kept = 0;
  std::vector<CacheEntry> removed;
  for (const CacheEntry& entry : entries) {
    const bool is_too_much = request.max_bytes && kept + entry.bytes > *request.max_bytes;
    if (entry.is_busy || (!is_useless(entry) && !is_too_much)) {
      kept += entry.bytes;
      continue;
    }
    const Status status = remove_entry(entry, removed);
    // Somebody opened it meanwhile.
    if (status.code() == Code::kBusy) {
      kept += entry.bytes;
      continue;
    }
    ANEMONE_RETURN_IF_ERROR(status);
  }
  return removed;
}

Result<std::uint64_t> ModelCache::clear() const {
  std::uint64_t freed = 0;
  Status first_error;
  for (const std::string& key : keys_in(models_)) {
    const std::string folder = models_ + "/" + key;
    const auto lock = FolderLock::take(folder);
    if (!lock.ok()) continue;
    const std::uint64_t bytes = folder_bytes(folder);
    const Status removed = CachedArtifact(folder).remove();
    if (removed.ok()) freed += bytes;
    if (first_error.ok()) first_error = removed;
  }
  FileHashes::forget(files_);
  if (!first_error.ok()) return first_error;
  return freed;
}

}  // namespace anemone::cli
