// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <utility>

#include "base/descriptor.h"

namespace anemone {

// A lock on a folder against other processes. It belongs to the folder and not to its name, and
// ends with the object or the process, however that ends. Single-thread.
class FolderLock {
 public:
  // kBusy when another process has the lock; kNotFound when there is no such folder, or another one
  // took its name meanwhile (as when the process that had it renamed it); kIo for anything else,
  // as a link to a folder.
  static Result<FolderLock> take(const std::string& path);

 private:
  explicit FolderLock(Descriptor folder) : folder_(std::move(folder)) {}
  Descriptor folder_;
};

}  // namespace anemone
