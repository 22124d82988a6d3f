// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace anemone {

// Tells whether a file has changed without reading it. The system alone sets `changed` (ctime): it
// moves with every write, and with every attempt to set `modified` back. So neither a copy with the
// times of its original (it has another inode) nor a file that was changed and got its old times
// again has the identity that it had. That holds on file systems which keep inodes and ctime, as
// those of Linux and macOS do, but for those in memory alone (tmpfs, ramfs): what is written to
// their files through a mapping sets no times.
struct FileIdentity {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // mtime, since 1970
  std::int64_t changed_ns = 0;   // ctime
  // Whether every change shows in the times. If not, a reader may trust what it knows of the
  // content only until it opens the file again.
  bool shows_changes = true;

  // Links are followed. kIo when it is no regular file.
  static Result<FileIdentity> of(const std::string& path);
  // The identity of the open file, whatever the `path` that it was opened by leads to now.
  static Result<FileIdentity> of(const Descriptor& file, const std::string& path);
  static Result<std::vector<FileIdentity>> of_all(std::span<const std::string> paths);

  // The identity without the path: one file under two names has one text.
  std::string text() const;
};

// All of them as one text, with the paths.
std::string text_of(std::span<const FileIdentity> files);

// A file that changes twice within one tick of the clock of its file system keeps its ctime. Waits
// until a further change of any of the files would show: at most 20 ms where times
// have fractions, else two seconds. False when it never will, as with times in the future.
bool wait_until_settled(std::span<const FileIdentity> files);

}  // namespace anemone
