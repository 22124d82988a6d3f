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
  // A new folder in the system's folder for temporary files. kIo if there is no such folder, for
  // instance because TMPDIR names none.
  static Result<ScratchFolder> create_temporary(const std::string& name);
  // Deletes a scratch folder that a process left. Ok if it is not there; kBusy while its process
  // runs; kInvalidArgument for a name that create() does not give.
  static Status discard(const std::string& path);
  // Deletes all scratch folders that processes left in `parent`, whatever their names. Returns how
  // many bytes that freed.
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
