// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/projection_run.h"

#include <algorithm>

#include "exec/cpu/fusion/scratch.h"

namespace anemone::exec {
namespace {

// Tokens whose inputs one thread sums at a time.
constexpr std::int64_t kSummedTokens = 16;

thread_local Scratch offset_scratch;

}  // namespace

void ProjectionRun::set_block_sums(std::vector<float>& memory) {
  using kernels::simd::kOffsetColumns;
  sums_stride = (tokens + kOffsetColumns - 1) / kOffsetColumns * kOffsetColumns;
  // Whole vectors are read from any token on.
  memory.resize(static_cast<std::size_t>(matrix.k / matrix.block_k * sums_stride + kOffsetColumns));
  block_sums = memory.data();
  for (const ProjectionSegment& s : segments)
    context.threads.parallel_for(
        s.tokens, kSummedTokens, [&](std::int64_t begin, std::int64_t end) {
          context.kernels.sum_scale_blocks(matrix, s.x + begin * s.x_token, s.x_channel, s.x_token,
                                           end - begin, memory.data() + s.first + begin,
                                           sums_stride);
        });
}

void ProjectionRun::subtract_offsets(std::int64_t begin, std::int64_t rows, std::int64_t first,
                                     std::int64_t count, float* out, std::int64_t row_stride,
                                     std::int64_t token_stride) const {
  if (block_sums == nullptr) return;
  context.kernels.subtract_offsets(
      matrix, begin, begin + rows, block_sums + first, sums_stride, count, out, row_stride,
      token_stride, offset_scratch.take<float>(kernels::simd::offset_scratch(matrix)));
}

void ProjectionRun::store_row(std::int64_t r, float* values, std::int64_t first,
                              std::int64_t count) const {
  if (bias != nullptr) {
    const float addend = to_float(bias[r]);
    for (std::int64_t i = 0; i < count; ++i) values[i] += addend;
  }
  for (const ProjectionSegment& s : segments) {
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

void ProjectionRun::store_token(std::int64_t begin, std::int64_t rows, float* values,
                                const ProjectionSegment& s, std::int64_t t) const {
  if (bias != nullptr)
    for (std::int64_t r = 0; r < rows; ++r) values[r] += to_float(bias[begin + r]);
  Half* y = s.y + t * s.y_token + begin * s.y_channel;
  if (s.y_channel == 1)
    context.kernels.to_halves(values, y, rows);
  else
    for (std::int64_t r = 0; r < rows; ++r) y[r * s.y_channel] = to_half(values[r]);
}

void ProjectionRun::store_columns(std::int64_t begin, std::int64_t rows, float* values,
                                  std::int64_t stride, std::int64_t first,
                                  std::int64_t count) const {
  if (bias != nullptr)
    for (std::int64_t r = 0; r < rows; ++r) {
      const float addend = to_float(bias[begin + r]);
      for (std::int64_t c = 0; c < count; ++c) values[r * stride + c] += addend;
    }
  constexpr std::int64_t kTogether = 16;
  for (std::int64_t c = 0; c < count; c += kTogether) {
    const std::int64_t some = std::min(kTogether, count - c);
    const ProjectionSegment* const columns = &segments[static_cast<std::size_t>(first + c)];
    if (columns->y_channel == 1) {
      Half* out[kTogether] = {};
      for (std::int64_t i = 0; i < some; ++i) out[i] = columns[i].y + begin;
      context.kernels.columns_to_halves(values + c, stride, rows, some, out);
      continue;
    }
    for (std::int64_t i = 0; i < some; ++i)
      for (std::int64_t r = 0; r < rows; ++r)
        columns[i].y[(begin + r) * columns[i].y_channel] = to_half(values[r * stride + c + i]);
  }
}

}  // namespace anemone::exec
