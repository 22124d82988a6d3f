// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/projection_op.h"

#include <algorithm>
#include <array>

#include "exec/cpu/fusion/scratch.h"
#if defined(__x86_64__)
#include "kernels/simd/int8_gemv.h"
#include "kernels/simd/int8_split.h"
#endif

namespace anemone::exec {
namespace {

using kernels::simd::Kernels;
using kernels::simd::kGemvTokens;
namespace int8_split = kernels::simd::int8_split;

// Bytes of weights that one thread takes at a time: small enough to share the work evenly, large
// enough to read memory in long runs.
constexpr std::int64_t kGemvBytes = 64 << 10;
constexpr std::int64_t kPanelRows = 16;
// Columns of activations that are multiplied together: a multiple of the vector length of every
// instruction set.
constexpr std::int64_t kPanelColumns = 16;

thread_local Scratch scratch;

}  // namespace

Shape ProjectionOp::output_shape(const std::vector<const TensorView*>& inputs) const {
  Shape shape = inputs[0]->shape;
  shape[is_channel_major_ ? 1 : shape.size() - 1] = matrix_.rows;
  return shape;
}

Cost ProjectionOp::cost(const Shape& output, std::span<const Shape> /*states*/) const {
  return {weight_bytes(), 2 * matrix_.columns * element_count(output), matrix_.form_name()};
}

std::int64_t ProjectionOp::weight_bytes() const {
  return matrix_.size_bytes() + (bias_ == nullptr ? 0 : matrix_.rows * std::int64_t{sizeof(Half)});
}

ProjectionOp::Segments ProjectionOp::segments_of(std::span<FusedCall> calls) const {
  Segments segments;
  std::int64_t first = 0;
  for (FusedCall& call : calls) {
    Segment& s = segments.emplace_back();
    s.x = call.inputs[0]->as<Half>().data();
    s.y = call.outputs[0].as<Half>().data();
    s.tokens = call.inputs[0]->size() / matrix_.columns;
    s.first = first;
    first += s.tokens;
    (is_channel_major_ ? s.x_channel : s.x_token) = is_channel_major_ ? s.tokens : matrix_.columns;
    (is_channel_major_ ? s.y_channel : s.y_token) = is_channel_major_ ? s.tokens : matrix_.rows;
  }
  return segments;
}

Status ProjectionOp::run(std::span<FusedCall> calls, const FusedContext& context) const {
  const Segments segments = segments_of(calls);
  const std::int64_t tokens = segments.back().first + segments.back().tokens;
  if (tokens == 0) return {};
  // The tokens of one call decide, so that a call gives the same bits whatever is batched with it.
  run_segments(segments, tokens, segments.front().tokens <= kGemvTokens, context);
  return {};
}

void ProjectionOp::multiply(std::span<const Token> tokens, std::int64_t tokens_of_a_call,
                            const FusedContext& context) const {
  Segments segments;
  for (const Token& token : tokens)
    segments.push_back({.x = token.x,
                        .y = token.y,
                        .tokens = 1,
                        .first = static_cast<std::int64_t>(segments.size())});
  run_segments(segments, static_cast<std::int64_t>(tokens.size()), tokens_of_a_call <= kGemvTokens,
               context);
}

void ProjectionOp::run_segments(const Segments& segments, std::int64_t tokens, bool is_gemv,
                                const FusedContext& context) const {
#if defined(__x86_64__)
  // A few tokens go through fp16 weights at the speed of memory without parts.
  const bool is_half = matrix_.form == kernels::simd::Matrix::Form::kHalf;
  const int8_split::BlockProducts* products = int8_split::block_products_of(context.isa);
  if (products != nullptr && int8_split::takes(matrix_) && !(is_half && is_gemv)) {
    if (tokens <= products->gemv_columns)
      run_few(segments, tokens, *products, context);
    else
      run_blocks(segments, tokens, *products, context);
    return;
  }
#endif
  if (is_gemv)
    run_gemv(segments, tokens, context);
  else
    run_panels(segments, tokens, context);
}

void ProjectionOp::store_row(std::int64_t r, float* values, std::int64_t first, std::int64_t count,
                             const Segments& segments, const FusedContext& context) const {
  if (bias_ != nullptr) {
    const float bias = to_float(bias_[r]);
    for (std::int64_t i = 0; i < count; ++i) values[i] += bias;
  }
  for (const Segment& s : segments) {
    const std::int64_t begin = std::max(first, s.first);
    const std::int64_t end = std::min(first + count, s.first + s.tokens);
    if (begin >= end) continue;
    Half* y = s.y + r * s.y_channel + (begin - s.first) * s.y_token;
    if (s.y_token == 1) {
      context.kernels.to_halves(values + (begin - first), y, end - begin);
      continue;
    }
    for (std::int64_t t = begin; t < end; ++t, y += s.y_token) *y = to_half(values[t - first]);
  }
}

void ProjectionOp::store_token(std::int64_t begin, std::int64_t rows, float* values,
                               const Segment& s, std::int64_t t,
                               const FusedContext& context) const {
  if (bias_ != nullptr)
    for (std::int64_t r = 0; r < rows; ++r) values[r] += to_float(bias_[begin + r]);
  Half* y = s.y + t * s.y_token + begin * s.y_channel;
  if (s.y_channel == 1)
    context.kernels.to_halves(values, y, rows);
  else
    for (std::int64_t r = 0; r < rows; ++r) y[r * s.y_channel] = to_half(values[r]);
}

// A few tokens a call: every weight is read from memory once, as it lies.
void ProjectionOp::run_gemv(const Segments& segments, std::int64_t tokens,
                            const FusedContext& context) const {
  const Kernels& k = context.kernels;
  const std::int64_t columns = matrix_.columns;
  // Each token's inputs as floats, in the order of the weights.
  std::vector<float> storage(static_cast<std::size_t>((tokens + 1) * columns));
  float* plain = storage.data() + tokens * columns;
  std::vector<const float*> x;
  for (const Segment& s : segments)
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      const Half* in = s.x + t * s.x_token;
      if (s.x_channel == 1)
        k.to_floats(in, plain, columns);
      else
        for (std::int64_t c = 0; c < columns; ++c) plain[c] = to_float(in[c * s.x_channel]);
      float* ordered = storage.data() + (s.first + t) * columns;
      k.order_column(matrix_, plain, ordered);
      x.push_back(ordered);
    }
  const std::int64_t grain =
      std::clamp<std::int64_t>(kGemvBytes / matrix_.row_bytes() / 8 * 8, 8, 512);
  context.threads.parallel_for_runs(matrix_.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t rows = end - begin;
    float* out = scratch.take<float>(tokens * rows + columns);
    for (std::int64_t t = 0; t < tokens; t += kGemvTokens)
      k.gemv(matrix_, begin, end, x.data() + t,
             static_cast<int>(std::min<std::int64_t>(kGemvTokens, tokens - t)), out + t * rows,
             rows, out + tokens * rows);
    for (const Segment& s : segments)
      for (std::int64_t t = 0; t < s.tokens; ++t)
        store_token(begin, rows, out + (s.first + t) * rows, s, t, context);
  });
}

// Many tokens on any processor: rows become floats once and are multiplied with all columns.
void ProjectionOp::run_panels(const Segments& segments, std::int64_t tokens,
                              const FusedContext& context) const {
  const Kernels& k = context.kernels;
  const std::int64_t columns = matrix_.columns;
  // Whole vectors: a token's sum is made the same way wherever it stands.
  const std::int64_t width = (tokens + kPanelColumns - 1) / kPanelColumns * kPanelColumns;
  std::vector<float> x(static_cast<std::size_t>(columns * width));  // [columns, width]
  context.threads.parallel_for(columns, 64, [&](std::int64_t begin, std::int64_t end) {
    for (const Segment& s : segments)
      for (std::int64_t c = begin; c < end; ++c) {
        float* out = x.data() + c * width + s.first;
        const Half* in = s.x + c * s.x_channel;
        if (s.x_token == 1)
          k.to_floats(in, out, s.tokens);
        else
          for (std::int64_t t = 0; t < s.tokens; ++t) out[t] = to_float(in[t * s.x_token]);
      }
  });
  context.threads.parallel_for_runs(
      matrix_.rows, kPanelRows, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t rows = end - begin;
        float* panel = scratch.take<float>(rows * (columns + width));
        float* out = panel + rows * columns;
        k.expand(matrix_, begin, end, panel);
        std::fill(out, out + rows * width, 0.0f);
        k.multiply(panel, columns, rows, columns, x.data(), width, width, out, width);
        for (std::int64_t r = begin; r < end; ++r)
          store_row(r, out + (r - begin) * width, 0, tokens, segments, context);
      });
}

#if defined(__x86_64__)
// Multiplies few tokens, as in decoding: the weights are read once.
void ProjectionOp::run_few(const Segments& segments, std::int64_t tokens,
                           const int8_split::BlockProducts& products,
                           const FusedContext& context) const {
  const Half* x[int8_split::kGemvColumns] = {};
  for (const Segment& s : segments)
    for (std::int64_t t = 0; t < s.tokens; ++t) x[s.first + t] = s.x + t * s.x_token;
  Scratch shared;
  const int8_split::GemvColumns columns(
      matrix_, x, tokens, segments.front().x_channel,
      shared.take<std::byte>(int8_split::GemvColumns::storage_bytes(matrix_, tokens)));
  const std::int64_t scratch_bytes = int8_split::gemv_scratch_bytes(matrix_);
  const std::int64_t grain = int8_split::round_up(
      std::max<std::int64_t>(1, kGemvBytes / matrix_.row_bytes()), int8_split::kBlockRows);
  context.threads.parallel_for_runs(matrix_.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    auto* space = scratch.take<std::byte>(scratch_bytes);
    for (std::int64_t r0 = begin; r0 < end; r0 += int8_split::kBlockRows) {
      const std::int64_t rows = std::min(end - r0, int8_split::kBlockRows);
      float out[int8_split::kGemvColumns * int8_split::kBlockRows];
      int8_split::gemv(products, matrix_, r0, r0 + rows, columns, out, int8_split::kBlockRows,
                       space);
      for (const Segment& s : segments)
        for (std::int64_t t = 0; t < s.tokens; ++t)
          store_token(r0, rows, out + (s.first + t) * int8_split::kBlockRows, s, t, context);
    }
  });
}

// Many tokens in integers: int8 weights as they lie, by parts of the activations.
void ProjectionOp::run_blocks(const Segments& segments, std::int64_t tokens,
                              const int8_split::BlockProducts& products,
                              const FusedContext& context) const {
  // The parts of columns that stay in the second-level cache while the weights go by.
  constexpr std::int64_t kSplitBytes = 1 << 20;
  const std::int64_t columns = matrix_.columns;
  const std::int64_t block_bytes = int8_split::split_bytes(columns);
  const std::int64_t all_blocks = int8_split::blocks_of(tokens);
  const std::int64_t most_blocks = std::max<std::int64_t>(1, kSplitBytes / block_bytes);
  Scratch shared;
  const std::int64_t most = std::min(most_blocks, all_blocks);
  std::int8_t* column_parts = shared.take<std::int8_t>(
      most * (block_bytes + int8_split::kBlockColumns * static_cast<std::int64_t>(sizeof(float))));
  float* scales = reinterpret_cast<float*>(column_parts + most * block_bytes);
  const bool is_single = static_cast<std::int64_t>(segments.size()) == tokens;
  for (std::int64_t first_block = 0; first_block < all_blocks; first_block += most) {
    const std::int64_t blocks = std::min(most, all_blocks - first_block);
    const std::int64_t first = first_block * int8_split::kBlockColumns;
    const std::int64_t count = std::min(blocks * int8_split::kBlockColumns, tokens - first);
    context.threads.parallel_for(blocks, 1, [&](std::int64_t block, std::int64_t) {
      const Half* x[int8_split::kBlockColumns] = {};
      std::int64_t stride = 1;
      for (const Segment& s : segments)
        for (std::int64_t n = 0; n < int8_split::kBlockColumns; ++n) {
          const std::int64_t t = first + block * int8_split::kBlockColumns + n - s.first;
          if (t < 0 || t >= s.tokens) continue;
          x[n] = s.x + t * s.x_token;
          stride = s.x_channel;
        }
      int8_split::split_block(x, stride, columns, column_parts + block * block_bytes,
                              scales + block * int8_split::kBlockColumns);
    });
    const std::int64_t width = blocks * int8_split::kBlockColumns;
    const std::int64_t scratch_bytes = products.scratch_bytes(matrix_, count);
    context.threads.parallel_for_runs(
        matrix_.rows, int8_split::kBlockRows, [&](std::int64_t begin, std::int64_t end) {
          auto* padded =
              scratch.take<std::byte>(scratch_bytes + int8_split::kBlockRows * width *
                                                          static_cast<std::int64_t>(sizeof(float)));
          auto* out = reinterpret_cast<float*>(padded + scratch_bytes);
          products.multiply(matrix_, begin, end, column_parts, scales, count, out, width, padded);
          if (is_single) {
            // A row of the product is one value of each call: by columns they lie side by side.
            float column[int8_split::kBlockRows];
            for (std::int64_t t = first; t < first + count; ++t) {
              for (std::int64_t r = 0; r < end - begin; ++r) column[r] = out[r * width + t - first];
              store_token(begin, end - begin, column, segments[static_cast<std::size_t>(t)], 0,
                          context);
            }
            return;
          }
          for (std::int64_t r = begin; r < end; ++r)
            store_row(r, out + (r - begin) * width, first, count, segments, context);
        });
  }
}
#endif

}  // namespace anemone::exec
