// SPDX-License-Identifier: Apache-2.0
// 256 values; groups of 16 or 32 have small integer scales (and minimums), which an fp16 number d
// (and dmin) multiplies. Values are packed by planes: the same byte holds values that lie 32 (or
// 64) apart.
//
//   Q2_K  16 scale|minimum nibbles, 64 bytes of 2 bits, d, dmin
//   Q3_K  32 bytes of third bits, 64 bytes of 2 bits, 12 bytes of 16 6-bit scales, d
//   Q4_K  d, dmin, 12 bytes of 8 6-bit scales and minimums, 128 bytes of nibbles
//   Q5_K  d, dmin, 12 bytes as in Q4_K, 32 bytes of fifth bits, 128 bytes of nibbles
//   Q6_K  128 bytes of nibbles, 64 bytes of upper 2 bits, 16 signed scales, d
#include "checkpoint/gguf/block_bytes.h"
#include "checkpoint/gguf/families.h"

namespace anemone::checkpoint::gguf {
namespace {

constexpr std::size_t kSuperValues = 256;

// 2 bits: byte 32 * (i / 128) + i % 32 holds value i at bit 2 * (i / 32 % 4).
std::uint32_t two_bits(const std::byte* in, std::size_t i) {
  return byte_at(in, 32 * (i / 128) + i % 32) >> (2 * (i / 32 % 4)) & 3U;
}

void unpack_q2_k(const std::byte* in, Block& out) {
  const float d = half_at(in, 80);
  const float dmin = half_at(in, 82);
  for (std::size_t g = 0; g < 16; ++g) {
    out.scales[g] = d * static_cast<float>(byte_at(in, g) & 15U);
    out.minimums[g] = -(dmin * static_cast<float>(byte_at(in, g) >> 4));
  }
  for (std::size_t i = 0; i < kSuperValues; ++i) out.quants[i] = quant(two_bits(in + 16, i));
}

void unpack_q3_k(const std::byte* in, Block& out) {
  const std::byte* scales = in + 96;
  const float d = half_at(in, 108);
  for (std::size_t g = 0; g < 16; ++g) {
    const std::uint32_t low = byte_at(scales, g % 8) >> (4 * (g / 8)) & 15U;
    const std::uint32_t high = byte_at(scales, 8 + g % 4) >> (2 * (g / 4)) & 3U;
    out.scales[g] = d * static_cast<float>(static_cast<int>(low | high << 4) - 32);
  }
  // A third bit that is not set means minus 4.
  for (std::size_t i = 0; i < kSuperValues; ++i)
    out.quants[i] =
        quant(two_bits(in + 32, i), (byte_at(in, i % 32) >> (i / 32) & 1U) != 0 ? 0 : -4);
}

// The 6-bit scales and minimums of Q4_K and Q5_K: the upper two bits of the second four lie above
// the first four.
void scales_and_minimums(const std::byte* in, Block& out) {
  const float d = half_at(in, 0);
  const float dmin = half_at(in, 2);
  const std::byte* packed = in + 4;
  for (std::size_t g = 0; g < 8; ++g) {
    const std::uint32_t a = byte_at(packed, g % 4);
    const std::uint32_t b = byte_at(packed, 4 + g % 4);
    const std::uint32_t c = byte_at(packed, 8 + g % 4);
    const std::uint32_t scale = g < 4 ? a & 63U : (c & 15U) | (a >> 6) << 4;
    const std::uint32_t minimum = g < 4 ? b & 63U : c >> 4 | (b >> 6) << 4;
    out.scales[g] = d * static_cast<float>(scale);
    out.minimums[g] = -(dmin * static_cast<float>(minimum));
  }
}

// 4 bits: byte 32 * (i / 64) + i % 32, the upper ones for the second 32 of 64.
std::uint32_t four_bits(const std::byte* in, std::size_t i) {
  return byte_at(in, 32 * (i / 64) + i % 32) >> (4 * (i / 32 % 2)) & 15U;
}

void unpack_q4_k(const std::byte* in, Block& out) {
  scales_and_minimums(in, out);
  for (std::size_t i = 0; i < kSuperValues; ++i) out.quants[i] = quant(four_bits(in + 16, i));
}

void unpack_q5_k(const std::byte* in, Block& out) {
  scales_and_minimums(in, out);
  for (std::size_t i = 0; i < kSuperValues; ++i)
    out.quants[i] = quant(four_bits(in + 48, i) | (byte_at(in + 16, i % 32) >> (i / 32) & 1U) << 4);
}

void unpack_q6_k(const std::byte* in, Block& out) {
  const float d = half_at(in, 208);
  for (std::size_t g = 0; g < 16; ++g)
    out.scales[g] = d * static_cast<float>(static_cast<std::int8_t>(byte_at(in, 192 + g)));
  for (std::size_t i = 0; i < kSuperValues; ++i) {
    const std::uint32_t low = byte_at(in, 64 * (i / 128) + i % 64) >> (4 * (i / 64 % 2)) & 15U;
    out.quants[i] = quant(low | two_bits(in + 128, i) << 4, -32);
  }
}

constexpr BlockType kKTypes[] = {
    {.id = 10,
     .name = "Q2_K",
     .values = 256,
     .bytes = 84,
     .group = 16,
     .bits = 4,
     .is_affine = true,
     .unpack = unpack_q2_k},
    {.id = 11,
     .name = "Q3_K",
     .values = 256,
     .bytes = 110,
     .group = 16,
     .bits = 4,
     .unpack = unpack_q3_k},
    {.id = 12,
     .name = "Q4_K",
     .values = 256,
     .bytes = 144,
     .group = 32,
     .bits = 4,
     .is_affine = true,
     .unpack = unpack_q4_k},
    {.id = 13,
     .name = "Q5_K",
     .values = 256,
     .bytes = 176,
     .group = 32,
     .is_affine = true,
     .unpack = unpack_q5_k},
    {.id = 14, .name = "Q6_K", .values = 256, .bytes = 210, .group = 16, .unpack = unpack_q6_k},
};

}  // namespace

std::span<const BlockType> k_types() {
  return kKTypes;
}

}  // namespace anemone::checkpoint::gguf
