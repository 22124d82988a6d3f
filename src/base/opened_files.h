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

// Which files this process opens for reading while the object lives, through open_regular_file().
// Names say too little: a link or a folder that is exchanged for another one and back again leads a
// reader to another file, and looks afterwards as it did before. For one who reads through many
// hands, as a compilation does. Thread-safe.
class OpenedFiles {
 public:
  OpenedFiles();
  ~OpenedFiles();
  OpenedFiles(const OpenedFiles&) = delete;
  OpenedFiles& operator=(const OpenedFiles&) = delete;

  // kIo naming the first of `files` that was another file, or had other contents, when it was
  // opened. Of those that nobody opened there is nothing to say.
  Status check(std::span<const FileIdentity> files) const;

  // For whoever opens.
  static Status note(const Descriptor& file, const std::string& path);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::set<std::string>> seen_;  // identities by path
};

}  // namespace anemone
