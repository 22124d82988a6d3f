// SPDX-License-Identifier: Apache-2.0
// One run of a projection: the tokens of all its calls, and the two ways to multiply them with the
// weights. Used by ProjectionOp alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/cpu/fusion/fused_op.h"
#include "kernels/simd/int8_kernels.h"
#include "kernels/simd/matrix.h"

namespace anemone::exec {

// The tokens of one call: element (c, t) of x at x[c * x_channel + t * x_token], and of y likewise.
struct ProjectionSegment {
  const Half* x = nullptr;
  Half* y = nullptr;
  std::int64_t tokens = 0;
  std::int64_t first = 0;  // its first token among those of all calls
  std::int64_t x_channel = 1, x_token = 1;
  std::int64_t y_channel = 1, y_token = 1;
};

// Bytes of weights that a thread takes at a time where memory is read row after row: few enough to
// share the work evenly, enough to read memory in long runs.
inline constexpr std::int64_t kGemvBytes = 64 << 10;

struct ProjectionRun {
  const kernels::simd::Matrix& matrix;
  const Half* bias;  // [rows], nullptr: none
  std::span<const ProjectionSegment> segments;
  std::int64_t tokens;  // of all segments, > 0
  const FusedContext& context;
  // Of a matrix with offsets: the sums of each token's inputs for the scale blocks of a row,
  // [scale block, sums_stride], from set_block_sums().
  const float* block_sums = nullptr;
  std::int64_t sums_stride = 0;

  // Sums the inputs, in memory that has to outlive the run.
  void set_block_sums(std::vector<float>& memory);
  // Takes what offsets do from products of rows [begin, begin + rows) with the tokens [first, first
  // + count), which lie in `out` with these strides.
  void subtract_offsets(std::int64_t begin, std::int64_t rows, std::int64_t first,
                        std::int64_t count, float* out, std::int64_t row_stride,
                        std::int64_t token_stride) const;

  // Adds the bias to row r of the product and stores it: `values` are those of the tokens [first,
  // first + count), and are overwritten.
  void store_row(std::int64_t r, float* values, std::int64_t first, std::int64_t count) const;
  // Stores rows [begin, begin + rows) of the tokens [first, first + count), each of which is the
  // only one of its segment: values[r * stride + c], with whole vectors in each row, which are
  // overwritten.
  void store_columns(std::int64_t begin, std::int64_t rows, float* values, std::int64_t stride,
                     std::int64_t first, std::int64_t count) const;
  // Stores rows [begin, begin + rows) of token t of a segment.
  void store_token(std::int64_t begin, std::int64_t rows, float* values,
                   const ProjectionSegment& segment, std::int64_t t) const;
};

// Multiplies in floats, on any processor, any number of tokens.
void multiply_floats(const ProjectionRun& run);

// Multiplies in integers, any number of tokens; `kernels` must take the matrix.
void multiply_integers(const ProjectionRun& run, const kernels::simd::Int8Kernels& kernels);

}  // namespace anemone::exec
