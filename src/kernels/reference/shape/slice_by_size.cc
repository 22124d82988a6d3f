// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

Status slice_by_size_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  const Strides from = strides_of(x.shape);
  const std::vector<std::int64_t> begin = call.ints_or("begin", {});
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < from.size(); ++i)
    offset += (begin[i] < 0 ? begin[i] + x.shape[i] : begin[i]) * from[i];
  strided_copy(y.shape, x.dtype, {x.data + offset * (dtype_bits(x.dtype) / 8), from},
               {y.data, strides_of(y.shape)}, call.threads());
  return ok_status();
}

}  // namespace anemone::kernels::reference
