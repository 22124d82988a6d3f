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

// The artifact folder for `named`, the argument MODEL|DIR of a command. An artifact folder is taken
// as it is. A checkpoint folder or a GGUF file is compiled into the cache, unless it is there
// already (model_cache.h). A model of the hub is found by its name (model_path.h). A path of
// another kind is kUnsupported. If CacheRequest::checks_hashes is set, every file is read and
// compared with its hash, those of an artifact as well; a difference is kCorrupt. The result holds
// a lock that keeps the entry of the cache from being removed: hold it until all files are open.
Result<FoundArtifact> artifact_folder(const std::string& named, const CacheRequest& request);

// Loads the artifact that artifact_folder() finds for `named` on an executor. Shows a progress bar
// with the label `what`, or none if that is empty. Gives the errors of artifact_folder() and of
// engine::Model::load().
Result<std::shared_ptr<const engine::Model>> load_model(const std::string& named,
                                                        const CacheRequest& request,
                                                        exec::Executor& executor,
                                                        engine::ModelLoadOptions options = {},
                                                        std::string_view what = "loading");

// Adds --check-hashes, which sets CacheRequest::checks_hashes, and its old name --verify.
void add_check_hashes_flag(CLI::App& command, bool& checks_hashes);

}  // namespace anemone::cli
