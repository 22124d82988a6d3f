// SPDX-License-Identifier: Apache-2.0
// z = f(x, y) with broadcasting; z is bool.
#include "kernels/reference/elementwise/binary.h"
#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {
namespace {

// A comparison of fp16, fp32 or int32: F is called with floats or int64s.
template <typename F>
KernelEntry comparison(std::string_view op, F) {
  return {op, [](const KernelCall& call) { return compare(call, F{}); }};
}

}  // namespace

std::vector<KernelEntry> comparison_kernels() {
  return {
      comparison("equal", [](auto a, auto b) { return a == b; }),
      comparison("greater", [](auto a, auto b) { return a > b; }),
      comparison("greater_equal", [](auto a, auto b) { return a >= b; }),
      comparison("less", [](auto a, auto b) { return a < b; }),
      comparison("less_equal", [](auto a, auto b) { return a <= b; }),
      comparison("not_equal", [](auto a, auto b) { return a != b; }),
  };
}

}  // namespace anemone::kernels::reference
