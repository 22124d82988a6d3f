// SPDX-License-Identifier: Apache-2.0
// --require-ane of `run` and `serve`, and where Core ML plans to run a model.
#pragma once

#include <anemone/status.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "api/residency.h"
#include "cli/command.h"
#include "engine/model/model.h"

namespace anemone::cli {

void add_require_ane_flag(CLI::App& command, bool& is_required);

// Before a model is loaded: kUnsupported where --require-ane cannot be met because Core ML is not
// there, kInvalidArgument where another executor was asked for.
Status check_require_ane(bool is_required, const Context& context);

// Where Core ML plans to run a model; nullopt with another executor. kCheckFailed where it is
// required that all products are on the chip and one is not.
Result<std::optional<api::ModelResidency>> place_model(const engine::Model& model, bool is_required,
                                                       const Context& context);

}  // namespace anemone::cli
