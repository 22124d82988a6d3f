// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

Status transpose_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  const Strides own = strides_of(x.shape);
  Strides from;
  for (const std::int64_t axis : call.ints_or("perm", {})) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t i, normalize_axis(axis, x.shape.size()));
    from.push_back(own[static_cast<std::size_t>(i)]);
  }
  strided_copy(y.shape, x.dtype, {x.data, from}, {y.data, strides_of(y.shape)}, call.threads());
  return ok_status();
}

}  // namespace anemone::kernels::reference
