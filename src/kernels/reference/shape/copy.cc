// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/copy.h"

#include <algorithm>

namespace anemone::kernels::reference {

Status copy_x(const KernelCall& call) {
  const TensorView x = call.input("x");
  std::copy_n(x.data, x.size_bytes(), call.output().data);
  return ok_status();
}

}  // namespace anemone::kernels::reference
