// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace anemone::checkpoint {

// The magnitude of an eight-bit float: 4 bits of exponent (bias 7), 3 of fraction. The sign, which
// is the highest bit, is ignored, and 0x7f, which is NaN in the format, gives 480.
inline float e4m3_size(std::uint32_t byte) {
  const std::uint32_t exponent = byte >> 3 & 15U;
  const auto fraction = static_cast<float>(byte & 7U);
  if (exponent == 0) return fraction * 0x1p-9F;
  return (1.0F + fraction / 8.0F) * std::bit_cast<float>((exponent + 127 - 7) << 23);
}

// The float itself: 448 at most, 0x7f and 0xff are NaN.
inline float e4m3_value(std::uint32_t byte) {
  if ((byte & 127U) == 127U) return std::numeric_limits<float>::quiet_NaN();
  return byte < 128U ? e4m3_size(byte) : -e4m3_size(byte);
}

}  // namespace anemone::checkpoint
