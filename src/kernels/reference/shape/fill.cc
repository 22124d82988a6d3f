// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/fill_value.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

Status fill_kernel(const KernelCall& call) {
  return fill_with_value(call);
}

}  // namespace anemone::kernels::reference
