// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

#include "cli/model_cache.h"

namespace anemone::cli {

// The artifact folder behind MODEL|DIR: an artifact is itself; a checkpoint folder or GGUF file is
// compiled into the cache, unless it is there already (model_cache.h); MODEL may also be one of the
// hub (model_path.h). With `checks_hashes` every file is read and compared with its hash, an
// artifact's as well: kCorrupt where that fails. kUnsupported for anything else. Hold the result
// until all files are open.
Result<FoundArtifact> artifact_folder(const std::string& named, const CacheRequest& request);

// The help of the flag that sets CacheRequest::checks_hashes.
inline constexpr const char* kVerifyHelp =
    "Compare every file of the model with its hash before it is used";

}  // namespace anemone::cli
