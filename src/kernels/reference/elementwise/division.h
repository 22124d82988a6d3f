// SPDX-License-Identifier: Apache-2.0
// Division as Python does it: the remainder has the sign of the divisor. An integer divided by zero
// gives 0, as in numpy.
#pragma once

#include <cmath>
#include <cstdint>

namespace anemone::kernels::reference {

inline float true_quotient(float a, float b) {
  return a / b;
}
// The operation leaves integers open; they truncate toward zero.
inline std::int64_t true_quotient(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : a / b;
}

inline float floor_remainder(float a, float b) {
  const float remainder = std::fmod(a, b);
  if (remainder == 0.0f) return std::copysign(0.0f, b);
  return (remainder < 0.0f) != (b < 0.0f) ? remainder + b : remainder;
}

inline std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  const std::int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

// floor(a / b) by way of the exact remainder: the plain formula would round up a quotient just
// below an integer.
inline float floor_quotient(float a, float b) {
  if (b == 0.0f) return a / b;
  const float remainder = std::fmod(a, b);
  float quotient = (a - remainder) / b;
  if (remainder != 0.0f && (remainder < 0.0f) != (b < 0.0f)) quotient -= 1.0f;
  if (quotient == 0.0f) return std::copysign(0.0f, a / b);
  const float whole = std::floor(quotient);
  return quotient - whole > 0.5f ? whole + 1.0f : whole;
}

inline std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : (a - floor_remainder(a, b)) / b;
}

}  // namespace anemone::kernels::reference
