// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

Status split_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t normalized,
                           normalize_axis(call.integer("axis", 0), x.shape.size()));
  const auto axis = static_cast<std::size_t>(normalized);
  const std::int64_t element_bytes = dtype_bits(x.dtype) / 8;
  const Strides from = strides_of(x.shape);
  std::int64_t position = 0;
  for (std::size_t i = 0; i < call.output_count(); ++i) {
    const MutableTensorView y = call.output(i);
    strided_copy(y.shape, x.dtype, {x.data + position * from[axis] * element_bytes, from},
                 {y.data, strides_of(y.shape)}, call.threads());
    position += y.shape[axis];
  }
  return ok_status();
}

}  // namespace anemone::kernels::reference
