// SPDX-License-Identifier: Apache-2.0
#include "cli/private_folder.h"

#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

namespace anemone::cli {

Status make_private_folder(const std::string& named) {
  // A slash at the end would follow a link.
  std::string path = named;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const auto parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) ANEMONE_RETURN_IF_ERROR(make_directories(parent.string()));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(path, "create the folder");
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno_error(path, "open");
  if (S_ISLNK(info.st_mode)) return io_error("[{}] expected a folder, got a link", path);
  if (!S_ISDIR(info.st_mode)) return io_error("[{}] expected a folder, got a file", path);
  if (info.st_uid != ::geteuid())
    return io_error("[{}] expected a folder of the user {}, got one of the user {}", path,
                    ::geteuid(), info.st_uid);
  if ((info.st_mode & 022) != 0)
    return io_error(
        "[{}] expected a folder that nobody else may write to, got mode {:o} (chmod go-w sets it)",
        path, info.st_mode & 07777);
  return {};
}

}  // namespace anemone::cli
