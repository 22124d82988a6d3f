// SPDX-License-Identifier: Apache-2.0
// Four-bit floats (1 sign, 2 exponent, 1 mantissa bit) as twice their value, so that they are
// integers; their scales are halved for it.
#pragma once

#include <bit>
#include <cstdint>

namespace anemone::checkpoint {

inline constexpr std::int8_t kTwiceFp4[] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

// 2^(byte - 128), half of the scale that the byte stands for; the lowest two are subnormal.
inline float half_of_e8m0(std::uint32_t byte) {
  return std::bit_cast<float>(byte < 2 ? 0x00200000U << byte : (byte - 1) << 23);
}

}  // namespace anemone::checkpoint
