// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/reference/linear/linear.h"
#include "kernels/reference/linear/products.h"

namespace anemone::kernels::reference {
namespace {

struct Operand {
  MatrixView matrix;
  Shape batch;
};

// `rows_last`: the contraction is the axis before the last (of [batch..., depth, rows]).
Operand operand_of(const TensorView& view, bool rows_last) {
  Shape shape = view.shape;
  // A vector is one row; as y, whose matrix is [depth, 1], it is so too.
  if (shape.size() == 1) {
    shape.insert(shape.begin(), 1);
    rows_last = false;
  }
  const std::int64_t outer = shape[shape.size() - 2];
  const std::int64_t inner = shape.back();
  Operand out;
  out.matrix = rows_last ? MatrixView{view.dtype, view.data, inner, outer, 1, inner}
                         : MatrixView{view.dtype, view.data, outer, inner, inner, 1};
  out.batch.assign(shape.begin(), shape.end() - 2);
  return out;
}

// Stride of batch axis i counted from the end, 0 where the operand has size 1 or lacks the axis.
std::int64_t batch_stride(const Operand& operand, std::size_t from_end) {
  if (from_end >= operand.batch.size()) return 0;
  const std::size_t axis = operand.batch.size() - 1 - from_end;
  if (operand.batch[axis] == 1) return 0;
  std::int64_t stride = operand.matrix.rows * operand.matrix.depth;
  for (std::size_t i = axis + 1; i < operand.batch.size(); ++i) stride *= operand.batch[i];
  return stride;
}

std::int64_t batch_size(const Operand& operand, std::size_t from_end) {
  return from_end < operand.batch.size() ? operand.batch[operand.batch.size() - 1 - from_end] : 1;
}

}  // namespace

Status matmul_kernel(const KernelCall& call) {
  const Operand x = operand_of(call.input("x"), call.boolean("transpose_x", false));
  const Operand y = operand_of(call.input("y"), !call.boolean("transpose_y", false));
  BatchedProduct product;
  product.x = x.matrix;
  product.y = y.matrix;
  product.out = call.output();
  product.out_x_stride = y.matrix.rows;
  product.out_y_stride = 1;
  std::int64_t out_stride = x.matrix.rows * y.matrix.rows;
  for (std::size_t i = 0; i < std::max(x.batch.size(), y.batch.size()); ++i) {
    const std::int64_t size = batch_size(x, i) == 1 ? batch_size(y, i) : batch_size(x, i);
    product.axes.insert(product.axes.begin(),
                        {size, batch_stride(x, i), batch_stride(y, i), out_stride});
    out_stride *= size;
  }
  multiply_batches(std::move(product), call.threads());
  return {};
}

}  // namespace anemone::kernels::reference
