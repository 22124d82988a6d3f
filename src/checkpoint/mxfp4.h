// SPDX-License-Identifier: Apache-2.0
// MXFP4 in safetensors, as gpt_oss has it: "NAME_blocks" [..., rows, groups, 16] of bytes, each two
// four-bit floats, the first in the low bits, and "NAME_scales" [..., rows, groups], a power of two
// for each 32 of them (255 is no number).
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string_view>

#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

inline constexpr std::string_view kMxfp4Blocks = "_blocks";
// The floats of four bits, doubled, are integers up to 12.
inline constexpr int kMxfp4Bits = 4;
inline constexpr QuantizedForm kMxfp4Form = {.group = 32, .bits = 8, .has_half_scales = false};

// The tensors of `source`, with each "NAME_blocks" as the floats [..., rows, 32 * groups] that it
// stands for, and without the scales. kNotFound or kCorrupt where a pair does not fit.
Result<std::shared_ptr<const WeightSource>> read_mxfp4(std::shared_ptr<const WeightSource> source);

}  // namespace anemone::checkpoint
