// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"
#include "kernels/reference/shape/slicing.h"

namespace anemone::kernels::reference {

Status slice_by_index_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  ANEMONE_ASSIGN_OR_RETURN(const SliceWalk walk, requested_slice(call, x.shape));
  const std::int64_t element_bytes = dtype_bits(x.dtype) / 8;
  strided_copy(walk.shape, x.dtype, {x.data + walk.offset * element_bytes, walk.strides},
               {call.output().data, strides_of(walk.shape)}, call.threads());
  return ok_status();
}

}  // namespace anemone::kernels::reference
