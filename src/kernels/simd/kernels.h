// SPDX-License-Identifier: Apache-2.0
// The fast kernels of one instruction set: pure functions over arrays, without threads of their
// own. Every one works in fp32 and rounds to fp16 at the end. Results differ between instruction
// sets by the order of sums, and by what integers (projections and attention with VNNI) and two
// numbers of bf16 (attention with AMX) leave of a float.
#pragma once

#include <cstdint>

#include "kernels/simd/chain.h"
#include "kernels/simd/int8_kernels.h"
#include "kernels/simd/isa.h"
#include "kernels/simd/matrix.h"

namespace anemone::kernels::simd {

// What the query rows of an attention have in common: one key/value head, and the factor of their
// scores.
struct AttentionHead {
  const Half* keys = nullptr;    // [positions, dim]
  const Half* values = nullptr;  // [positions, dim]
  std::int64_t dim = 0;
  float factor = 1;
  // Query heads of the model that attend to the keys and values. It may decide how they are
  // computed, so it is the same in all calls over them.
  std::int64_t shared_by = 1;
};

// A query row, which attends to positions [begin, end).
struct AttentionRow {
  const Half* query = nullptr;  // [dim]
  Half* out = nullptr;          // [dim]
  std::int64_t begin = 0;
  std::int64_t end = 0;         // > begin
  const Half* bias = nullptr;   // added to the scores, from position 0 on; nullptr: nothing
  const float* sink = nullptr;  // one more score, which has no value; nullptr: none
};

// Cosines and sines of the first and of the second elements of pairs; mostly they are the same.
struct RotaryTables {
  const Half* cos[2];
  const Half* sin[2];
};

// One head of a gated delta net over T tokens, one after the other, with every value rounded to
// fp16:
//   S = decay * S;  S += key * (strength * (value - key S));  out = query S
struct DeltaNetHead {
  const Half* queries = nullptr;    // [T, key_dim]
  const Half* keys = nullptr;       // [T, key_dim]
  const Half* values = nullptr;     // [T, value_dim]
  const Half* strengths = nullptr;  // [T]
  const Half* decays = nullptr;     // [T]
  Half* state = nullptr;            // [key_dim, value_dim]; replaced by that after the tokens
  Half* out = nullptr;              // [T, value_dim]; may be `values`
  std::int64_t tokens = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
};
// Columns of a state, and so values of a token, that run_delta_net() takes at once: a line of the
// cache.
inline constexpr std::int64_t kDeltaNetColumns = 32;
// Tokens that run_delta_net_chunk() takes at most.
inline constexpr std::int64_t kDeltaNetChunk = 16;

// A convolution along one axis in which each channel has weights of its own, without borders.
struct DepthwiseConv {
  const Half* x = nullptr;        // [channels, positions]
  const float* weight = nullptr;  // [channels, taps]
  const float* bias = nullptr;    // [channels]
  Half* out = nullptr;            // [channels, outputs()]
  std::int64_t positions = 0;
  std::int64_t taps = 0;  // at most kMaxTaps and `positions`

  constexpr std::int64_t outputs() const { return positions - taps + 1; }
};
inline constexpr int kMaxTaps = 16;

struct Kernels {
  // Products in integers; nullptr: this set has none that are faster than those of floats.
  const Int8Kernels* int8 = nullptr;

  // out[i] = float(in[i]), and back with round to nearest even.
  void (*to_floats)(const Half* in, float* out, std::int64_t count);
  void (*to_halves)(const float* in, Half* out, std::int64_t count);
  // out[c][r] = in[r * stride + c] for `rows` rows and `count` columns; rows of `in` hold whole
  // vectors.
  void (*columns_to_halves)(const float* in, std::int64_t stride, std::int64_t rows,
                            std::int64_t count, Half* const* out);

  // Inputs of `multiply`: `count` columns of k channels each, fp16 with strides, as floats in the
  // order in which the form's elements come out of memory. `out` is [count, ordered_depth()].
  void (*order_columns)(const Matrix& matrix, const Half* x, std::int64_t channel_stride,
                        std::int64_t column_stride, std::int64_t count, float* out);
  // out[(r - begin) * row_stride + n * column_stride] = sum over k of matrix(r, k) * x[n][k], for
  // rows [begin, end) and n < count; x[n] as order_columns() leaves it. A column gives the same
  // bits whatever the number of columns and of rows. Up to 2 * kFewColumns columns need no panel of
  // floats, so that weights are read at the speed of memory. `scratch` holds multiply_scratch()
  // floats.
  void (*multiply)(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                   const float* const* x, int count, float* out, std::int64_t row_stride,
                   std::int64_t column_stride, float* scratch);

  // For matrices with offsets: out[b * ldo + n] = the sum of the inputs that column n has for scale
  // block b of a row, n < count; x is that of order_columns().
  void (*sum_scale_blocks)(const Matrix& matrix, const Half* x, std::int64_t channel_stride,
                           std::int64_t column_stride, std::int64_t count, float* out,
                           std::int64_t ldo);
  // Takes from products, which lie as those of multiply(), what the offsets do: for each scale
  // block scale * offset * sums[b * lds + n], added up in the order of the blocks. A column gives
  // the same bits in any company. `sums` has numbers up to a multiple of kOffsetColumns; `scratch`
  // holds offset_scratch() floats.
  void (*subtract_offsets)(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                           const float* sums, std::int64_t lds, std::int64_t count, float* out,
                           std::int64_t row_stride, std::int64_t column_stride, float* scratch);

  // y = x * rsqrt(mean(x^2) + eps) * weight, over `channels` of column t: element (c, t) lies at c
  // * stride + t. It does `count` neighbouring columns.
  void (*rms_norm)(const Half* x, const Half* weight, float eps, std::int64_t channels,
                   std::int64_t stride, std::int64_t count, Half* y);
  // rms_norm for channels of a row that lie together: y[r] of x[r], `rows` rows.
  void (*rms_norm_rows)(const Half* x, const Half* weight, float eps, std::int64_t channels,
                        std::int64_t rows, Half* y);
  // Up to silu_multiply, the output of these may be an input of the same size: elements are read
  // before they are written.
  // y = (x - mean) * rsqrt(variance + eps) * gamma + beta over each of `rows` rows.
  void (*layer_norm_rows)(const Half* x, const float* gamma, const float* beta, float eps,
                          std::int64_t channels, std::int64_t rows, Half* y);
  // y = softmax of each row. `scratch` holds softmax_scratch() floats.
  void (*softmax_rows)(const Half* x, std::int64_t channels, std::int64_t rows, Half* y,
                       float* scratch);
  // Elements [begin, end) of a chain's result; whole tensors are given.
  void (*run_chain)(const Chain& chain, const Half* const* inputs, std::int64_t begin,
                    std::int64_t end, Half* out);
  // out = a + b; out = silu(a) * b.
  void (*add)(const Half* a, const Half* b, Half* out, std::int64_t count);
  void (*silu_multiply)(const Half* a, const Half* b, Half* out, std::int64_t count);
  // Rotates pairs (j, j + half) of one row of 2 * half: (a cos - b sin, b cos + a sin), where the
  // tables are those of the row.
  void (*rotate)(const Half* x, const RotaryTables& tables, std::int64_t half, Half* y);

  // out = softmax(factor * query . keys + bias) @ values, for `count` rows. `scratch` holds
  // attend_scratch() floats. A row's result depends neither on the other rows nor on keys and
  // values that it does not attend to; with AMX it does where one of the rows attends to keys or
  // values that are not finite.
  void (*attend)(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                 float* scratch);
  // As many rows as attend() gains from at a time: it prepares keys and values once for all.
  std::int64_t attend_rows;

  // Columns [begin, end) of a head's state, at most kDeltaNetColumns, through all tokens. Gives the
  // bits of the operations one by one on every instruction set: products and sums are rounded by
  // themselves, in the order of the reference product (kernels/reference/linear/dot.h). `scratch`
  // holds delta_net_scratch() floats.
  void (*run_delta_net)(const DeltaNetHead& head, std::int64_t begin, std::int64_t end,
                        float* scratch);

  // The chunked form, for columns [begin, end) of a head's state and at most kDeltaNetChunk tokens:
  // products of matrices in fp32, of which the state and what is read are rounded to fp16 at the
  // end. So the result depends on where the chunk begins, and on the instruction set. `scratch`
  // holds delta_net_chunk_scratch() floats.
  void (*run_delta_net_chunk)(const DeltaNetHead& head, std::int64_t begin, std::int64_t end,
                              float* scratch);

  // Channels [begin, end), with the bits of the reference convolution on every instruction set.
  // `scratch` holds depthwise_conv_scratch() floats.
  void (*depthwise_conv)(const DepthwiseConv& conv, std::int64_t begin, std::int64_t end,
                         float* scratch);
};

inline constexpr int kFewColumns = 4;

// Columns whose offsets are taken from the products together.
inline constexpr std::int64_t kOffsetColumns = 64;
// The factors of four rows, in whole vectors.
inline std::int64_t offset_scratch(const Matrix& matrix) {
  return 4 * (matrix.k / matrix.block_k) + 16;
}

// Whole vectors of every instruction set.
inline std::int64_t ordered_depth(const Matrix& matrix) {
  return round_up(matrix.k, 16);
}
// Sixteen rows and their scales.
inline std::int64_t multiply_scratch(const Matrix& matrix) {
  return 16 * 2 * ordered_depth(matrix);
}

// Positions whose keys and values attend() prepares at a time, at most.
inline constexpr std::int64_t kAttendPositions = 128;
// For every instruction set: the queries in two forms, sums and states of the rows, in whole tiles;
// the keys and values of a block of positions; and scores and weights of two tiles of rows.
inline constexpr std::int64_t attend_scratch(std::int64_t rows, std::int64_t dim) {
  const std::int64_t depth = round_up(dim, 32);
  return round_up(rows, 32) * (3 * depth + 32) + 2 * kAttendPositions * (depth + 32) + 16;
}
// A row and what fills up its last vector.
inline constexpr std::int64_t softmax_scratch(std::int64_t channels) {
  return channels + 16;
}

// The columns, and the query and the key of a token.
inline constexpr std::int64_t delta_net_scratch(std::int64_t key_dim) {
  return key_dim * (kDeltaNetColumns + 2);
}
// The queries, the keys in two orders, and the columns of a vector.
inline constexpr std::int64_t delta_net_chunk_scratch(std::int64_t key_dim) {
  return key_dim * (3 * kDeltaNetChunk + 16);
}

// So many channels of the input and of the output, and what fills up their last vectors.
inline constexpr std::int64_t depthwise_conv_scratch(const DepthwiseConv& conv,
                                                     std::int64_t channels) {
  return channels * (conv.positions + conv.outputs()) + 2 * 16;
}

// The kernels of an instruction set that supported_isas() lists.
const Kernels& kernels_of(Isa isa);

}  // namespace anemone::kernels::simd
