// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/binary.h"
#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {

Status logical_xor_kernel(const KernelCall& call) {
  return binary_logical(call, [](bool a, bool b) { return a != b; });
}

}  // namespace anemone::kernels::reference
