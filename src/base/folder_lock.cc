// SPDX-License-Identifier: Apache-2.0
#include "base/folder_lock.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <utility>

#include "base/error.h"

namespace anemone {

Result<FolderLock> FolderLock::take(const std::string& path, Mode mode) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open() && errno == ENOENT)
    return not_found("[{}] expected a folder, got none", path);
  if (!folder.is_open()) return errno_error(path, "open");
  FolderLock out(path, std::move(folder));
  ANEMONE_RETURN_IF_ERROR(out.lock(mode));
  return out;
}

Status FolderLock::lock(Mode mode) const {
  const int kind = mode == Mode::kAlone ? LOCK_EX : LOCK_SH;
  if (::flock(folder_.get(), kind | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_error(path_, "lock");
    return busy("[{}] another process is using this folder", path_);
  }
  struct stat locked {};
  struct stat named {};
  if (::fstat(folder_.get(), &locked) != 0 || ::stat(path_.c_str(), &named) != 0 ||
      locked.st_ino != named.st_ino || locked.st_dev != named.st_dev)
    return not_found("[{}] the folder was replaced while it was being locked", path_);
  return {};
}

}  // namespace anemone
