// SPDX-License-Identifier: Apache-2.0
#include "base/folder_lock.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/error.h"

namespace anemone {

Result<FolderLock> FolderLock::take(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && errno == ENOENT) return not_found("[{}] expected a folder, got none", path);
  if (folder < 0) return errno_error(path, "open");
  FolderLock lock(folder);
  if (::flock(folder, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_error(path, "lock");
    return busy("[{}] expected to be alone, got another process at work", path);
  }
  struct stat locked {};
  struct stat named {};
  if (::fstat(folder, &locked) != 0 || ::stat(path.c_str(), &named) != 0 ||
      locked.st_ino != named.st_ino || locked.st_dev != named.st_dev)
    return not_found("[{}] expected the folder that was opened, got another", path);
  return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept : folder_(std::exchange(other.folder_, -1)) {}

FolderLock::~FolderLock() {
  if (folder_ >= 0) ::close(folder_);
}

}  // namespace anemone
