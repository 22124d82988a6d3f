// SPDX-License-Identifier: Apache-2.0
// The types of each family, for the table in block_type.cc.
#pragma once

#include <span>

#include "checkpoint/gguf/block_type.h"

namespace anemone::checkpoint::gguf {

std::span<const BlockType> legacy_types();   // Q4_0 to Q8_0: 32 values, one scale
std::span<const BlockType> k_types();        // Q2_K to Q6_K: 256 values, scales with scales
std::span<const BlockType> iq_types();       // IQ1 to IQ4: codebooks
std::span<const BlockType> ternary_types();  // TQ1_0, TQ2_0: one scale of 256
std::span<const BlockType> low_bit_types();  // Q1_0, Q2_0, SEQ
std::span<const BlockType> fp4_types();      // MXFP4, NVFP4

}  // namespace anemone::checkpoint::gguf
