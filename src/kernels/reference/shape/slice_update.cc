// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"
#include "kernels/reference/shape/slicing.h"

namespace anemone::kernels::reference {

Status slice_update_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  ANEMONE_ASSIGN_OR_RETURN(const SliceWalk walk, requested_slice(call, x.shape));
  const std::int64_t element_bytes = dtype_bits(x.dtype) / 8;
  std::copy_n(x.data, x.size_bytes(), y.data);
  strided_copy(walk.shape, x.dtype, {call.input("update").data, strides_of(walk.shape)},
               {y.data + walk.offset * element_bytes, walk.strides}, call.threads());
  return ok_status();
}

}  // namespace anemone::kernels::reference
