// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

Status stack_kernel(const KernelCall& call) {
  const MutableTensorView y = call.output();
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", 0), y.shape.size()));
  const std::int64_t element_bytes = dtype_bits(y.dtype) / 8;
  Strides to = strides_of(y.shape);
  const std::int64_t step = to[static_cast<std::size_t>(axis)];
  to.erase(to.begin() + axis);
  for (std::size_t i = 0; i < call.count("values"); ++i) {
    const TensorView x = call.input("values", i);
    std::byte* target = y.data + static_cast<std::int64_t>(i) * step * element_bytes;
    strided_copy(x.shape, y.dtype, {x.data, strides_of(x.shape)}, {target, to}, call.threads());
  }
  return ok_status();
}

}  // namespace anemone::kernels::reference
