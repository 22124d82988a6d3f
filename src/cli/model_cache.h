// SPDX-License-Identifier: Apache-2.0
// Checkpoints that `run`, `serve` and `bench` compiled for themselves, in the user's cache folder:
//   models/KEY/artifact/     the artifact
//   models/KEY/checked       its files as they were when they were last checked, and the hash of
//                            its manifest, which has the hashes of the others; its time is that of
//                            the last use
//   models/KEY/artifact.partial/  while it is made
//   files/                   hashes of the files of checkpoints (base/file_hashes.h)
// KEY is a hash of the contents of the checkpoint, its name, the options, the format of artifacts
// and the version of anemone: equal checkpoints share an entry, and nothing else does.
//
// Whatever a killed run leaves in an entry, the next one removes: nothing else may lie there.
//
// An entry is used as long as its files are those that were checked (size, times, inode); else all
// of them are read and compared with their hashes again, and a damaged entry is made anew. Both
// folders are private to the user, since what lies in them is believed (private_folder.h).
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/folder_lock.h"
#include "checkpoint/content.h"

namespace anemone::cli {

// $ANEMONE_CACHE, else $XDG_CACHE_HOME/anemone, else ~/.cache/anemone. kInvalidArgument when none
// of the variables is set.
Result<std::string> cache_folder();
// cache_folder(), created if it is missing and checked to be private (private_folder.h).
Result<std::string> make_cache_folder();
// What Core ML compiles: "coreml" in cache_folder(), not created.
Result<std::string> coreml_cache_folder();

struct CacheRequest {
  int threads = 0;             // 0: as many as this process may use
  bool checks_hashes = false;  // reads everything again, whatever is remembered
  std::int64_t context = 0;    // tokens that the model is compiled for; 0: the compiler's default
  std::string name = {};       // of the model; empty: the last name of its path
  bool has_notes = true;       // say on stderr if the model has another context than `context`
};

// An artifact folder to be opened.
struct FoundArtifact {
  std::string folder;
  // The lock of an entry of the cache, empty for an artifact elsewhere: while it is held no process
  // clears the entry or compiles it again.
  std::optional<FolderLock> held = std::nullopt;
};

struct CacheEntry {
  std::string key;
  std::string name;  // of the model; empty where the entry is not complete
  std::string producer;
  std::uint64_t bytes = 0;
  std::int64_t context = 0;           // tokens
  std::optional<double> unused_days;  // since its last use; none: it was never complete
  bool is_busy = false;               // another process is compiling or opening it
};

// What prune() removes.
struct PruneRequest {
  std::optional<std::uint64_t> max_bytes;  // of what stays, together
};

class ModelCache {
 public:
  // Makes the folders. kIo when somebody else could write to them.
  static Result<ModelCache> open();

  // The artifact folder of a checkpoint, compiled where it is not there. Waits while another
  // process compiles the same one, and says so on stderr; kCancelled after Ctrl-C.
  Result<FoundArtifact> artifact_of(const std::string& model, const CacheRequest& request) const;

  // The most recently used first, those that are not complete last.
  Result<std::vector<CacheEntry>> list() const;
  // Removes the entries whose name or key is one of `names`. kNotFound, before anything is removed,
  // for a name that no entry has; kBusy for an entry that is in use. Gives the removed entries.
  Result<std::vector<CacheEntry>> remove(const std::vector<std::string>& names) const;
  // Removes entries that are not complete or that another version of anemone made, then those that
  // were not used for the longest time, until what stays is small enough. Gives the removed
  // entries.
  Result<std::vector<CacheEntry>> prune(const PruneRequest& request) const;
  // Removes all entries that no process is making or opening, and what is remembered of files.
  // Gives the bytes that are free now.
  Result<std::uint64_t> clear() const;

 private:
  explicit ModelCache(const std::string& root)
      : models_(root + "/models"), files_(root + "/files") {}
  Result<checkpoint::Content> content_of(const std::string& model,
                                         const CacheRequest& request) const;
  // Removes an entry and appends it to `removed`, unless another process removed it meanwhile.
  Status remove_entry(CacheEntry entry, std::vector<CacheEntry>& removed) const;
  std::string models_;
  std::string files_;
};

}  // namespace anemone::cli
