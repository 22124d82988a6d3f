// SPDX-License-Identifier: Apache-2.0
// z = f(x, y) with broadcasting: arithmetic and logic.
#include "kernels/reference/elementwise/binary.h"

#include <cmath>

#include "kernels/reference/elementwise/division.h"
#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {
namespace {

// An operation on fp16, fp32 and int32: F is called with floats or int64s.
template <typename F>
KernelEntry arithmetic(std::string_view op, F) {
  return {op, [](const KernelCall& call) { return binary_numeric(call, F{}); }};
}

// An operation on booleans.
template <typename F>
KernelEntry logic(std::string_view op, F) {
  return {op, [](const KernelCall& call) { return binary_logical(call, F{}); }};
}

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

std::vector<KernelEntry> binary_kernels() {
  return {
      arithmetic("add", [](auto a, auto b) { return a + b; }),
      arithmetic("floor_div", [](auto a, auto b) { return floor_quotient(a, b); }),
      logic("logical_and", [](bool a, bool b) { return a && b; }),
      logic("logical_or", [](bool a, bool b) { return a || b; }),
      logic("logical_xor", [](bool a, bool b) { return a != b; }),
      // NaN wins, as in numpy.
      arithmetic("maximum", [](auto a, auto b) { return a > b || a != a ? a : b; }),
      // NaN wins, as in numpy.
      arithmetic("minimum", [](auto a, auto b) { return a < b || a != a ? a : b; }),
      arithmetic("mod", [](auto a, auto b) { return floor_remainder(a, b); }),
      arithmetic("mul", [](auto a, auto b) { return a * b; }),
      arithmetic("pow", [](auto a, auto b) { return power(a, b); }),
      arithmetic("real_div", [](auto a, auto b) { return true_quotient(a, b); }),
      arithmetic("sub", [](auto a, auto b) { return a - b; }),
  };
}

}  // namespace anemone::kernels::reference
