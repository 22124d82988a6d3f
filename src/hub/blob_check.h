// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <string>

#include "hub/hub_cache.h"

namespace anemone::hub {

enum class BlobState { kAbsent, kRight, kWrong };

// Bytes that were looked at.
using Checked = std::function<void(std::uint64_t)>;

// Whether the blob of the cache has the content that it is named by. Something else in its place,
// such as a link, is wrong; a name that is no hash says nothing about the content and is right.
// What was found right is written down with size, times and inode of the file, and not hashed again
// as long as these stay. kIo when it cannot be read.
Result<BlobState> check_blob(const HubCache& cache, const std::string& etag,
                             const Checked& checked = {});

// Writes down that the blob is right, for one who has just hashed it.
void remember_blob(const HubCache& cache, const std::string& etag);

// check_blob() of everything that a snapshot links to, kCorrupt for the first that is wrong and for
// a link that leads elsewhere. Missing files are not checked: a snapshot may be here in part.
// `progress` gets the bytes so far and those of all.
Status check_snapshot(const HubCache& cache, const std::string& folder,
                      const std::function<void(std::uint64_t, std::uint64_t)>& progress = {});

}  // namespace anemone::hub
