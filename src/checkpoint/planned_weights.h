// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

// Stands for weights that are not there yet, so that a compilation can be planned from a
// configuration alone: whatever is expected is there, in that shape, as bf16 zeros. Single-thread.
std::shared_ptr<const WeightSource> planned_weights(std::string origin);

}  // namespace anemone::checkpoint
