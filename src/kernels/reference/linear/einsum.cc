// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/reference/linear/linear.h"
#include "kernels/reference/linear/products.h"

namespace anemone::kernels::reference {

// [b, c, h, w] x [b, w, h, u] -> [b, c, h, u], with or without b; sizes 1 of b and h broadcast.
Status einsum_kernel(const KernelCall& call) {
  const TensorView x = call.input("values", 0);
  const TensorView y = call.input("values", 1);
  const MutableTensorView out = call.output();
  const std::size_t rank = x.shape.size();
  const auto dim = [&](const TensorView& view, std::size_t from_end) {
    return from_end <= rank ? view.shape[rank - from_end] : 1;
  };
  const std::int64_t depth = dim(x, 1), h = dim(out, 2), rows = dim(x, 3), columns = dim(y, 1);
  const std::int64_t x_h = dim(x, 2), y_h = dim(y, 2);
  BatchedProduct product;
  product.x = {x.dtype, x.data, rows, depth, x_h * depth, 1};
  product.y = {y.dtype, y.data, columns, depth, 1, y_h * columns};
  product.axes = {{dim(out, 4), dim(x, 4) == 1 ? 0 : rows * x_h * depth,
                   dim(y, 4) == 1 ? 0 : depth * y_h * columns, rows * h * columns},
                  {h, x_h == 1 ? 0 : depth, y_h == 1 ? 0 : columns, columns}};
  product.out = out;
  product.out_x_stride = h * columns;
  product.out_y_stride = 1;
  multiply_batches(std::move(product), call.threads());
  return {};
}

}  // namespace anemone::kernels::reference
