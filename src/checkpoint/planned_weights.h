// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

// Stands for weights that are not there yet, so that a compilation can be planned from a
// configuration alone: whatever is expected is there, in that shape, as bf16 zeros. `has_mxfp4`:
// what may be MXFP4 (mxfp4.h) is, under the name of its blocks. Single-thread.
std::shared_ptr<const WeightSource> planned_weights(std::string origin, bool has_mxfp4);

}  // namespace anemone::checkpoint
