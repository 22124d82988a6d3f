// SPDX-License-Identifier: Apache-2.0
// What the classes of LFM2 have in common.
#pragma once

#include <anemone/status.h>

#include <cstdint>

#include "checkpoint/hf_config.h"
#include "models/decoder_config.h"

namespace anemone::models {

// Sizes, by the defaults that both have but for the hidden size and the width of the MLP; the
// convolutions, the norms of queries and keys, and the names of tensors.
Result<DecoderConfig> read_lfm2_common(const checkpoint::HfConfig& config, std::int64_t hidden_size,
                                       std::int64_t intermediate_size);

// `layer_types`, which must be there: short convolutions and attention.
Status read_lfm2_layer_types(const checkpoint::HfConfig& config, DecoderConfig& decoder);

}  // namespace anemone::models
