// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/compiled_cache.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_hashes.h"
#include "base/file_identity.h"
#include "base/log.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/scratch_folder.h"
#include "base/thread_pool.h"
#include "exec/coreml/compiled_layout.h"
#include "exec/coreml/error_map.h"

namespace anemone::exec::coreml {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Raised when entries of earlier versions of anemone must not be used any more.
constexpr int kFormat = 1;
constexpr std::size_t kMaxFiles = 100'000;
constexpr std::uint64_t kMaxMarkerBytes = 4096;

// Letters, digits, "," and "." of a name; the rest would not be safe in a path.
std::string as_name(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == ',' || c == '.' ? c : '-';
  return out.empty() ? "unknown" : out;
}

// Paths of all regular files of a folder, relative to it and sorted; a file stands for itself.
// Links are not followed.
Result<std::vector<std::string>> files_of(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(fs::symlink_status(path, error))) return std::vector<std::string>{""};
  std::vector<std::string> files;
  fs::recursive_directory_iterator it(path, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (!fs::is_regular_file(it->symlink_status(error))) continue;
    files.push_back(it->path().lexically_relative(path).string());
    if (files.size() > kMaxFiles)
      return corrupt("[{}] expected at most {} files, got more", path, kMaxFiles);
  }
  if (error) return io_error("[{}] cannot list: {}", path, error.message());
  std::ranges::sort(files);
  return files;
}

std::string place_of(const std::string& folder, const std::string& file) {
  return file.empty() ? folder : folder + "/" + file;
}

Result<std::uint64_t> bytes_of(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<std::string> files, files_of(path));
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code error;
    bytes += fs::file_size(place_of(path, file), error);
    if (error)
      return io_error("[{}] cannot get the size: {}", place_of(path, file), error.message());
  }
  return bytes;
}

// What the marker of an entry says: a model that lost a file does not agree with it.
Result<std::string> marker_text(const std::string& entry, const std::string& key) {
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<std::string> files, files_of(model_of(entry)));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t bytes, bytes_of(model_of(entry)));
  return fmt::format("compiled model {}\nkey {}\nfiles {}\nbytes {}\n", kFormat, key, files.size(),
                     bytes);
}

// nullopt: there is no entry, or a damaged one, or somebody else is about to replace it.
Result<std::optional<CompiledModel>> find(const std::string& entry, const std::string& key) {
  using Found = std::optional<CompiledModel>;
  // The lock comes first: nobody clears the entry between the look and its use.
  // Whoever lists entries has the lock for a moment, and a second compilation takes far longer.
  constexpr int kTries = 100;
  auto lock = FolderLock::take(entry, FolderLock::Mode::kShared);
  for (int i = 0; i < kTries && lock.status().code() == Code::kBusy; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    lock = FolderLock::take(entry, FolderLock::Mode::kShared);
  }
  if (const Code code = lock.status().code(); code == Code::kNotFound || code == Code::kBusy)
    return Found();
  // Whatever else keeps the lock away, as too many open files, says nothing about the entry, and a
  // compilation may take hours.
  if (!lock.ok()) return lock.status();
  const auto text = read_file(marker_of(entry), kMaxMarkerBytes);
  if (!text.ok()) return Found();
  const auto wanted = marker_text(entry, key);
  const auto identity = FileIdentity::of(marker_of(entry));
  if (!wanted.ok() || !identity.ok() || *wanted != *text) return Found();
  return Found(CompiledModel{model_of(entry), identity->text(),
                             std::make_shared<const FolderLock>(*std::move(lock))});
}

Status check_space(const std::string& folder, const std::string& package) {
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t needed, bytes_of(package));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t left, free_disk_bytes(folder));
  if (needed <= left) return {};
  return io_error("[{}] cannot compile: no space left on device (needs {}, {} free)", folder,
                  format_bytes(needed), format_bytes(left));
}

// Locks the entry; waits while another process or thread makes it. `is_made` ends the waiting, then
// without a lock.
Result<std::optional<FolderLock>> lock_entry(const std::string& entry,
                                             const CompiledCacheOptions& options,
                                             const std::function<bool()>& is_made,
                                             const std::function<void(CompileStage)>& tell) {
  constexpr std::chrono::milliseconds kPause(20);
  const std::string place = lock_of(entry);
  const Clock::time_point start = Clock::now();
  std::optional<Clock::time_point> told;
  while (true) {
    ANEMONE_RETURN_IF_ERROR(make_directories(place));
    auto lock = FolderLock::take(place);
    if (lock.ok()) return std::optional<FolderLock>(*std::move(lock));
    // kNotFound: somebody removed the folder in between, as one of an earlier build.
    if (lock.status().code() != Code::kBusy && lock.status().code() != Code::kNotFound)
      return lock.status();
    const Clock::time_point now = Clock::now();
    if (options.cancel != nullptr && *options.cancel)
      return cancelled("[{}] cancelled while another process compiles the package", entry);
    if (now - start >= options.max_wait)
      return busy("[{}] another process still compiles this package after {}", entry,
                  format_duration(std::chrono::duration<double>(now - start).count()));
    if (!told || now - *told >= std::chrono::seconds(1)) {
      tell(CompileStage::kWaiting);
      told = now;
    }
    if (is_made()) return std::optional<FolderLock>();
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

CompiledCache::CompiledCache(std::shared_ptr<CoreMlRuntime> runtime, CompiledCacheOptions options)
    : runtime_(std::move(runtime)),
      options_(std::move(options)),
      machine_(as_name(runtime_->machine().hardware) + "_"),
      place_(options_.folder + "/" + machine_ + as_name(runtime_->machine().os_build)) {}

Result<std::string> CompiledCache::key_of(const std::string& package) {
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<std::string> files, files_of(package));
  if (files.empty()) return corrupt("[{}] expected a package, got a folder without files", package);
  const std::lock_guard lock(hashes_mutex_);
  ThreadPool threads;
  FileHashes hashes(options_.folder + "/hashes", threads);
  Digest digest;
  digest.update(fmt::format("{}\n", kFormat));
  for (const std::string& file : files) {
    ANEMONE_ASSIGN_OR_RETURN(const FileIdentity identity,
                             FileIdentity::of(place_of(package, file)));
    ANEMONE_ASSIGN_OR_RETURN(const std::string hash, hashes.of(identity));
    digest.update(fmt::format("{} {}:{}\n", hash, file.size(), file));
  }
  return digest.hex().substr(0, kKeyDigits);
}

Result<CompiledModel> CompiledCache::get(const std::string& package,
                                         const CompileProgress& progress) {
  return find_or_make(package, nullptr, progress);
}

Result<CompiledModel> CompiledCache::renew(const std::string& package, const CompiledModel& broken,
                                           const CompileProgress& progress) {
  return find_or_make(package, &broken, progress);
}

Result<CompiledModel> CompiledCache::find_or_make(const std::string& package,
                                                  const CompiledModel* broken,
                                                  const CompileProgress& progress) {
  const Clock::time_point start = Clock::now();
  const auto tell = [&](CompileStage stage, bool was_compiled = false) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (progress != nullptr) progress({stage, package, seconds, was_compiled});
  };
  tell(CompileStage::kHashing);
  ANEMONE_RETURN_IF_ERROR(make_directories(options_.folder + "/hashes"));
  ANEMONE_RETURN_IF_ERROR(make_directories(place_));
  ANEMONE_ASSIGN_OR_RETURN(const std::string key, key_of(package));
  const std::string entry = place_ + "/" + key;
  const auto usable = [&]() -> Result<std::optional<CompiledModel>> {
    ANEMONE_ASSIGN_OR_RETURN(auto found, find(entry, key));
    if (found && broken != nullptr && found->id == broken->id) found.reset();
    return found;
  };
  ANEMONE_ASSIGN_OR_RETURN(auto found, usable());
  if (!found) {
    // An error ends the waiting, too: the next look has it again.
    const auto is_made = [&] {
      const auto now = usable();
      return !now.ok() || now->has_value();
    };
    ANEMONE_ASSIGN_OR_RETURN(const auto lock, lock_entry(entry, options_, is_made,
                                                         [&](CompileStage stage) { tell(stage); }));
    ANEMONE_ASSIGN_OR_RETURN(found, usable());  // by whoever had the lock before
    if (!found) {
      tell(CompileStage::kCompiling);
      remove_earlier_builds();
      ANEMONE_RETURN_IF_ERROR(make(package, key));
      ANEMONE_ASSIGN_OR_RETURN(found, find(entry, key));
      if (!found) return io_error("[{}] the compiled model was changed while it was made", entry);
      tell(CompileStage::kReady, true);
      return *std::move(found);
    }
  }
  tell(CompileStage::kReady);
  return *std::move(found);
}

Status CompiledCache::make(const std::string& package, const std::string& key) {
  ANEMONE_RETURN_IF_ERROR(check_space(options_.folder, package));
  ANEMONE_ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::create(place_, key));
  const std::string entry = place_ + "/" + key;
  const std::string made = scratch.path() + "/new";
  ANEMONE_RETURN_IF_ERROR(make_directories(made));
  if (const Failure failure = runtime_->compile(package, model_of(made)))
    return map_error(*failure, last_name(package), "cannot compile").status;
  ANEMONE_ASSIGN_OR_RETURN(const std::string now, key_of(package));
  if (now != key) return io_error("[{}] the package changed while it was compiled", package);
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, marker_text(made, key));
  // Shown to people alone, so an entry is as good without it.
  if (const Status named = write_file(source_of(made), absolute_path(package)); !named.ok())
    ANEMONE_DEBUG("{}", named.message());
  ANEMONE_RETURN_IF_ERROR(write_file(marker_of(made), text));
  // An entry that is there is damaged or does not load; it may be open, so it is moved away whole.
  std::error_code error;
  fs::rename(entry, scratch.path() + "/old", error);
  if (error == std::errc::no_such_file_or_directory) error.clear();
  if (!error) fs::rename(made, entry, error);
  if (error) return io_error("[{}] cannot rename: {}", entry, error.message());
  return {};
}

void CompiledCache::remove_earlier_builds() const {
  const fs::path own(place_);
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(options_.folder, error), end; !error && it != end;
       it.increment(error))
    if (it->path().filename().string().starts_with(machine_) &&
        it->path().filename() != own.filename())
      found.push_back(it->path());
  for (const fs::path& earlier : found) fs::remove_all(earlier, error);
}

}  // namespace anemone::exec::coreml
