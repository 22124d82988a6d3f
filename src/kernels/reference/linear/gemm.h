// SPDX-License-Identifier: Apache-2.0
// The matrix product under conv, linear, matmul and einsum: many dot products over the canonical
// order of dot.h, on matrices that lie anywhere in a tensor. The elements are fp16 or fp32, or
// int32 where a constant is; sums are fp32 and each output is rounded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "tensor/dtype.h"

namespace anemone::kernels::reference {

// Element (r, d) is at data + (r * row_stride + d * depth_stride) elements. Does not own.
struct MatrixView {
  DType dtype = DType::kFp32;
  const std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t depth = 0;  // the contraction axis
  std::int64_t row_stride = 0;
  std::int64_t depth_stride = 1;
};

// Rows [begin, end) as fp32, [end - begin, depth] contiguous.
void pack_rows(const MatrixView& matrix, std::int64_t begin, std::int64_t end, float* out);

// Several matrices of one size as fp32, each [rows, depth] contiguous; keeps no copy where the
// elements already lie that way.
class PackedMatrices {
 public:
  PackedMatrices(std::span<const MatrixView> matrices, ThreadPool& threads);
  const float* operator[](std::size_t i) const { return pointers_[i]; }

 private:
  std::vector<float> storage_;
  std::vector<const float*> pointers_;
};

// out(l, r) = dot(left row l, right row r) + bias[r]. `left` is read once for each block of right
// rows and should be the smaller side; `right` is converted block by block, so that a big fp16
// weight is never held as fp32.
struct MatrixProduct {
  const float* left = nullptr;  // [left_rows, right.depth] contiguous
  std::int64_t left_rows = 0;
  MatrixView right;
  const float* bias = nullptr;       // [right.rows] or none
  std::byte* out = nullptr;          // element (0, 0)
  std::int64_t out_left_stride = 0;  // in elements
  std::int64_t out_right_stride = 0;
};

// All products have the same sizes and write distinct elements of one output of type `out_dtype`.
void multiply(std::span<const MatrixProduct> products, DType out_dtype, ThreadPool& threads);

}  // namespace anemone::kernels::reference
