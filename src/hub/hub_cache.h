// SPDX-License-Identifier: Apache-2.0
// The cache folder that the hub's own tools use, in their layout, so that what one downloaded the
// other finds:
//   models--OWNER--NAME/blobs/ETAG            contents, by hash
//   models--OWNER--NAME/snapshots/COMMIT/...  links to them by name
//   models--OWNER--NAME/refs/REVISION         the commit of a branch or tag
//   .locks/models--OWNER--NAME/ETAG.lock      who downloads a content
// and two things of our own:
//   models--OWNER--NAME/blobs/ETAG.RANDOM.incomplete   a download, by whoever has the lock
//   .locks/models--OWNER--NAME/ETAG.verified           which file was found to be right
// The cache itself may lie behind links. Within a model's folder nothing is written through one.
#pragma once

#include <anemone/status.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hub/repository.h"

namespace anemone::hub {

// $HF_HOME, else $XDG_CACHE_HOME/huggingface, else ~/.cache/huggingface; nullopt without any.
std::optional<std::string> hub_home();

class HubCache {
 public:
  // $HF_HUB_CACHE, else the folder hub/ in hub_home(). kInvalidArgument without any.
  static Result<HubCache> from_environment(const RepoName& repo);
  HubCache(std::filesystem::path root, const RepoName& repo);

  std::filesystem::path blob(const std::string& etag) const { return repo_ / "blobs" / etag; }
  // A name for a download that nobody else has or can guess.
  std::filesystem::path new_incomplete(const std::string& etag) const;
  // What interrupted downloads left, also those of the hub's own tools; the longest first. Regular
  // files of ours alone, with no other name.
  std::vector<std::filesystem::path> incomplete(const std::string& etag) const;
  std::filesystem::path verified(const std::string& etag) const {
    return locks_ / (etag + ".verified");
  }
  std::filesystem::path lock(const std::string& etag) const { return locks_ / (etag + ".lock"); }
  std::filesystem::path snapshot(const std::string& commit) const {
    return repo_ / "snapshots" / commit;
  }

  // kIo when a folder of the model is a link.
  Status make_folders() const;
  // snapshots/COMMIT/path -> the blob. A link that is there already is replaced. Several processes
  // may do it at a time.
  Status link(const std::string& commit, const RemoteFile& file) const;
  Status write_ref(const std::string& revision, const std::string& commit) const;

  // The snapshot of a revision (or commit) that is here, whole or in part.
  std::optional<std::string> find(const std::string& revision) const;

 private:
  std::filesystem::path repo_;
  std::filesystem::path locks_;
};

}  // namespace anemone::hub
