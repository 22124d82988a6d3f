// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/linear/products.h"

#include <unordered_map>
#include <utility>

#include "kernels/reference/common/elements.h"

namespace anemone::kernels::reference {
namespace {

struct Offsets {
  std::int64_t x = 0, y = 0, out = 0;
};

// Element offsets of every batch, in order.
std::vector<Offsets> batch_offsets(const std::vector<BatchAxis>& axes) {
  std::vector<Offsets> all(1);
  for (const BatchAxis& axis : axes) {
    std::vector<Offsets> next;
    next.reserve(all.size() * static_cast<std::size_t>(axis.size));
    for (const Offsets& base : all)
      for (std::int64_t i = 0; i < axis.size; ++i)
        next.push_back({base.x + i * axis.x_stride, base.y + i * axis.y_stride,
                        base.out + i * axis.out_stride});
    all = std::move(next);
  }
  return all;
}

MatrixView at(const MatrixView& matrix, std::int64_t offset) {
  MatrixView out = matrix;
  out.data += offset * (dtype_bits(matrix.dtype) / 8);
  return out;
}

// A batch axis along which y does not change is more rows of x: [b, m, k] x [k, n] is [b * m, k] x
// [k, n], which converts y once.
void fold_rows(BatchedProduct& p) {
  while (!p.axes.empty()) {
    const BatchAxis axis = p.axes.back();
    if (axis.y_stride != 0 || axis.x_stride != p.x.rows * p.x.row_stride ||
        axis.out_stride != p.x.rows * p.out_x_stride)
      return;
    p.x.rows *= axis.size;
    p.axes.pop_back();
  }
}

void swap_operands(BatchedProduct& p) {
  std::swap(p.x, p.y);
  std::swap(p.out_x_stride, p.out_y_stride);
  for (BatchAxis& axis : p.axes) std::swap(axis.x_stride, axis.y_stride);
}

void multiply_floats(BatchedProduct p, ThreadPool& threads) {
  fold_rows(p);
  std::vector<float> bias;
  if (p.bias.data != nullptr) {
    bias = to_floats(p.bias);
  } else if (p.x.rows > p.y.rows) {
    // The dot product is symmetric, so that the smaller operand may always be the resident one.
    swap_operands(p);
  }
  const std::vector<Offsets> batches = batch_offsets(p.axes);
  std::vector<MatrixView> lefts;
  std::vector<std::size_t> left_of;
  std::unordered_map<std::int64_t, std::size_t> seen;
  for (const Offsets& batch : batches) {
    const auto [it, is_new] = seen.emplace(batch.x, lefts.size());
    if (is_new) lefts.push_back(at(p.x, batch.x));
    left_of.push_back(it->second);
  }
  const PackedMatrices packed(lefts, threads);
  std::vector<MatrixProduct> products;
  products.reserve(batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    MatrixProduct product;
    product.left = packed[left_of[i]];
    product.left_rows = p.x.rows;
    product.right = at(p.y, batches[i].y);
    product.bias = bias.empty() ? nullptr : bias.data();
    product.out = p.out.data + batches[i].out * (dtype_bits(p.out.dtype) / 8);
    product.out_left_stride = p.out_x_stride;
    product.out_right_stride = p.out_y_stride;
    products.push_back(product);
  }
  multiply(products, p.out.dtype, threads);
}

// Unsigned arithmetic wraps around, as numpy's int32 does; signed overflow would be undefined.
void multiply_ints(const BatchedProduct& p, ThreadPool& threads) {
  std::vector<std::uint32_t> bias(static_cast<std::size_t>(p.y.rows), 0);
  if (p.bias.data != nullptr)
    for (std::int64_t j = 0; j < p.y.rows; ++j)
      bias[static_cast<std::size_t>(j)] = static_cast<std::uint32_t>(element_as_int(p.bias, j));
  std::int32_t* out = p.out.as<std::int32_t>().data();
  for (const Offsets& batch : batch_offsets(p.axes)) {
    const auto* x = reinterpret_cast<const std::uint32_t*>(p.x.data) + batch.x;
    const auto* y = reinterpret_cast<const std::uint32_t*>(p.y.data) + batch.y;
    threads.parallel_for(p.x.rows, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t j = 0; j < p.y.rows; ++j) {
          std::uint32_t sum = bias[static_cast<std::size_t>(j)];
          for (std::int64_t d = 0; d < p.x.depth; ++d)
            sum += x[i * p.x.row_stride + d * p.x.depth_stride] *
                   y[j * p.y.row_stride + d * p.y.depth_stride];
          out[batch.out + i * p.out_x_stride + j * p.out_y_stride] = static_cast<std::int32_t>(sum);
        }
    });
  }
}

double element(const MatrixView& matrix, std::int64_t i) {
  if (matrix.dtype == DType::kInt32) return reinterpret_cast<const std::int32_t*>(matrix.data)[i];
  if (matrix.dtype == DType::kFp16)
    return static_cast<double>(to_float(reinterpret_cast<const Half*>(matrix.data)[i]));
  return static_cast<double>(reinterpret_cast<const float*>(matrix.data)[i]);
}

// Integers times floats to integers: fp32 does not hold every int32, so sums are in double. They
// become integers as `cast` makes them, toward zero and into the range of int32.
void multiply_mixed(const BatchedProduct& p, ThreadPool& threads) {
  std::int32_t* out = p.out.as<std::int32_t>().data();
  for (const Offsets& batch : batch_offsets(p.axes)) {
    const MatrixView x = at(p.x, batch.x);
    const MatrixView y = at(p.y, batch.y);
    threads.parallel_for(x.rows, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t j = 0; j < y.rows; ++j) {
          double sum = 0;
          for (std::int64_t d = 0; d < x.depth; ++d)
            sum += element(x, i * x.row_stride + d * x.depth_stride) *
                   element(y, j * y.row_stride + d * y.depth_stride);
          if (p.bias.data != nullptr) sum += element_as_double(p.bias, j);
          out[batch.out + i * p.out_x_stride + j * p.out_y_stride] =
              saturate_to_integer<std::int32_t>(sum);
        }
    });
  }
}

}  // namespace

void multiply_batches(BatchedProduct product, ThreadPool& threads) {
  if (product.out.size() == 0) return;
  if (product.out.dtype == DType::kInt32) {
    const bool is_all_int = product.x.dtype == product.y.dtype;
    return is_all_int ? multiply_ints(product, threads) : multiply_mixed(product, threads);
  }
  multiply_floats(std::move(product), threads);
}

}  // namespace anemone::kernels::reference
