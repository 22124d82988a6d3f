// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {
namespace {

float power_of_two(float x) {
  return std::exp2(x);
}
std::int64_t power_of_two(std::int64_t x) {
  return saturate_to_integer<std::int32_t>(std::exp2(static_cast<double>(x)));
}

}  // namespace

Status exp2_kernel(const KernelCall& call) {
  return unary_numeric(call, [](auto x) { return power_of_two(x); });
}

}  // namespace anemone::kernels::reference
