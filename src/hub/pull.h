// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hub/file_choice.h"
#include "hub/repository.h"

namespace anemone::hub {

struct Pulled;

struct PullOptions {
  std::string revision = "main";
  FilePatterns patterns;
  int jobs = 4;  // files at a time
  // Asked once it is known what is to be downloaded, and how many bytes of it are missing; nothing
  // is written before. An error ends the pull. May be empty.
  std::function<Status(const Pulled& planned, std::uint64_t missing)> on_plan{};
};

struct Pulled {
  std::string folder;  // of the snapshot, in the cache
  std::string commit;
  std::vector<RemoteFile> files;
  std::uint64_t bytes = 0;  // of all files
};

// done and total bytes. Called from any thread, one call at a time.
using PullProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Downloads a model into the cache (hub_cache.h), or finds it there. Continues interrupted
// downloads. With $HF_HUB_OFFLINE it reads only the cache.
Result<Pulled> pull(const RepoName& repo, const PullOptions& options, const PullProgress& progress);

// The folder of the snapshot in the cache, if there is one; nothing is asked of the hub. kCorrupt
// when a content is not the one that it is named by: each is hashed the first time and when its
// file has changed since, of which `progress` tells.
Result<std::optional<std::string>> find_pulled(const RepoName& repo,
                                               const std::string& revision = "main",
                                               const PullProgress& progress = {});

}  // namespace anemone::hub
