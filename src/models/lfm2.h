// SPDX-License-Identifier: Apache-2.0
// What the classes of LFM2 have in common.
#pragma once

#include <anemone/status.h>

#include "checkpoint/hf_config.h"
#include "models/decoder_config.h"

namespace anemone::models {

// `layer_types`, which must be there: short convolutions and attention.
Status read_lfm2_layer_types(const checkpoint::HfConfig& config, DecoderConfig& decoder);

// The convolutions, the norms of queries and keys, and the names of tensors.
Status read_lfm2_blocks(const checkpoint::HfConfig& config, DecoderConfig& decoder);

}  // namespace anemone::models
