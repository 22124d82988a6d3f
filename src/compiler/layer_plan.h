// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "checkpoint/checkpoint.h"
#include "compiler/compile_plan.h"

namespace anemone::compiler {

// Cuts the layers and their experts into packages, as plan.options says: layer_shards, and what is
// known of the experts. Needs everything of the plan that decides how large a layer is. Adds notes
// about packages that exceed limits of the chip. kInvalidArgument or kUnsupported where the options
// do not fit the model, or ask for tens of thousands of packages; the errors of
// models::part_sizes().
Status plan_layers(const checkpoint::Checkpoint& checkpoint, CompilePlan& plan);

// Adds a note where packages that somebody asked for have more than every chip is known to take;
// they are made all the same. Needs layer_shards and head_bytes.
void note_exceeded_limits(CompilePlan& plan);

// Adds a note that says which package is larger than the size that somebody gave, and why. Needs
// layer_shards and head_packages.
void note_exceeded_size(CompilePlan& plan);

}  // namespace anemone::compiler
