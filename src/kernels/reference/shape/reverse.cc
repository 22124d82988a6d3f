// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

Status reverse_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  if (x.size() == 0) return ok_status();  // there is no last element to start from
  std::vector<bool> is_reversed(x.shape.size(), true);
  if (const auto axes = call.ints("axes")) {
    ANEMONE_ASSIGN_OR_RETURN(is_reversed, mark_axes(*axes, x.shape.size()));
  }
  const Strides own = strides_of(x.shape);
  Strides from = own;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!is_reversed[i]) continue;
    offset += (x.shape[i] - 1) * own[i];
    from[i] = -own[i];
  }
  strided_copy(x.shape, x.dtype, {x.data + offset * (dtype_bits(x.dtype) / 8), from},
               {call.output().data, own}, call.threads());
  return ok_status();
}

}  // namespace anemone::kernels::reference
