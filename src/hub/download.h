// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <functional>

#include "hub/hub_cache.h"
#include "hub/repository.h"

namespace anemone::hub {

// Bytes that came (or, below zero, turned out to be wrong and go again).
using Received = std::function<void(std::int64_t)>;

// Brings one file's content into the cache, going on where an interrupted download stopped. What is
// there already is checked against its hash, once (blob_check.h), and brought again if it is wrong.
// Tries again what may pass, checks size and hash. Another process that is at the same content is
// waited for. For one thread with one client; several may run side by side for different contents.
Status download_file(HttpClient& client, const HubAddress& hub, const RepoName& repo,
                     const std::string& commit, const RemoteFile& file, const HubCache& cache,
                     const Received& received);

}  // namespace anemone::hub
