// SPDX-License-Identifier: Apache-2.0
// One or two bits per value, the lowest bits of a byte first, after one fp16 scale d:
//
//   Q1_0   128 values of -1 and 1
//   Q2_0   64 values of -1, 0, 1 and 2
//   SEQ    512 values of -3, -1, 1 and 3 (stretched elastic quantization, AngelSlim; Q2_0C in the
//          engine that runs it). Its number is that of Q1_0 in today's ggml.
#include "checkpoint/gguf/block_bytes.h"
#include "checkpoint/gguf/families.h"

namespace anemone::checkpoint::gguf {
namespace {

std::uint32_t packed_two_bits(const std::byte* in, std::size_t i) {
  return byte_at(in, i / 4) >> (2 * (i % 4)) & 3U;
}

void unpack_q1_0(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 0);
  for (std::size_t i = 0; i < 128; ++i)
    out.quants[i] = quant(2 * (byte_at(in + 2, i / 8) >> (i % 8) & 1U), -1);
}

void unpack_q2_0(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 0);
  for (std::size_t i = 0; i < 64; ++i) out.quants[i] = quant(packed_two_bits(in + 2, i), -1);
}

void unpack_seq(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 0);
  for (std::size_t i = 0; i < 512; ++i) out.quants[i] = quant(2 * packed_two_bits(in + 2, i), -3);
}

constexpr BlockType kLowBitTypes[] = {
    {.id = 41,
     .name = "Q1_0",
     .values = 128,
     .bytes = 18,
     .group = 128,
     .bits = 4,
     .has_half_scales = true,
     .unpack = unpack_q1_0},
    {.id = 41,
     .name = "SEQ",
     .values = 512,
     .bytes = 130,
     .group = 512,
     .bits = 4,
     .has_half_scales = true,
     .unpack = unpack_seq},
    {.id = 42,
     .name = "Q2_0",
     .values = 64,
     .bytes = 18,
     .group = 64,
     .bits = 4,
     .has_half_scales = true,
     .unpack = unpack_q2_0},
};

}  // namespace

std::span<const BlockType> low_bit_types() {
  return kLowBitTypes;
}

}  // namespace anemone::checkpoint::gguf
