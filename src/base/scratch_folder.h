// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/folder_lock.h"

namespace anemone {

// A temporary folder of this process: the destructor deletes it, and create() deletes those that
// killed processes left in the same parent. Single-thread.
class ScratchFolder {
 public:
  // A new folder "PARENT/NAME.<number>.scratch"; the parent is made where it is not there.
  static Result<ScratchFolder> create(const std::string& parent, const std::string& name);
  // A new folder in the system's folder for temporary files. kIo where there is none, as of a
  // TMPDIR that is no folder.
  static Result<ScratchFolder> create_temporary(const std::string& name);
  // Deletes one that a process left. Ok where there is none; kBusy while its process is there;
  // kInvalidArgument for another name than those that create() gives.
  static Status discard(const std::string& path);
  // Deletes all that were left in a folder, whatever their names; how many bytes are free now.
  static std::uint64_t discard_all(const std::string& parent);
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, FolderLock lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;  // empty once moved from
  FolderLock lock_;   // a folder that no process has locked is a leftover
};

}  // namespace anemone
