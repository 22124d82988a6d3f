// SPDX-License-Identifier: Apache-2.0
// Four-bit floats in blocks.
//
//   MXFP4  32 values: a power of two in one byte, 16 bytes of nibbles
//   NVFP4  64 values: four scales of 8 bits (e4m3) for 16 values each, then 8 bytes of nibbles each
#include "checkpoint/fp4.h"

#include "checkpoint/e4m3.h"
#include "checkpoint/gguf/block_bytes.h"
#include "checkpoint/gguf/families.h"

namespace anemone::checkpoint::gguf {
namespace {

// Half of an unsigned scale. 0x7f, not a number, reads as zero, and the bit above has no meaning
// otherwise.
float half_of_e4m3(std::uint32_t byte) {
  return byte == 0x7f ? 0 : e4m3_size(byte) / 2;
}

void unpack_mxfp4(const std::byte* in, Block& out) {
  out.scales[0] = half_of_e8m0(byte_at(in, 0));
  for (std::size_t i = 0; i < 32; ++i) out.quants[i] = kTwiceFp4[nibble_of_halves(in + 1, i, 16)];
}

void unpack_nvfp4(const std::byte* in, Block& out) {
  for (std::size_t g = 0; g < 4; ++g) {
    out.scales[g] = half_of_e4m3(byte_at(in, g));
    for (std::size_t i = 0; i < 16; ++i)
      out.quants[16 * g + i] = kTwiceFp4[nibble_of_halves(in + 4 + 8 * g, i, 8)];
  }
}

constexpr BlockType kFp4Types[] = {
    {.id = 39, .name = "MXFP4", .values = 32, .bytes = 17, .group = 32, .unpack = unpack_mxfp4},
    {.id = 40, .name = "NVFP4", .values = 64, .bytes = 36, .group = 16, .unpack = unpack_nvfp4},
};

}  // namespace

std::span<const BlockType> fp4_types() {
  return kFp4Types;
}

}  // namespace anemone::checkpoint::gguf
