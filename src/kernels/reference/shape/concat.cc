// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

// Interleaved, element k of each value in turn: value i starts at i and takes every n-th place.
Status concat_kernel(const KernelCall& call) {
  const MutableTensorView y = call.output();
  const auto count = static_cast<std::int64_t>(call.count("values"));
  const bool interleave = call.boolean("interleave", false);
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t normalized,
                           normalize_axis(call.integer("axis", 0), y.shape.size()));
  const auto axis = static_cast<std::size_t>(normalized);
  const std::int64_t element_bytes = dtype_bits(y.dtype) / 8;
  const Strides to = strides_of(y.shape);
  Strides to_steps = to;
  if (interleave) to_steps[axis] *= count;
  std::int64_t position = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const TensorView x = call.input("values", static_cast<std::size_t>(i));
    const Shape shape = x.shape.empty() ? Shape{1} : x.shape;
    strided_copy(shape, y.dtype, {x.data, strides_of(shape)},
                 {y.data + position * to[axis] * element_bytes, to_steps}, call.threads());
    position += interleave ? 1 : shape[axis];
  }
  return ok_status();
}

}  // namespace anemone::kernels::reference
