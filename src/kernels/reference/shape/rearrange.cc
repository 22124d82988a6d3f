// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/rearrange.h"

namespace anemone::kernels::reference {

Status rearrange(const KernelCall& call, const Shape& dims, const Strides& from,
                 std::int64_t offset) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  if (y.size() == 0) return ok_status();
  strided_copy(dims, x.dtype, {x.data + offset * (dtype_bits(x.dtype) / 8), from},
               {y.data, strides_of(dims)}, call.threads());
  return ok_status();
}

}  // namespace anemone::kernels::reference
