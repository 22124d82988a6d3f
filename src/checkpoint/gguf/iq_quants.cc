// SPDX-License-Identifier: Apache-2.0
// Values by codebook. IQ1 to IQ3 take runs of eight or four values from a grid (iq_grids.gen.h),
// with signs beside; IQ4 has a table of sixteen values. 256 values per block (IQ4_NL 32), d is
// fp16:
//
//   IQ2_XXS  d, 8 x {4 grid bytes, 4 x 7 sign bits, 4 scale bits}
//   IQ2_XS   d, 32 x {9 grid, 7 sign bits}, 16 scale nibbles
//   IQ2_S    d, 32 grid bytes, 32 sign bytes, 8 bytes of upper grid bits, 16 scale nibbles
//   IQ3_XXS  d, 64 grid bytes, 8 x {4 x 7 sign bits, 4 scale bits}
//   IQ3_S    d, 64 grid bytes, 8 bytes of ninth grid bits, 32 sign bytes, 8 scale nibbles
//   IQ1_S    d, 32 grid bytes, 8 x {4 x 3 upper grid bits, 3 scale bits, sign of the shift}
//   IQ1_M    32 grid bytes, 16 bytes of {3 upper grid bits, sign of the shift} x 2, 16 3-bit
//   scales,
//            d in their upper nibbles
//   IQ4_NL   d, 16 bytes of nibbles
//   IQ4_XS   d, 16 upper scale bits, 4 bytes of lower scale nibbles, 128 bytes of nibbles
#include <bit>

#include "checkpoint/gguf/block_bytes.h"
#include "checkpoint/gguf/families.h"
#include "checkpoint/gguf/iq_grids.gen.h"

namespace anemone::checkpoint::gguf {
namespace {

constexpr std::int8_t kIq2Levels[] = {8, 25, 43, 0};  // index 3 does not occur in the grids
constexpr std::int8_t kIq3XxsLevels[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr std::int8_t kIq4Levels[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

// Seven sign bits; the eighth makes their number even.
std::uint32_t even_signs(std::uint32_t seven) {
  return seven | (std::popcount(seven) % 2 != 0 ? 128U : 0U);
}

std::int8_t signed_level(std::int8_t level, std::uint32_t signs, std::size_t bit) {
  return (signs >> bit & 1U) != 0 ? static_cast<std::int8_t>(-level) : level;
}

void eight_of_iq2(std::uint32_t entry, std::uint32_t signs, std::int8_t* out) {
  for (std::size_t i = 0; i < 8; ++i)
    out[i] = signed_level(kIq2Levels[entry >> (2 * i) & 3U], signs, i);
}

void unpack_iq2_xxs(const std::byte* in, Block& out) {
  const float d = half_at(in, 0);
  for (std::size_t g = 0; g < 8; ++g) {
    const std::byte* part = in + 2 + 8 * g;
    const std::uint32_t rest = u32_at(part, 4);
    out.scales[g] = d * (0.5F + static_cast<float>(rest >> 28)) * 0.25F;
    for (std::size_t k = 0; k < 4; ++k)
      eight_of_iq2(kIq2XxsGrid[byte_at(part, k)], even_signs(rest >> (7 * k) & 127U),
                   &out.quants[32 * g + 8 * k]);
  }
}

// Nibble scales of IQ2_XS and IQ2_S.
void iq2_scales(float d, const std::byte* in, Block& out) {
  for (std::size_t g = 0; g < 16; ++g) {
    const std::uint32_t scale = byte_at(in, g / 2) >> (4 * (g % 2)) & 15U;
    out.scales[g] = d * (0.5F + static_cast<float>(scale)) * 0.25F;
  }
}

void unpack_iq2_xs(const std::byte* in, Block& out) {
  iq2_scales(half_at(in, 0), in + 66, out);
  for (std::size_t k = 0; k < 32; ++k) {
    const std::uint32_t word = u16_at(in, 2 + 2 * k);
    eight_of_iq2(kIq2XsGrid[word & 511U], even_signs(word >> 9), &out.quants[8 * k]);
  }
}

void unpack_iq2_s(const std::byte* in, Block& out) {
  iq2_scales(half_at(in, 0), in + 74, out);
  for (std::size_t k = 0; k < 32; ++k) {
    const std::uint32_t high = byte_at(in, 66 + k / 4) >> (2 * (k % 4)) & 3U;
    eight_of_iq2(kIq2SGrid[byte_at(in, 2 + k) | high << 8], byte_at(in, 34 + k),
                 &out.quants[8 * k]);
  }
}

void unpack_iq3_xxs(const std::byte* in, Block& out) {
  const float d = half_at(in, 0);
  for (std::size_t g = 0; g < 8; ++g) {
    const std::uint32_t rest = u32_at(in, 66 + 4 * g);
    out.scales[g] = d * (0.5F + static_cast<float>(rest >> 28)) * 0.5F;
    for (std::size_t i = 0; i < 32; ++i) {
      const std::uint32_t entry = kIq3XxsGrid[byte_at(in, 2 + 8 * g + i / 4)];
      out.quants[32 * g + i] = signed_level(kIq3XxsLevels[entry >> (4 * (i % 4)) & 7U],
                                            even_signs(rest >> (7 * (i / 8)) & 127U), i % 8);
    }
  }
}

void unpack_iq3_s(const std::byte* in, Block& out) {
  const float d = half_at(in, 0);
  for (std::size_t g = 0; g < 8; ++g) {
    const std::uint32_t scale = byte_at(in, 106 + g / 2) >> (4 * (g % 2)) & 15U;
    out.scales[g] = d * static_cast<float>(1 + 2 * scale);
  }
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t run = i / 4;
    const std::uint32_t ninth = byte_at(in, 66 + run / 8) >> (run % 8) & 1U;
    const std::uint32_t entry = kIq3SGrid[byte_at(in, 2 + run) | ninth << 8];
    const std::int8_t level = quant(2 * (entry >> (4 * (i % 4)) & 7U), 1);
    out.quants[i] = signed_level(level, byte_at(in, 74 + i / 8), i % 8);
  }
}

// scale * (grid -1, 0 or 1, plus or minus 1/8), here as an eighth of the scale and eight times the
// rest: powers of two round nothing.
void eight_of_iq1(std::uint32_t entry, bool is_shift_negative, std::int8_t* out) {
  for (std::size_t i = 0; i < 8; ++i)
    out[i] = quant(8 * (entry >> (2 * i) & 3U), is_shift_negative ? -9 : -7);
}

void unpack_iq1_s(const std::byte* in, Block& out) {
  const float d = half_at(in, 0);
  for (std::size_t g = 0; g < 8; ++g) {
    const std::uint32_t rest = u16_at(in, 34 + 2 * g);
    out.scales[g] = d * static_cast<float>(2 * (rest >> 12 & 7U) + 1) * 0.125F;
    for (std::size_t k = 0; k < 4; ++k)
      eight_of_iq1(kIq1Grid[byte_at(in, 2 + 4 * g + k) | (rest >> (3 * k) & 7U) << 8],
                   (rest & 0x8000U) != 0, &out.quants[32 * g + 8 * k]);
  }
}

void unpack_iq1_m(const std::byte* in, Block& out) {
  std::uint32_t bits = 0;
  for (std::size_t k = 0; k < 4; ++k) bits |= u16_at(in, 48 + 2 * k) >> 12 << (4 * k);
  const float d = to_float(Half{static_cast<std::uint16_t>(bits)});
  for (std::size_t g = 0; g < 16; ++g) {
    const std::uint32_t scale = u16_at(in, 48 + 2 * (g / 4)) >> (3 * (g % 4)) & 7U;
    out.scales[g] = d * static_cast<float>(2 * scale + 1) * 0.125F;
  }
  for (std::size_t k = 0; k < 32; ++k) {
    const std::uint32_t high = byte_at(in, 32 + k / 2) >> (4 * (k % 2));
    eight_of_iq1(kIq1Grid[byte_at(in, k) | (high & 7U) << 8], (high & 8U) != 0, &out.quants[8 * k]);
  }
}

void unpack_iq4_nl(const std::byte* in, Block& out) {
  out.scales[0] = half_at(in, 0);
  for (std::size_t i = 0; i < 32; ++i) out.quants[i] = kIq4Levels[nibble_of_halves(in + 2, i, 16)];
}

void unpack_iq4_xs(const std::byte* in, Block& out) {
  const float d = half_at(in, 0);
  for (std::size_t g = 0; g < 8; ++g) {
    const std::uint32_t low = byte_at(in, 4 + g / 2) >> (4 * (g % 2)) & 15U;
    const std::uint32_t high = u16_at(in, 2) >> (2 * g) & 3U;
    out.scales[g] = d * static_cast<float>(static_cast<int>(low | high << 4) - 32);
    for (std::size_t i = 0; i < 32; ++i)
      out.quants[32 * g + i] = kIq4Levels[nibble_of_halves(in + 8 + 16 * g, i, 16)];
  }
}

constexpr BlockType kIqTypes[] = {
    {.id = 16,
     .name = "IQ2_XXS",
     .values = 256,
     .bytes = 66,
     .group = 32,
     .unpack = unpack_iq2_xxs},
    {.id = 17, .name = "IQ2_XS", .values = 256, .bytes = 74, .group = 16, .unpack = unpack_iq2_xs},
    {.id = 22, .name = "IQ2_S", .values = 256, .bytes = 82, .group = 16, .unpack = unpack_iq2_s},
    {.id = 18,
     .name = "IQ3_XXS",
     .values = 256,
     .bytes = 98,
     .group = 32,
     .unpack = unpack_iq3_xxs},
    {.id = 21, .name = "IQ3_S", .values = 256, .bytes = 110, .group = 32, .unpack = unpack_iq3_s},
    {.id = 19, .name = "IQ1_S", .values = 256, .bytes = 50, .group = 32, .unpack = unpack_iq1_s},
    {.id = 29, .name = "IQ1_M", .values = 256, .bytes = 56, .group = 16, .unpack = unpack_iq1_m},
    {.id = 20,
     .name = "IQ4_NL",
     .values = 32,
     .bytes = 18,
     .group = 32,
     .has_half_scales = true,
     .unpack = unpack_iq4_nl},
    {.id = 23, .name = "IQ4_XS", .values = 256, .bytes = 136, .group = 32, .unpack = unpack_iq4_xs},
};

}  // namespace

std::span<const BlockType> iq_types() {
  return kIqTypes;
}

}  // namespace anemone::checkpoint::gguf
