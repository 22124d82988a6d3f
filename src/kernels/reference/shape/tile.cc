// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

// Each axis is walked as two: the repetitions, which do not move in x, and the axis of x.
Status tile_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const std::vector<std::int64_t> reps = call.ints_or("reps", {});
  const Strides own = strides_of(x.shape);
  Shape shape;
  Strides from;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    shape.insert(shape.end(), {reps[i], x.shape[i]});
    from.insert(from.end(), {0, own[i]});
  }
  strided_copy(shape, x.dtype, {x.data, from}, {call.output().data, strides_of(shape)},
               call.threads());
  return ok_status();
}

}  // namespace anemone::kernels::reference
