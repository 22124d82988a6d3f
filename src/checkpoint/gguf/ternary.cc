// SPDX-License-Identifier: Apache-2.0
// 256 values of -1, 0 and 1 with one fp16 scale:
//
//   TQ1_0  52 bytes of five (the last four of four) ternary digits, d
//   TQ2_0  64 bytes of 2 bits, d
#include "checkpoint/gguf/block_bytes.h"
#include "checkpoint/gguf/families.h"

namespace anemone::checkpoint::gguf {
namespace {

constexpr std::uint32_t kPowersOfThree[] = {1, 3, 9, 27, 81};

// A byte holds the digits as a fraction of 256: multiplied by 3^digit, modulo 256, its leading
// ternary digit is the one wanted.
std::int8_t ternary_digit(std::uint32_t byte, std::size_t digit) {
  return quant((byte * kPowersOfThree[digit] & 255U) * 3U >> 8, -1);
}

// Digit n of `count` bytes gives the n-th run of `count` values.
std::int8_t* ternary_run(const std::byte* in, std::size_t count, std::size_t digits,
                         std::int8_t* out) {
  for (std::size_t digit = 0; digit < digits; ++digit)
    for (std::size_t i = 0; i < count; ++i) *out++ = ternary_digit(byte_at(in, i), digit);
  return out;
}

void unpack_tq1_0(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 52);
  std::int8_t* at = ternary_run(in, 32, 5, out.quants.data());
  at = ternary_run(in + 32, 16, 5, at);
  ternary_run(in + 48, 4, 4, at);
}

void unpack_tq2_0(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 64);
  for (std::size_t i = 0; i < 256; ++i)
    out.quants[i] = quant(byte_at(in, 32 * (i / 128) + i % 32) >> (2 * (i / 32 % 4)) & 3U, -1);
}

constexpr BlockType kTernaryTypes[] = {
    {.id = 34,
     .name = "TQ1_0",
     .values = 256,
     .bytes = 54,
     .group = 256,
     .bits = 4,
     .has_half_scales = true,
     .unpack = unpack_tq1_0},
    {.id = 35,
     .name = "TQ2_0",
     .values = 256,
     .bytes = 66,
     .group = 256,
     .bits = 4,
     .has_half_scales = true,
     .unpack = unpack_tq2_0},
};

}  // namespace

std::span<const BlockType> ternary_types() {
  return kTernaryTypes;
}

}  // namespace anemone::checkpoint::gguf
