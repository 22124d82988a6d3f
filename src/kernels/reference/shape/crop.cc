// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/rearrange.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

Status crop_kernel(const KernelCall& call) {
  const Strides from = strides_of(call.input("x").shape);
  const std::int64_t top = (*call.ints("crop_height"))[0];
  const std::int64_t left = (*call.ints("crop_width"))[0];
  return rearrange(call, call.output().shape, from, top * from[from.size() - 2] + left);
}

}  // namespace anemone::kernels::reference
