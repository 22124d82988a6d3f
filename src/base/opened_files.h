// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "base/file_identity.h"

namespace anemone {

// Records which files this process opens for reading through open_regular_file() while the object
// lives. A reader that goes through many functions, such as a compilation, checks at its end that
// it read the files that it hashed: comparing names is not enough, since a link or a folder that is
// exchanged for another one and back again looks afterwards as it did before. Thread-safe.
class OpenedFiles {
 public:
  OpenedFiles();
  ~OpenedFiles();
  OpenedFiles(const OpenedFiles&) = delete;
  OpenedFiles& operator=(const OpenedFiles&) = delete;

  // kIo naming the first of `files` that was another file, or had other contents, when it was
  // opened. A file that nobody opened passes.
  Status check(std::span<const FileIdentity> files) const;

  // Called by every function that opens a file for reading.
  static Status note(const Descriptor& file, const std::string& path);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::set<std::string>> seen_;  // identities by path
};

}  // namespace anemone
