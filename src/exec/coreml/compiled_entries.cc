// SPDX-License-Identifier: Apache-2.0
// Lists and clears the entries of a cache of compiled models, whatever machine made them.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/file_hashes.h"
#include "base/folder_lock.h"
#include "exec/coreml/compiled_cache.h"
#include "exec/coreml/compiled_layout.h"

namespace anemone::exec::coreml {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxSourceBytes = 4096;

bool is_of_cache(std::string_view name) {
  return is_key(name) || is_entry_lock(name) || is_entry_scratch(name);
}

// The names of the folders in a folder, sorted; links are not followed.
std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (fs::is_directory(it->symlink_status(ignored)))
      out.push_back(it->path().filename().string());
  }
  std::ranges::sort(out);
  return out;
}

bool is_locked(const std::string& folder) {
  return FolderLock::take(folder).status().code() == Code::kBusy;
}

// Folders of machines: those with an entry, with the lock of one in the making, or with what a kill
// left of one.
std::vector<std::string> machines_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const std::string& machine : folders_in(folder))
    if (std::ranges::any_of(folders_in(folder + "/" + machine), is_of_cache))
      out.push_back(machine);
  return out;
}

// Removes a folder that nobody has locked, and gives its bytes.
Result<std::uint64_t> remove_unlocked(const std::string& folder) {
  const auto lock = FolderLock::take(folder);
  if (!lock.ok()) return std::uint64_t{0};
  const std::uint64_t bytes = folder_bytes(folder);
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) return io_error("[{}] cannot remove: {}", folder, error.message());
  return bytes;
}

}  // namespace

std::vector<CompiledEntry> list_compiled(const std::string& folder) {
  std::vector<CompiledEntry> out;
  for (const std::string& machine : machines_in(folder)) {
    const std::string place = folder + "/" + machine;
    for (const std::string& name : folders_in(place)) {
      if (!is_key(name)) continue;
      const std::string entry = place + "/" + name;
      CompiledEntry& each = out.emplace_back();
      each.machine = machine;
      each.key = name;
      each.bytes = folder_bytes(entry);
      std::error_code ignored;
      each.is_complete = fs::exists(marker_of(entry), ignored);
      each.is_busy = is_locked(entry) || is_locked(lock_of(entry));
      if (auto source = read_file(source_of(entry), kMaxSourceBytes); source.ok())
        each.source = *std::move(source);
    }
  }
  return out;
}

Result<std::uint64_t> remove_compiled(const std::string& folder, const CompiledEntry& entry) {
  const std::string path = folder + "/" + entry.machine + "/" + entry.key;
  const auto lock = FolderLock::take(lock_of(path));
  if (!lock.ok() && lock.status().code() == Code::kBusy) return std::uint64_t{0};
  return remove_unlocked(path);
}

Result<std::uint64_t> clear_compiled(const std::string& folder) {
  std::uint64_t freed = 0;
  Status first_error;
  for (const std::string& machine : machines_in(folder)) {
    const std::string place = folder + "/" + machine;
    for (const std::string& name : folders_in(place)) {
      if (!is_of_cache(name)) continue;
      // Whoever makes an entry holds its lock and that of its scratch folder.
      const auto removed = remove_unlocked(place + "/" + name);
      if (removed.ok())
        freed += *removed;
      else if (first_error.ok())
        first_error = removed.status();
    }
    std::error_code ignored;
    fs::remove(place, ignored);  // where it is empty
  }
  FileHashes::forget(folder + "/hashes");
  if (!first_error.ok()) return first_error;
  return freed;
}

}  // namespace anemone::exec::coreml
