// SPDX-License-Identifier: Apache-2.0
// The models of `serve`: their names, and how each is loaded.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/serve_flags.h"
#include "engine/loop/engine.h"
#include "serve/model_pool.h"

namespace anemone::cli {

// The models that the flags name, none of them loaded; `context` outlives the pool. The draft model
// is loaded into `speculation`, with which each model has to agree when it is loaded.
// kInvalidArgument for names and for a time that are none; where a model is loaded later, also the
// errors of find_model(), since what is nowhere should be said at once, and a question can be
// answered.
Result<std::unique_ptr<serve::ModelPool>> make_model_pool(
    const ServeOptions& options, const engine::SpeculationOptions& speculation,
    const Context& context);

// Describes the models in one line: their names, and the verdict of `verify` on each ("pocket, chat
// (unverified)").
std::string describe_models(serve::ModelPool& models);

// The options of the engine for these models, by the flags and the models that are loaded.
engine::EngineOptions engine_options(const ServeOptions& options, serve::ModelPool& models);

}  // namespace anemone::cli
