// SPDX-License-Identifier: Apache-2.0
// Eight-bit floats (E4M3: four bits of exponent, three of fraction; 448 at most, no infinities) in
// safetensors.
#pragma once

#include <anemone/status.h>

#include <memory>

#include "checkpoint/hf_config.h"
#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

// Reads a tensor of them. Lives for ever.
const WeightDecoder& fp8_decoder();

// The tensors of `source` with each fp8 matrix of transformers' fine-grained fp8 as floats. The
// format stores "NAME" [..., rows, columns] in E4M3 and "NAME_scale_inv" [..., ceil(rows / R),
// ceil(columns / C)], the factor of each block of R rows and C columns (weight_block_size of
// quantization_config; 128 each where it is absent, one factor for the whole matrix where it is
// null). kNotFound, kCorrupt or kParseError where a pair or the configuration does not fit.
Result<std::shared_ptr<const WeightSource>> read_fp8(std::shared_ptr<const WeightSource> source,
                                                     const HfConfig& config);

}  // namespace anemone::checkpoint
