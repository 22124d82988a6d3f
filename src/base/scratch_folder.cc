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

// "PREFIX<number>.scratch", and no name that somebody else would give.
bool is_scratch(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(kScratchSuffix)) return false;
  name.remove_prefix(prefix.size());
  if (name.size() <= kScratchSuffix.size()) return false;
  name.remove_suffix(kScratchSuffix.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

void remove_scratch_leftovers(const std::string& parent, const std::string& prefix) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (is_scratch(name, prefix)) found.push_back(it->path().string());
  }
  for (const std::string& path : found) {
    const auto lock = FolderLock::take(path);
    if (lock.ok()) fs::remove_all(path, error);
  }
}

}  // namespace

Result<ScratchFolder> ScratchFolder::create(const std::string& parent, const std::string& name) {
  constexpr int kMaxNames = 1000;
  ANEMONE_RETURN_IF_ERROR(make_directories(parent));
  remove_scratch_leftovers(parent, name + ".");
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

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, std::string())), lock_(std::move(other.lock_)) {}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

}  // namespace anemone
