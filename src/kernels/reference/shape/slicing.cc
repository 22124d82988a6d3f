// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/slicing.h"

namespace anemone::kernels::reference {

SliceWalk walk_of(const Shape& x, const std::vector<AxisSlice>& slice) {
  const Strides own = strides_of(x);
  SliceWalk walk;
  for (std::size_t i = 0; i < slice.size(); ++i) {
    walk.shape.push_back(slice[i].count);
    walk.offset += slice[i].start * own[i];
    walk.strides.push_back(slice[i].step * own[i]);
  }
  return walk;
}

Result<SliceWalk> requested_slice(const KernelCall& call, const Shape& x) {
  ANEMONE_ASSIGN_OR_RETURN(
      const std::vector<AxisSlice> slice,
      resolve_slice(x, {call.ints_or("begin", {}), call.ints_or("end", {}),
                        call.ints_or("stride", {}), call.ints_or("begin_mask", {}),
                        call.ints_or("end_mask", {}), call.ints_or("squeeze_mask", {})}));
  return walk_of(x, slice);
}

}  // namespace anemone::kernels::reference
