// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "cli/model_cache.h"
#include "engine/model/model.h"
#include "exec/executor.h"

namespace anemone::cli {

// The artifact folder behind MODEL|DIR: an artifact is itself; a checkpoint folder or GGUF file is
// compiled into the cache, unless it is there already (model_cache.h); MODEL may also be one of the
// hub (model_path.h). With `checks_hashes` every file is read and compared with its hash, an
// artifact's as well: kCorrupt where that fails. kUnsupported for anything else. Hold the result
// until all files are open.
Result<FoundArtifact> artifact_folder(const std::string& named, const CacheRequest& request);

// The model behind such a name on an executor, with a progress bar that says `what` is going on;
// without one where that is empty. Beside the errors of artifact_folder() those of
// engine::Model::load().
Result<std::shared_ptr<const engine::Model>> load_model(const std::string& named,
                                                        const CacheRequest& request,
                                                        exec::Executor& executor,
                                                        engine::ModelLoadOptions options = {},
                                                        std::string_view what = "loading");

// Adds --check-hashes, which sets CacheRequest::checks_hashes, and its old name --verify.
void add_check_hashes_flag(CLI::App& command, bool& checks_hashes);

}  // namespace anemone::cli
