// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <functional>

#include "hub/hub_cache.h"
#include "hub/repository.h"

namespace anemone::hub {

// Bytes that came (or, below zero, turned out to be wrong and go again).
using Received = std::function<void(std::int64_t)>;

// Downloads the content of one file into the cache, going on where an interrupted download stopped.
// Content that is there already is checked against its hash, once (blob_check.h), and downloaded
// again if it is wrong. Retries failures that may pass; checks size and hash. Waits for another
// process that downloads the same content. Each thread needs a client of its own; several threads
// may download different contents at a time.
Status download_file(HttpClient& client, const HubAddress& hub, const RepoName& repo,
                     const std::string& commit, const RemoteFile& file, const HubCache& cache,
                     const Received& received);

}  // namespace anemone::hub
