// SPDX-License-Identifier: Apache-2.0
// One entry of the cache of compiled checkpoints (model_cache.h): the locks under which it is read
// and made, the record of what was checked, and how it is compiled.
#pragma once

#include <anemone/status.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/manifest.h"
#include "base/file_identity.h"
#include "base/folder_lock.h"
#include "compiler/compiler.h"

namespace anemone::cli {

// The files of an entry, which are known to be anemone's by their names in its folder.
class CachedArtifact {
 public:
  // The folder may be missing.
  explicit CachedArtifact(std::string folder) : folder_(std::move(folder)) {}

  std::string artifact() const { return folder_ + "/artifact"; }

  // Takes the shared lock, with which several processes read the entry. kBusy while a process makes
  // it.
  Result<FolderLock> share() const;
  // Takes the exclusive lock, with which one process makes the entry. kBusy while a process makes
  // or opens it.
  Result<FolderLock> lock() const;

  // Checks the artifact, and compiles it from `model`, whose files are `sources`, if it is missing
  // or damaged. Requires the lock.
  Status check_or_make(const std::string& model, std::span<const FileIdentity> sources,
                       const compiler::CompileOptions& options) const;
  // Ok when the artifact is there and its files are those that were checked.
  Status check_stamp() const;

  // The time of the last use is that of the record, of which nothing else is asked.
  void note_use() const;
  // Days since the last use; nullopt when the entry was never complete.
  std::optional<double> unused_days() const;

  Status remove() const;

 private:
  // What lies in `checked`, one line each.
  struct Checked {
    std::string files;     // the hash of their identities
    std::string manifest;  // the hash of manifest.json
  };

  std::string checked_path() const { return folder_ + "/checked"; }
  Status check_hashes() const;
  Status make(const std::string& model, std::span<const FileIdentity> sources,
              compiler::CompileOptions options) const;
  Result<std::vector<FileIdentity>> identities(const artifact::Manifest& manifest) const;
  Result<std::string> hash_of_manifest() const;
  Result<Checked> read_checked() const;
  void record(const Checked& checked) const;

  std::string folder_;
};

}  // namespace anemone::cli
