// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor, read and replaced.
#include <algorithm>

#include "kernels/kernel.h"
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/common/strided_rows.h"
#include "kernels/reference/shape/shape.h"
#include "tensor/slice.h"

namespace anemone::kernels::reference {
namespace {

// A slice as a walk over the tensor that it is taken from.
struct SliceWalk {
  Shape shape;              // of the slice, squeezed axes have size 1
  std::int64_t offset = 0;  // of its first element, in elements
  Strides strides;          // in elements
};

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

Status slice_by_index_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  ANEMONE_ASSIGN_OR_RETURN(const SliceWalk walk, requested_slice(call, x.shape));
  const std::int64_t element_bytes = dtype_bits(x.dtype) / 8;
  strided_copy(walk.shape, x.dtype, {x.data + walk.offset * element_bytes, walk.strides},
               {call.output().data, strides_of(walk.shape)}, call.threads());
  return ok_status();
}

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

Status slice_update_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  ANEMONE_ASSIGN_OR_RETURN(const SliceWalk walk, requested_slice(call, x.shape));
  const std::int64_t element_bytes = dtype_bits(x.dtype) / 8;
  if (x.data != y.data) std::copy_n(x.data, x.size_bytes(), y.data);
  strided_copy(walk.shape, x.dtype, {call.input("update").data, strides_of(walk.shape)},
               {y.data + walk.offset * element_bytes, walk.strides}, call.threads());
  return ok_status();
}

}  // namespace

std::vector<KernelEntry> slice_kernels() {
  return {{"slice_by_index", slice_by_index_kernel},
          {"slice_by_size", slice_by_size_kernel},
          {"slice_update", slice_update_kernel, "x"}};
}

}  // namespace anemone::kernels::reference
