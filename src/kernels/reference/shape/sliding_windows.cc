// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/rearrange.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

// Neighbours in a window are neighbours in x, windows begin `stride` of them apart.
Status sliding_windows_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", 0), x.shape.size()));
  Strides from = strides_of(x.shape);
  const auto at = from.begin() + axis;
  const std::int64_t step = *at;
  *at *= call.integer("stride", 1);
  from.insert(at + 1, step);
  return rearrange(call, call.output().shape, from);
}

}  // namespace anemone::kernels::reference
