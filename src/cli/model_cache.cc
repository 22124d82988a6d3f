// SPDX-License-Identifier: Apache-2.0
#include "cli/model_cache.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <ratio>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <thread>

#include "artifact/manifest.h"
#include "artifact/ownership.h"
#include "base/digest.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/version.h"
#include "checkpoint/content.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/private_folder.h"
#include "compiler/compiler.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyDigits = 32;

// Prints a line to stderr, so that it never mixes with an answer on stdout.
void notice(std::string_view text) {
  print_err("anemone: {}\n", escaped(text));
}

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

// The files of one entry, which are known to be anemone's by their names in its folder.
class Entry {
 public:
  explicit Entry(std::string folder) : folder_(std::move(folder)) {}

  std::string artifact() const { return folder_ + "/artifact"; }

  // Takes the shared lock, with which several processes read the entry. kBusy while a process makes
  // it.
  Result<FolderLock> share() const { return FolderLock::take(folder_, FolderLock::Mode::kShared); }

  // Takes the exclusive lock, with which one process makes the entry. kBusy while a process makes
  // or opens it.
  Result<FolderLock> lock() const {
    while (true) {
      ANEMONE_RETURN_IF_ERROR(make_private_folder(folder_));
      auto lock = FolderLock::take(folder_);
      // Another process may have cleared the cache meanwhile.
      if (lock.ok() || lock.status().code() != Code::kNotFound) return lock;
    }
  }

  // Checks the artifact, and compiles it if it is missing or damaged. Requires the lock.
  Status check_or_make(const std::string& model, std::span<const FileIdentity> sources,
                       const CacheRequest& request) const {
    const Status found = check_hashes();
    if (found.ok()) return {};
    if (found.code() != Code::kNotFound)
      notice("the compiled model in the cache is damaged and is compiled again: " +
             found.message());
    return make(model, sources, request);
  }

  // Ok when the artifact is there and its files are those that were checked.
  Status check_stamp() const {
    ANEMONE_ASSIGN_OR_RETURN(const auto manifest, artifact::read_manifest(artifact()));
    ANEMONE_ASSIGN_OR_RETURN(const auto files, identities(manifest));
    ANEMONE_ASSIGN_OR_RETURN(const Checked checked, read_checked());
    if (checked.files == hash_of(text_of(files)) &&
        std::ranges::all_of(files, &FileIdentity::shows_changes))
      return {};
    return corrupt("[{}] its files changed since they were checked", artifact());
  }

  // Checks the hash of every file; kNotFound when there is no artifact. Requires the lock.
  Status check_hashes() const {
    ANEMONE_ASSIGN_OR_RETURN(const auto manifest, artifact::read_manifest(artifact()));
    ANEMONE_ASSIGN_OR_RETURN(const auto files, identities(manifest));
    const bool is_settled = wait_until_settled(files);
    // The manifest has the hashes of the other files; its own hash is in the record.
    const auto checked = read_checked();
    ANEMONE_ASSIGN_OR_RETURN(const std::string hash, hash_of_manifest());
    if (!checked.ok())
      return corrupt("[{}] expected a record with the hash of the manifest, got none", artifact());
    if (checked->manifest != hash)
      return corrupt("[{}] the manifest changed since it was written", artifact());
    ANEMONE_RETURN_IF_ERROR(artifact::check_files(artifact(), manifest, /*check_hashes=*/true));
    record({is_settled ? hash_of(text_of(files)) : kUnknown, hash});
    return {};
  }

  // Compiles the artifact. Requires the lock.
  Status make(const std::string& model, std::span<const FileIdentity> sources,
              const CacheRequest& request) const {
    // Deletes the damaged entry without asking its manifest, which may be damaged as well, and what
    // runs that were killed left, in whatever state that is: the folder is private to the cache,
    // and this process has its lock.
    for (const std::string& path : {checked_path(), artifact(), artifact() + ".partial"}) {
      std::error_code error;
      fs::remove_all(path, error);
      if (error) return io_error("[{}] cannot remove: {}", path, error.message());
    }
    compiler::CompileOptions options = options_for(request);
    options.cancel = &interrupt_flag();
    ProgressReport bar("compiling " + (request.name.empty() ? last_name(model) : request.name),
                       Progress::Unit::kBytes);
    const auto report = compiler::compile(model, artifact(), options, std::ref(bar));
    bar.clear();
    if (!report.ok()) return report.status();
    // Checks that the files that were compiled are those that the key is a hash of.
    if (text_of(report->sources) != text_of(sources)) {
      ANEMONE_RETURN_IF_ERROR(remove());
      return io_error("[{}] the checkpoint changed while it was being read", model);
    }
    // The hashes of the manifest are those of the files as they were read back.
    ANEMONE_ASSIGN_OR_RETURN(const auto files, identities(report->manifest));
    ANEMONE_ASSIGN_OR_RETURN(const std::string manifest, hash_of_manifest());
    record({wait_until_settled(files) ? hash_of(text_of(files)) : kUnknown, manifest});
    return {};
  }

  // The time of the last use is that of the record, of which nothing else is asked.
  void note_use() const { ::utimensat(AT_FDCWD, checked_path().c_str(), nullptr, 0); }

  // Days since the last use; nullopt when the entry was never complete.
  std::optional<double> unused_days() const {
    std::error_code error;
    const fs::file_time_type used = fs::last_write_time(checked_path(), error);
    if (error) return std::nullopt;
    using Days = std::chrono::duration<double, std::ratio<86'400>>;
    return Days(fs::file_time_type::clock::now() - used).count();
  }

  Status remove() const {
    std::error_code error;
    // A folder with the name of a key may be something else: the user may have chosen the folder of
    // the cache.
    fs::directory_iterator it(folder_, error);
    for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name != "artifact" && name != "artifact.partial" &&
          without_temporary_suffix(name) != "checked")
        return invalid_argument("[{}] cannot remove: it contains {}, which anemone did not write",
                                folder_, escaped(name));
    }
    fs::remove_all(folder_, error);
    if (error) return io_error("[{}] cannot remove: {}", folder_, error.message());
    return {};
  }

 private:
  std::string checked_path() const { return folder_ + "/checked"; }

  // A file that the manifest does not list could be read as well: a chat template, say.
  Result<std::vector<FileIdentity>> identities(const artifact::Manifest& manifest) const {
    ANEMONE_RETURN_IF_ERROR(artifact::check_all_is_ours(artifact()));
    std::vector<std::string> paths = {artifact() + "/" + std::string(artifact::kManifestName)};
    for (const artifact::FileEntry& file : manifest.files)
      paths.push_back(artifact() + "/" + file.path);
    return FileIdentity::of_all(paths);
  }
  // What lies in `checked`, one line each.
  struct Checked {
    std::string files;     // the hash of their identities
    std::string manifest;  // the hash of manifest.json
  };
  // Written instead of a hash; no hash equals it.
  static constexpr const char* kUnknown = "unknown";

  static std::string hash_of(std::string_view text) {
    Digest hash;
    hash.update(text);
    return hash.hex();
  }
  Result<std::string> hash_of_manifest() const {
    ANEMONE_ASSIGN_OR_RETURN(const std::string text,
                             read_file(artifact() + "/" + std::string(artifact::kManifestName)));
    return hash_of(text);
  }
  Result<Checked> read_checked() const {
    constexpr std::uint64_t kMaxBytes = 4096;
    ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(checked_path(), kMaxBytes));
    const std::size_t end = text.find('\n');
    if (end == std::string::npos || !text.ends_with('\n'))
      return corrupt("[{}] expected two lines, got other contents", checked_path());
    Checked out = {text.substr(0, end), text.substr(end + 1)};
    if (!out.manifest.empty()) out.manifest.pop_back();
    return out;
  }
  // Stores what was checked. If that fails, the next run checks the files again, or compiles again.
  void record(const Checked& checked) const {
    const Status status =
        write_file(checked_path(), checked.files + "\n" + checked.manifest + "\n");
    if (!status.ok()) ANEMONE_WARN("{}", status.message());
  }

  std::string folder_;
};

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
  Digest key;
  key.update(fmt::format("anemone {} format {} options {} name {} content {}", version(),
                         artifact::kFormatVersion, compiler::describe_options(options_for(request)),
                         request.name.empty() ? last_name(model) : request.name, content.hash));
  const Entry entry(models_ + "/" + key.hex().substr(0, kKeyDigits));
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
      ANEMONE_RETURN_IF_ERROR(entry.check_or_make(model, content.files, request));
      if (lock->share().ok()) return FoundArtifact{entry.artifact(), std::move(*lock)};
      continue;  // somebody cleared the cache at this moment
    }
    if (lock.status().code() != Code::kBusy) return lock.status();
    if (!has_told) notice("another process is compiling this model: waiting");
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
    entry.is_busy = Entry(folder).share().status().code() == Code::kBusy;
    entry.unused_days = Entry(folder).unused_days();
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
  ANEMONE_RETURN_IF_ERROR(Entry(folder).remove());
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
    const Status removed = Entry(folder).remove();
    if (removed.ok()) freed += bytes;
    if (first_error.ok()) first_error = removed;
  }
  FileHashes::forget(files_);
  if (!first_error.ok()) return first_error;
  return freed;
}

}  // namespace anemone::cli
