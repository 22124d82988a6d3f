// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/linear/linear.h"

#include "kernels/reference/linear/products.h"

namespace anemone::kernels::reference {

Status linear_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const TensorView weight = call.input("weight");
  const std::int64_t depth = weight.shape[1];
  const std::int64_t out_features = weight.shape[0];
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < x.shape.size(); ++i) rows *= x.shape[i];
  BatchedProduct product;
  product.x = {x.dtype, x.data, rows, depth, depth, 1};
  product.y = {weight.dtype, weight.data, out_features, depth, depth, 1};
  if (call.has("bias")) product.bias = call.input("bias");
  product.out = call.output();
  product.out_x_stride = out_features;
  product.out_y_stride = 1;
  multiply_batches(std::move(product), call.threads());
  return {};
}

}  // namespace anemone::kernels::reference
