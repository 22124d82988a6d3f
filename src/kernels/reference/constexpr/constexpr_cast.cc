// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/constexpr/constexpr.h"

namespace anemone::kernels::reference {

Status constexpr_cast_kernel(const KernelCall& call) {
  to_floats(call.input("source_val").as<Half>(), call.output().as<float>());
  return {};
}

}  // namespace anemone::kernels::reference
