// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "exec/cpu/fusion/fused_op.h"
#include "kernels/simd/int8_split.h"
#include "kernels/simd/matrix.h"

namespace anemone::exec {

// Activations by a weight matrix. Input: x [1, columns, T, 1] with the channels outermost, or
// [..., columns] with them innermost; output the same with `rows` channels. The columns of all
// calls are multiplied together.
class ProjectionOp : public FusedOp {
 public:
  ProjectionOp(const kernels::simd::Matrix& matrix, const Half* bias, bool is_channel_major)
      : matrix_(matrix), bias_(bias), is_channel_major_(is_channel_major) {}

  std::string_view name() const override { return "projection"; }
  Shape output_shape(const std::vector<const TensorView*>& inputs) const override;
  Cost cost(const Shape& output, std::span<const Shape> states) const override;
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override;

  const kernels::simd::Matrix& matrix() const { return matrix_; }
  std::int64_t weight_bytes() const;

  // One token, whose channels lie side by side.
  struct Token {
    const Half* x = nullptr;
    Half* y = nullptr;
  };
  // The product for tokens that lie anywhere, each of them to the same bits in any company. A call
  // of so many tokens would have run them.
  void multiply(std::span<const Token> tokens, std::int64_t tokens_of_a_call,
                const FusedContext& context) const;

 private:
  // The tokens of one call: element (c, t) of x at x[c * channel_stride + t * token_stride].
  struct Segment {
    const Half* x = nullptr;
    Half* y = nullptr;
    std::int64_t tokens = 0;
    std::int64_t first = 0;  // its first token among those of all calls
    std::int64_t x_channel = 1, x_token = 1;
    std::int64_t y_channel = 1, y_token = 1;
  };
  using Segments = std::vector<Segment>;

  Segments segments_of(std::span<FusedCall> calls) const;
  void run_segments(const Segments& segments, std::int64_t tokens, bool is_gemv,
                    const FusedContext& context) const;
  void run_gemv(const Segments& segments, std::int64_t tokens, const FusedContext& context) const;
  void run_panels(const Segments& segments, std::int64_t tokens, const FusedContext& context) const;
  void run_blocks(const Segments& segments, std::int64_t tokens,
                  const kernels::simd::int8_split::BlockProducts& products,
                  const FusedContext& context) const;
  void run_few(const Segments& segments, std::int64_t tokens,
               const kernels::simd::int8_split::BlockProducts& products,
               const FusedContext& context) const;
  // Adds the bias to row r of the product (one value a token, `values` is overwritten) and stores
  // it.
  void store_row(std::int64_t r, float* values, std::int64_t first, std::int64_t count,
                 const Segments& segments, const FusedContext& context) const;

  // store() for rows [begin, begin + rows) of one token of a segment.
  void store_token(std::int64_t begin, std::int64_t rows, float* values, const Segment& segment,
                   std::int64_t token, const FusedContext& context) const;

  const kernels::simd::Matrix matrix_;
  const Half* const bias_;
  const bool is_channel_major_;
};

}  // namespace anemone::exec
