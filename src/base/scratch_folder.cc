// SPDX-License-Identifier: Apache-2.0
#include "base/scratch_folder.h"

#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace anemone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScratchSuffix = ".scratch";

// True for "NAME.<number>.scratch", with any NAME if `name` is empty; nobody else gives such names.
bool is_scratch(std::string_view file, std::string_view name) {
  if (!file.ends_with(kScratchSuffix)) return false;
  file.remove_suffix(kScratchSuffix.size());
  const std::size_t dot = file.rfind('.');
  if (dot == file.npos || dot == 0 || dot + 1 == file.size()) return false;
  if (!name.empty() && file.substr(0, dot) != name) return false;
  return file.find_first_not_of("0123456789", dot + 1) == file.npos;
}

std::vector<std::string> scratch_folders(const std::string& parent, std::string_view name) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error))
    if (is_scratch(it->path().filename().string(), name)) found.push_back(it->path().string());
  return found;
}

}  // namespace

Result<ScratchFolder> ScratchFolder::create(const std::string& parent, const std::string& name) {
  constexpr int kMaxNames = 1000;
  ANEMONE_RETURN_IF_ERROR(make_directories(parent));
  for (const std::string& left : scratch_folders(parent, name)) (void)discard(left);
  for (int i = 0; i < kMaxNames; ++i) {
    std::string path = fmt::format("{}/{}.{}{}", parent, name, i, kScratchSuffix);
    if (::mkdir(path.c_str(), 0700) != 0) {
      if (errno == EEXIST) continue;
      return errno_error(path, "create the folder");
    }
    // Somebody who takes the new folder for a leftover may be faster: then the next name.
    auto lock = FolderLock::take(path);
    if (lock.ok()) return ScratchFolder(std::move(path), *std::move(lock));
  }
  return io_error("[{}] has {} temporary folders already: remove those that are not in use", parent,
                  kMaxNames);
}

Result<ScratchFolder> ScratchFolder::create_temporary(const std::string& name) {
  std::error_code error;
  const fs::path place = fs::temp_directory_path(error);
  if (error)
    return io_error("[TMPDIR] expected a folder for temporary files, got none: {}",
                    error.message());
  return create(place.string(), name);
}

Status ScratchFolder::discard(const std::string& path) {
  if (!is_scratch(fs::path(path).filename().string(), ""))
    return invalid_argument("[{}] expected a folder NAME.<number>{}", path, kScratchSuffix);
  const auto lock = FolderLock::take(path);
  if (!lock.ok()) return lock.status().code() == Code::kNotFound ? Status() : lock.status();
  std::error_code error;
  fs::remove_all(path, error);
  return error ? io_error("[{}] cannot remove: {}", path, error.message()) : Status();
}

std::uint64_t ScratchFolder::discard_all(const std::string& parent) {
  std::uint64_t freed = 0;
  for (const std::string& left : scratch_folders(parent, "")) {
    const std::uint64_t bytes = folder_bytes(left);
    if (discard(left).ok()) freed += bytes;
  }
  return freed;
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, std::string())), lock_(std::move(other.lock_)) {}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

}  // namespace anemone
