// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <utility>

#include "base/descriptor.h"

namespace anemone {

// A lock on a folder against other processes: exclusive for the one that changes it, or shared by
// any number that read it. It belongs to the folder and not to its name, and ends with the object
// or the process, however that ends. Single-thread.
class FolderLock {
 public:
  enum class Mode { kAlone, kShared };

  // kBusy if another process holds a lock that excludes this one. kNotFound if the folder does not
  // exist, or if the path leads to another folder once the lock is taken (as when the process that
  // held it renamed the folder). kIo for every other error, such as a symbolic link.
  static Result<FolderLock> take(const std::string& path, Mode mode = Mode::kAlone);

  // Turns the exclusive lock into a shared one. The system gives the lock up before it takes the
  // new one, so another process may come between: kBusy and kNotFound as above, and then there is
  // no lock.
  Status share() { return lock(Mode::kShared); }

 private:
  FolderLock(std::string path, Descriptor folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  Status lock(Mode mode) const;

  std::string path_;
  Descriptor folder_;
};

}  // namespace anemone
