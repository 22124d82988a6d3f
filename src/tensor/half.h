// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 and bfloat16 as storage types. All arithmetic is in float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace anemone {

struct Half {
  std::uint16_t bits = 0;
  friend bool operator==(Half, Half) = default;
};
struct BFloat16 {
  std::uint16_t bits = 0;
  friend bool operator==(BFloat16, BFloat16) = default;
};
inline constexpr float kLargestHalf = 65504.0f;
static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);

// Exact. Written without branches so that compilers vectorise loops over it.
inline float to_float(Half h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = h.bits & 0x7fffu;
  // Shift exponent and mantissa into place, then rescale by 2^112: subnormals come out right
  // because the multiply normalises them.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t infinite = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign | infinite);
}

// Round to nearest even; overflow gives infinity, NaN stays NaN.
inline Half to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t out;
  if (magnitude >= 0x47800000u) {  // >= 65536, infinite or NaN
    out = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below the smallest normal half: let the FPU round it
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    out = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
  } else {
    out = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return Half{static_cast<std::uint16_t>(out | sign)};
}

inline float to_float(BFloat16 b) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16);
}

inline BFloat16 to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return BFloat16{static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return BFloat16{static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// Bulk forms; sizes must match.
void to_floats(std::span<const Half> in, std::span<float> out);
void to_floats(std::span<const BFloat16> in, std::span<float> out);
void to_halves(std::span<const float> in, std::span<Half> out);

}  // namespace anemone
