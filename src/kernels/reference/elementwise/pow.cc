// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/binary.h"
#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {
namespace {

float power(float base, float exponent) {
  return std::pow(base, exponent);
}

// Wraps around like the other int32 arithmetic; a negative exponent gives the fraction cut to an
// integer.
std::int64_t power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::uint32_t result = 1;
  for (auto factor = static_cast<std::uint32_t>(base); exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<std::int32_t>(result);
}

}  // namespace

Status pow_kernel(const KernelCall& call) {
  return binary_numeric(call, [](auto a, auto b) { return power(a, b); });
}

}  // namespace anemone::kernels::reference
