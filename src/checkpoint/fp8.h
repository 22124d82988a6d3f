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

// As transformers' fine-grained fp8 stores a matrix: "NAME" [..., rows, columns] of E4M3 and
// "NAME_scale_inv" [..., ceil(rows / R), ceil(columns / C)], what each block of R rows and C
// columns is multiplied by (weight_block_size of quantization_config, 128 each where it is absent;
// one number for all where it is null). The same tensors with each pair as the floats that it
// stands for. kNotFound, kCorrupt or kParseError where a pair or the configuration does not fit.
Result<std::shared_ptr<const WeightSource>> read_fp8(std::shared_ptr<const WeightSource> source,
                                                     const HfConfig& config);

}  // namespace anemone::checkpoint
