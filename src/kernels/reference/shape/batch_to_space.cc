// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/shape.h"
#include "kernels/reference/shape/space_batch.h"

namespace anemone::kernels::reference {

Status batch_to_space_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  if (y.size() == 0) return ok_status();
  const auto block = *call.ints("block_shape");
  const auto border = *call.ints("crops");
  const std::int64_t bytes = dtype_bits(x.dtype) / 8;
  for_each_cell({y.shape, x.shape, {block[0], block[1]}, {border[0], border[2]}},
                [&](const Shape& shape, std::int64_t image_offset, const Strides& image,
                    std::int64_t cells_offset, const Strides& cells) {
                  strided_copy(shape, x.dtype, {x.data + cells_offset * bytes, cells},
                               {y.data + image_offset * bytes, image}, call.threads());
                });
  return ok_status();
}

}  // namespace anemone::kernels::reference
