// SPDX-License-Identifier: Apache-2.0
// What gpt-oss and the classes made from it have in common.
#pragma once

#include <anemone/status.h>

#include "checkpoint/hf_config.h"
#include "models/decoder_config.h"

namespace anemone::models {

// Sets the rope to yarn if the file says nothing about it; used as ClassDefaults::adjust_rope.
Status default_to_yarn(const checkpoint::HfConfig& config, std::int64_t dim,
                       checkpoint::RopeSettings& settings);

// Biases and sinks of attention, the clamped gate, and experts in every layer. `width`: of one
// expert where the file does not say.
Status read_gpt_oss_blocks(const checkpoint::HfConfig& config, std::int64_t width,
                           DecoderConfig& decoder);

}  // namespace anemone::models
