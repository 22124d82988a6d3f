// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/linear/gemm.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/reference/common/elements.h"
#include "kernels/reference/linear/dot.h"

namespace anemone::kernels::reference {
namespace {

// A block of right rows stays in the first-level cache when it is used once, in the second when
// many left rows pass over it.
constexpr std::int64_t kSmallBlockFloats = 4 * 1024;
constexpr std::int64_t kLargeBlockFloats = 16 * 1024;
constexpr std::int64_t kManyLeftRows = 8;
// A column of a row-major tensor is read a cache line at a time: 32 halves.
constexpr std::int64_t kStridedBlockRows = 32;
// Multiply-adds below which waking another thread costs more than it brings.
constexpr std::int64_t kGrainWork = 64 * 1024;

template <typename T>
void pack_typed(const MatrixView& m, std::int64_t begin, std::int64_t end, float* out) {
  const T* data = reinterpret_cast<const T*>(m.data);
  if (m.depth_stride == 1) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = data + r * m.row_stride;
      float* to = out + (r - begin) * m.depth;
      if constexpr (std::is_same_v<T, float>)
        std::copy(row, row + m.depth, to);
      else if constexpr (std::is_same_v<T, std::int32_t>)
        std::transform(row, row + m.depth, to, [](T value) { return static_cast<float>(value); });
      else
        to_floats(std::span(row, static_cast<std::size_t>(m.depth)),
                  std::span(to, static_cast<std::size_t>(m.depth)));
    }
    return;
  }
  for (std::int64_t d = 0; d < m.depth; ++d) {
    const T* column = data + d * m.depth_stride;
    for (std::int64_t r = begin; r < end; ++r)
      out[(r - begin) * m.depth + d] = static_cast<float>(load_element(column[r * m.row_stride]));
  }
}

bool is_packed(const MatrixView& m) {
  return m.dtype == DType::kFp32 && m.depth_stride == 1 && m.row_stride == m.depth;
}

std::int64_t block_rows(const MatrixProduct& product) {
  const MatrixView& right = product.right;
  const std::int64_t floats =
      product.left_rows >= kManyLeftRows ? kLargeBlockFloats : kSmallBlockFloats;
  const std::int64_t least = right.depth_stride == 1 ? 4 : kStridedBlockRows;
  const std::int64_t rows = floats / std::max<std::int64_t>(1, right.depth) / 4 * 4;
  return std::min(std::max(rows, least), std::max<std::int64_t>(1, right.rows));
}

// Right rows [begin, begin + count), given as fp32 in `rows`, against all left rows.
template <typename T>
void multiply_block(const MatrixProduct& p, const float* rows, std::int64_t begin,
                    std::int64_t count) {
  const std::int64_t depth = p.right.depth;
  for (std::int64_t l = 0; l < p.left_rows; ++l) {
    const float* left = p.left + l * depth;
    T* out = reinterpret_cast<T*>(p.out) + l * p.out_left_stride;
    for (std::int64_t r = 0; r < count; r += 4) {
      const std::int64_t n = std::min<std::int64_t>(4, count - r);
      float sums[4];
      if (n == 4) {
        dot4(rows + r * depth, left, depth, sums);
      } else {
        for (std::int64_t i = 0; i < n; ++i) sums[i] = dot(rows + (r + i) * depth, left, depth);
      }
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t row = begin + r + i;
        const float sum = p.bias == nullptr ? sums[i] : sums[i] + p.bias[row];
        out[row * p.out_right_stride] = store_element<T>(sum);
      }
    }
  }
}

}  // namespace

void pack_rows(const MatrixView& matrix, std::int64_t begin, std::int64_t end, float* out) {
  if (matrix.dtype == DType::kFp16) return pack_typed<Half>(matrix, begin, end, out);
  if (matrix.dtype == DType::kInt32) return pack_typed<std::int32_t>(matrix, begin, end, out);
  ANEMONE_CHECK(matrix.dtype == DType::kFp32);
  pack_typed<float>(matrix, begin, end, out);
}

PackedMatrices::PackedMatrices(std::span<const MatrixView> matrices, ThreadPool& threads) {
  if (matrices.empty()) return;
  const std::int64_t rows = matrices[0].rows;
  const std::int64_t depth = matrices[0].depth;
  if (std::all_of(matrices.begin(), matrices.end(), is_packed)) {
    for (const MatrixView& m : matrices)
      pointers_.push_back(reinterpret_cast<const float*>(m.data));
    return;
  }
  const auto count = static_cast<std::int64_t>(matrices.size());
  storage_.resize(static_cast<std::size_t>(count * rows * depth));
  for (std::int64_t i = 0; i < count; ++i) pointers_.push_back(storage_.data() + i * rows * depth);
  const std::int64_t blocks = (rows + kStridedBlockRows - 1) / kStridedBlockRows;
  const std::int64_t work = kStridedBlockRows * std::max<std::int64_t>(1, depth);
  threads.parallel_for(count * blocks, kGrainWork / work,
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t t = begin; t < end; ++t) {
                           const std::int64_t i = t / blocks;
                           const std::int64_t first = t % blocks * kStridedBlockRows;
                           const std::int64_t last = std::min(rows, first + kStridedBlockRows);
                           pack_rows(matrices[static_cast<std::size_t>(i)], first, last,
                                     storage_.data() + (i * rows + first) * depth);
                         }
                       });
}

void multiply(std::span<const MatrixProduct> products, DType out_dtype, ThreadPool& threads) {
  if (products.empty()) return;
  const MatrixProduct& first = products[0];
  const std::int64_t depth = first.right.depth;
  const std::int64_t rows = first.right.rows;
  const std::int64_t block = block_rows(first);
  const std::int64_t blocks = (rows + block - 1) / block;
  // Converting a right element costs about as much as four multiply-adds.
  const std::int64_t work = block * std::max<std::int64_t>(1, depth) * (first.left_rows + 4);
  const auto count = static_cast<std::int64_t>(products.size());
  threads.parallel_for(
      count * blocks, kGrainWork / work, [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> scratch;
        for (std::int64_t t = begin; t < end; ++t) {
          const MatrixProduct& p = products[static_cast<std::size_t>(t / blocks)];
          const std::int64_t first_row = t % blocks * block;
          const std::int64_t last_row = std::min(rows, first_row + block);
          const float* packed;
          if (is_packed(p.right)) {
            packed = reinterpret_cast<const float*>(p.right.data) + first_row * depth;
          } else {
            scratch.resize(static_cast<std::size_t>(block * depth));
            pack_rows(p.right, first_row, last_row, scratch.data());
            packed = scratch.data();
          }
          if (out_dtype == DType::kFp16)
            multiply_block<Half>(p, packed, first_row, last_row - first_row);
          else
            multiply_block<float>(p, packed, first_row, last_row - first_row);
        }
      });
}

}  // namespace anemone::kernels::reference
