// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/binary.h"
#include "kernels/reference/elementwise/division.h"
#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {

Status mod_kernel(const KernelCall& call) {
  return binary_numeric(call, [](auto a, auto b) { return floor_remainder(a, b); });
}

}  // namespace anemone::kernels::reference
