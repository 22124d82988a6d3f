// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

// Copies the first lengths[i] steps of each batch element backwards, and the others as they are.
Status reverse_sequence_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  if (x.size() == 0) return ok_status();
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t sequence_axis,
                           normalize_axis(call.integer("seq_axis", 0), x.shape.size()));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t batch_axis,
                           normalize_axis(call.integer("batch_axis", 0), x.shape.size()));
  const auto sequence = static_cast<std::size_t>(sequence_axis);
  const auto batch = static_cast<std::size_t>(batch_axis);
  const std::vector<std::int64_t> lengths = to_ints(call.input("lengths"));
  const std::int64_t bytes = dtype_bits(x.dtype) / 8;
  const Strides own = strides_of(x.shape);
  Strides backwards = own;
  backwards[sequence] = -own[sequence];
  Shape part = x.shape;
  part[batch] = 1;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::int64_t start = static_cast<std::int64_t>(i) * own[batch];
    const std::int64_t length = lengths[i];
    const std::int64_t rest = start + length * own[sequence];
    part[sequence] = length;
    if (length > 0)
      strided_copy(part, x.dtype, {x.data + (rest - own[sequence]) * bytes, backwards},
                   {y.data + start * bytes, own}, call.threads());
    part[sequence] = x.shape[sequence] - length;
    if (part[sequence] > 0)
      strided_copy(part, x.dtype, {x.data + rest * bytes, own}, {y.data + rest * bytes, own},
                   call.threads());
  }
  return ok_status();
}

}  // namespace anemone::kernels::reference
