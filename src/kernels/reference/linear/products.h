// SPDX-License-Identifier: Apache-2.0
// Matrix products over batch axes: what matmul, linear and einsum have in common.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/reference/linear/gemm.h"
#include "tensor/tensor.h"

namespace anemone::kernels::reference {

// One batch axis; strides in elements, 0 where an operand is broadcast.
struct BatchAxis {
  std::int64_t size = 1;
  std::int64_t x_stride = 0;
  std::int64_t y_stride = 0;
  std::int64_t out_stride = 0;
};

// out(batch, i, j) = sum over d of x(batch, i, d) * y(batch, j, d) + bias[j], where x and y are the
// matrices of batch 0 (both with the contraction as their depth) and (i, j) is at
// i * out_x_stride + j * out_y_stride elements. All of float, or all of int32 (then sums wrap
// around). `bias` has y.rows elements of any float dtype or int32, or no data for none.
struct BatchedProduct {
  MatrixView x;
  MatrixView y;
  std::vector<BatchAxis> axes;  // outermost first
  TensorView bias;
  MutableTensorView out;
  std::int64_t out_x_stride = 0;
  std::int64_t out_y_stride = 0;
};
void multiply_batches(BatchedProduct product, ThreadPool& threads);

}  // namespace anemone::kernels::reference
