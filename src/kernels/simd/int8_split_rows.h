// SPDX-License-Identifier: Apache-2.0
// Rows of a weight matrix as int8 parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <immintrin.h>

#include "kernels/simd/int8_split.h"

namespace anemone::kernels::simd::int8_split {

// What RowBlock::scales() is to be multiplied with where sums of scale blocks are not of the high
// parts of weights.
inline constexpr float kBlockUnit = 1.0F / 128;

// Rows [begin, end) of a matrix that takes() accepts, at most kInt8BlockRows.
//
// Integers with one scale per row are one part, exactly. Every other form takes two: a weight is
// scale * (128 * high + low) with at most 127 * 128 steps each way, so the error is half of the
// row's largest weight / 16256. In scale blocks the block's scale is rounded, too: for int4 to half
// of the row's largest / 2032, and for int8 to half of the row's largest / 16256, at most another
// half step. That is about what the scale's own fp16 does, or less.
//
// int8 in scale blocks is one part, exactly, where the sum of each scale block is multiplied by its
// scale. A scale block's sum of products with a column, 128 * high + low, then becomes an integer
// number of steps: each is what one step of the column's parts by one step of the scale block with
// the largest scale gives, or a few of them in a row so deep that their sum would not fit 32 bits.
class RowBlock {
 public:
  // Which rows of a step are expanded, and where to.
  struct Part {
    std::int64_t step;
    std::int64_t begin;
    std::int64_t end;  // rows of the block
    std::int8_t* high;
    std::int8_t* low;
  };
  using ExpandPalettes = void (*)(const RowBlock& block, const Part& part);

  // `has_block_sums`: whether sums of scale blocks are multiplied by the scales. `scratch`:
  // row_scratch_bytes(), 64-byte aligned; lives as long as this.
  RowBlock(const Matrix& matrix, std::int64_t begin, std::int64_t end, bool has_block_sums,
           std::byte* scratch);

  bool has_low() const { return has_low_; }
  const std::byte* row(std::int64_t r) const { return matrix_.row(begin_ + r); }
  const Matrix& matrix() const { return matrix_; }
  // One part that can be read where it lies: row r at in_place() + r * k.
  const std::byte* in_place() const { return in_place_; }
  // What a sum of one part, or of 128 * high + low, is to be multiplied with; [kInt8BlockRows].
  const float* scales() const { return scales_; }
  // What an element of fp16 is multiplied with to be 128 * high + low.
  float inverse_scale(std::int64_t r) const { return scales_[r] == 0 ? 0 : 128 / scales_[r]; }
  // The table of row r of a palette: the parts of its entries as PositiveParts has them, all high
  // ones, then all low ones. 16 entries stand there four times.
  const std::uint8_t* table(std::int64_t r) const { return tables_[r]; }
  // Two parts of integers in scale blocks: what row r's integers are to be multiplied with, one for
  // each sum_depth() elements, as many as whole steps of 128 elements need. 128 times as much for
  // int8.
  const std::int16_t* multipliers(std::int64_t r) const {
    return multipliers_ + r * multipliers_per_row_;
  }
  // One part of int8 in scale blocks: what the sums of products with row r's integers are to be
  // multiplied with, one for each sum_depth() elements; zeros after them, up to a multiple of
  // sixteen.
  const float* factors(std::int64_t r) const { return factors_ + r * factors_per_row_; }
  // The parts of elements [64 * step, 64 * step + 64) of a row as [count][64] each, 64-byte
  // aligned: those of rows [first, first + count) of the block. What lies outside the matrix is
  // left alone or meets zeros of the activations. `low` is used if has_low(). `expand_palettes`:
  // what does so for palettes of 64 and 256 entries (int8_palettes.h).
  void expand(std::int64_t step, std::int64_t first, std::int64_t count, std::int8_t* high,
              std::int8_t* low, ExpandPalettes expand_palettes) const;
  // int4 instead as what its integers are, plus 8.
  void expand_shifted(std::int64_t step, std::int64_t first, std::int64_t count,
                      std::int8_t* out) const;

 private:
  void prepare_row_scales();
  void prepare_palettes(std::byte* scratch);
  void prepare_halves();
  void prepare_factors(float steps, std::byte* scratch);
  void prepare_multipliers(float steps, float divisor, std::byte* scratch);

  void expand_nibbles(const Part& part) const;
  void expand_halves(const Part& part) const;
  void expand_int8_blocks(const Part& part) const;
  void expand_int4_blocks(const Part& part) const;

  const Matrix& matrix_;
  const std::int64_t begin_;
  const std::int64_t rows_;
  bool has_low_ = true;
  const std::byte* in_place_ = nullptr;
  const std::uint8_t* tables_[kInt8BlockRows] = {};
  const float* factors_ = nullptr;
  std::int64_t factors_per_row_ = 0;
  const std::int16_t* multipliers_ = nullptr;
  std::int64_t multipliers_per_row_ = 0;
  alignas(64) float scales_[kInt8BlockRows] = {};
};

// Prefetches the block of rows after this one, which is one run of memory, while this one is
// multiplied.
class Ahead {
 public:
  Ahead() = default;  // prefetches nothing
  // `count`: calls of fetch() to come.
  Ahead(const Matrix& matrix, std::int64_t begin, std::int64_t count)
      : at_(matrix.row(at_most_rows(matrix, begin + kInt8BlockRows))),
        end_(matrix.row(at_most_rows(matrix, begin + 2 * kInt8BlockRows))),
        lines_((kInt8BlockRows * matrix.row_bytes() / 64 + count - 1) / count) {}
  void fetch() {
    for (std::int64_t line = 0; line < lines_ && at_ < end_; ++line, at_ += 64)
      _mm_prefetch(reinterpret_cast<const char*>(at_), _MM_HINT_T1);
  }

 private:
  static std::int64_t at_most_rows(const Matrix& matrix, std::int64_t row) {
    return row < matrix.rows ? row : matrix.rows;
  }

  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  std::int64_t lines_ = 0;
};

// Bytes of scratch that a RowBlock of the matrix needs.
std::int64_t row_scratch_bytes(const Matrix& matrix);

}  // namespace anemone::kernels::simd::int8_split
