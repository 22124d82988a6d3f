// SPDX-License-Identifier: Apache-2.0
// 32 values with an fp16 scale d and, in the _1 types, an fp16 minimum m:
//
//   Q4_0  d, 16 bytes of nibbles            d * (q - 8)
//   Q4_1  d, m, 16 bytes of nibbles         d * q + m
//   Q5_0  d, 32 fifth bits, 16 bytes        d * (q - 16)
//   Q5_1  d, m, 32 fifth bits, 16 bytes     d * q + m
//   Q8_0  d, 32 signed bytes                d * q
#include "checkpoint/gguf/block_bytes.h"
#include "checkpoint/gguf/families.h"

namespace anemone::checkpoint::gguf {
namespace {

constexpr std::size_t kLegacyValues = 32;

void unpack_q4_0(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 0);
  for (std::size_t i = 0; i < kLegacyValues; ++i)
    out.quants[i] = quant(nibble_of_halves(in + 2, i, 16), -8);
}

void unpack_q4_1(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 0);
  out.minimums[0] = half_at(in, 2);
  for (std::size_t i = 0; i < kLegacyValues; ++i)
    out.quants[i] = quant(nibble_of_halves(in + 4, i, 16));
}

// `in`: the fifth bits, then the nibbles.
void five_bits(const std::byte* in, int shift, Block& out) {
  const std::uint32_t high = u32_at(in, 0);
  for (std::size_t i = 0; i < kLegacyValues; ++i)
    out.quants[i] = quant(nibble_of_halves(in + 4, i, 16) | (high >> i & 1U) << 4, shift);
}

void unpack_q5_0(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 0);
  five_bits(in + 2, -16, out);
}

void unpack_q5_1(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 0);
  out.minimums[0] = half_at(in, 2);
  five_bits(in + 4, 0, out);
}

void unpack_q8_0(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 0);
  for (std::size_t i = 0; i < kLegacyValues; ++i)
    out.quants[i] = static_cast<std::int8_t>(byte_at(in, 2 + i));
}

constexpr BlockType kLegacyTypes[] = {
    {.id = 2,
     .name = "Q4_0",
     .values = 32,
     .bytes = 18,
     .group = 32,
     .bits = 4,
     .has_half_scales = true,
     .unpack = unpack_q4_0},
    {.id = 3,
     .name = "Q4_1",
     .values = 32,
     .bytes = 20,
     .group = 32,
     .bits = 4,
     .is_affine = true,
     .unpack = unpack_q4_1},
    {.id = 6,
     .name = "Q5_0",
     .values = 32,
     .bytes = 22,
     .group = 32,
     .has_half_scales = true,
     .unpack = unpack_q5_0},
    {.id = 7,
     .name = "Q5_1",
     .values = 32,
     .bytes = 24,
     .group = 32,
     .is_affine = true,
     .unpack = unpack_q5_1},
    {.id = 8,
     .name = "Q8_0",
     .values = 32,
     .bytes = 34,
     .group = 32,
     .has_half_scales = true,
     .unpack = unpack_q8_0},
};

}  // namespace

std::span<const BlockType> legacy_types() {
  return kLegacyTypes;
}

}  // namespace anemone::checkpoint::gguf
