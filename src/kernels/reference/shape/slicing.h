// SPDX-License-Identifier: Apache-2.0
// What slice_by_index and slice_update share.
#pragma once

#include "kernels/kernel.h"
#include "kernels/reference/common/strided_rows.h"
#include "tensor/slice.h"

namespace anemone::kernels::reference {

// A slice as a walk over the tensor that it is taken from.
struct SliceWalk {
  Shape shape;              // of the slice, squeezed axes have size 1
  std::int64_t offset = 0;  // of its first element, in elements
  Strides strides;          // in elements
};

SliceWalk walk_of(const Shape& x, const std::vector<AxisSlice>& slice);

// The slice that the parameters begin, end, stride and the masks of a call name.
Result<SliceWalk> requested_slice(const KernelCall& call, const Shape& x);

}  // namespace anemone::kernels::reference
