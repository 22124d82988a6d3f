// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {

Status logical_not_kernel(const KernelCall& call) {
  map_elements<bool, bool>(call.input("x"), call.output(), call.threads(),
                           [](bool x) { return !x; });
  return ok_status();
}

}  // namespace anemone::kernels::reference
