// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "exec/cpu/fusion/projection_run.h"
#include "exec/cpu/fusion/scratch.h"

namespace anemone::exec {
namespace {

using kernels::simd::Kernels;
using kernels::simd::kFewColumns;
using kernels::simd::Matrix;

constexpr std::int64_t kPanelRows = 16;
// Tokens that one thread orders at a time: a multiple of every set's vectors.
constexpr std::int64_t kOrderedTokens = 16;

thread_local Scratch float_scratch;

}  // namespace

void multiply_floats(const ProjectionRun& run) {
  const Kernels& kernels = run.context.kernels;
  const Matrix& matrix = run.matrix;
  const std::int64_t tokens = run.tokens;
  const std::int64_t depth = kernels::simd::ordered_depth(matrix);
  // Each token's inputs as floats, in the order of the weights.
  std::vector<float> ordered(static_cast<std::size_t>(tokens * depth));
  std::vector<const float*> x;
  for (std::int64_t t = 0; t < tokens; ++t) x.push_back(ordered.data() + t * depth);
  const auto order = [&](const ProjectionSegment& s, std::int64_t begin, std::int64_t end) {
    kernels.order_columns(matrix, s.x + begin * s.x_token, s.x_channel, s.x_token, end - begin,
                          ordered.data() + (s.first + begin) * depth);
  };
  for (const ProjectionSegment& s : run.segments) {
    if (s.tokens <= kFewColumns)
      order(s, 0, s.tokens);
    else
      run.context.threads.parallel_for(
          s.tokens, kOrderedTokens,
          [&](std::int64_t begin, std::int64_t end) { order(s, begin, end); });
  }
  const bool is_few = tokens <= 2 * kFewColumns;
  const std::int64_t grain =
      is_few ? std::clamp<std::int64_t>(kGemvBytes / matrix.row_bytes() / 8 * 8, 8, 512)
             : kPanelRows;
  // A token's results lie side by side in y or those of a row do.
  const bool is_by_token = run.segments.front().y_channel == 1;
  run.context.threads.parallel_for_runs(
      matrix.rows, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t rows = end - begin;
        float* out =
            float_scratch.take<float>(tokens * rows + kernels::simd::multiply_scratch(matrix));
        kernels.multiply(matrix, begin, end, x.data(), static_cast<int>(tokens), out,
                         is_by_token ? 1 : tokens, is_by_token ? rows : 1, out + tokens * rows);
        run.subtract_offsets(begin, rows, 0, tokens, out, is_by_token ? 1 : tokens,
                             is_by_token ? rows : 1);
        if (!is_by_token) {
          for (std::int64_t r = begin; r < end; ++r)
            run.store_row(r, out + (r - begin) * tokens, 0, tokens);
          return;
        }
        for (const ProjectionSegment& s : run.segments)
          for (std::int64_t t = 0; t < s.tokens; ++t)
            run.store_token(begin, rows, out + (s.first + t) * rows, s, t);
      });
}

}  // namespace anemone::exec
