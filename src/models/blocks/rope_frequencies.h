// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>

#include "artifact/manifest.h"
#include "checkpoint/hf_config.h"

namespace anemone::models {

// The inverse frequencies of a rotary embedding over `dim` dimensions, after transformers'
// modeling_rope_utils: default, linear, dynamic, llama3, yarn, longrope; and one of our own, for
// GGUF files. kUnsupported for other types.
//   default  inv_i = theta^(-2i/dim), i = 0 .. dim/2 - 1
//   linear   inv_i / factor
//   dynamic  as default up to max_position, which is as far as a compiled context goes
//   llama3   long waves divided by factor, short ones kept, a linear blend between
//   proportional  inv_i / factor for the first partial_rotary_factor of them, 0 for the others
//   divided  inv_i / divisors[i]
//   yarn     the blend by a ramp over i, and cos/sin times an attention factor
//   longrope a divisor for each frequency, of a list for texts up to the original length and one
//            for longer ones, and cos/sin times an attention factor for both
Result<artifact::Rope> rope_frequencies(const checkpoint::RopeSettings& settings, std::int64_t dim,
                                        std::int64_t max_position);

}  // namespace anemone::models
