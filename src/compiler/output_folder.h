// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <utility>

#include "base/folder_lock.h"

namespace anemone::compiler {

// A folder that appears under its name as a whole or not at all: work goes into its neighbour
// "NAME.partial", commit() renames it into place (replacing an artifact that was there).
// Destruction without commit() removes what was written, unless it is to be kept; a process that is
// killed leaves it behind. While the object lives, no other process writes there.
class OutputFolder {
 public:
  // `keep`: the folder that an earlier run left is taken as it is, and an unfinished one stays.
  // Otherwise it starts empty. kInvalidArgument when `path` exists and is neither an artifact nor
  // an empty folder, or "NAME.partial" is not ours; kBusy when another process is at work there.
  static Result<OutputFolder> create(const std::string& path, bool keep);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();

  // Where to write.
  const std::string& working_path() const { return working_; }
  Status commit();

 private:
  OutputFolder(std::string path, std::string working, FolderLock lock, bool keep)
      : path_(std::move(path)), working_(std::move(working)), lock_(std::move(lock)), keep_(keep) {}
  std::string path_;
  std::string working_;  // empty once committed or moved from
  FolderLock lock_;      // of the working folder
  bool keep_ = false;
};

}  // namespace anemone::compiler
