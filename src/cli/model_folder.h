// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

namespace anemone::cli {

// The artifact folder behind MODEL|DIR: an artifact is itself; a checkpoint folder or GGUF file
// is compiled into the cache, unless it is there already; MODEL may also be one of the hub
// (model_path.h). The name in the cache is a hash of the checkpoint's config and of the names,
// sizes and times of its files, so a changed checkpoint is compiled again. kUnsupported for
// anything else. `threads` 0: as many as this process may use.
Result<std::string> artifact_folder(const std::string& named, int threads);

// $ANEMONE_CACHE, else $XDG_CACHE_HOME/anemone, else ~/.cache/anemone. kInvalidArgument when none
// of the variables is set.
Result<std::string> cache_folder();

}  // namespace anemone::cli
