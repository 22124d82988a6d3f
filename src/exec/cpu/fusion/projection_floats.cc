// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "exec/cpu/fusion/projection_run.h"
#include "exec/cpu/fusion/scratch.h"

namespace anemone::exec {
namespace {

using kernels::simd::Kernels;
using kernels::simd::kGemvTokens;
using kernels::simd::Matrix;

constexpr std::int64_t kPanelRows = 16;
// Tokens that are multiplied together: a multiple of every set's vectors.
constexpr std::int64_t kPanelTokens = 16;

thread_local Scratch float_scratch;

}  // namespace

void multiply_few_floats(const ProjectionRun& run) {
  const Kernels& kernels = run.context.kernels;
  const Matrix& matrix = run.matrix;
  const std::int64_t tokens = run.tokens;
  const std::int64_t channels = matrix.k;
  // Each token's inputs as floats, in the order of the weights.
  std::vector<float> storage(static_cast<std::size_t>((tokens + 1) * channels));
  float* plain = storage.data() + tokens * channels;
  std::vector<const float*> x;
  for (const ProjectionSegment& s : run.segments)
    for (std::int64_t t = 0; t < s.tokens; ++t) {
      const Half* in = s.x + t * s.x_token;
      if (s.x_channel == 1)
        kernels.to_floats(in, plain, channels);
      else
        for (std::int64_t c = 0; c < channels; ++c) plain[c] = to_float(in[c * s.x_channel]);
      float* ordered = storage.data() + (s.first + t) * channels;
      kernels.order_column(matrix, plain, ordered);
      x.push_back(ordered);
    }
  const std::int64_t grain =
      std::clamp<std::int64_t>(kGemvBytes / matrix.row_bytes() / 8 * 8, 8, 512);
  run.context.threads.parallel_for_runs(
      matrix.rows, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t rows = end - begin;
        float* out = float_scratch.take<float>(tokens * rows + channels);
        for (std::int64_t t = 0; t < tokens; t += kGemvTokens)
          kernels.gemv(matrix, begin, end, x.data() + t,
                       static_cast<int>(std::min<std::int64_t>(kGemvTokens, tokens - t)),
                       out + t * rows, rows, out + tokens * rows);
        for (const ProjectionSegment& s : run.segments)
          for (std::int64_t t = 0; t < s.tokens; ++t)
            run.store_token(begin, rows, out + (s.first + t) * rows, s, t);
      });
}

// Rows become floats once and are multiplied with all tokens.
void multiply_many_floats(const ProjectionRun& run) {
  const Kernels& kernels = run.context.kernels;
  const Matrix& matrix = run.matrix;
  const std::int64_t tokens = run.tokens;
  const std::int64_t channels = matrix.k;
  // Whole vectors: a token's sum is made the same way wherever it stands.
  const std::int64_t width = (tokens + kPanelTokens - 1) / kPanelTokens * kPanelTokens;
  std::vector<float> x(static_cast<std::size_t>(channels * width));  // [channels, width]
  run.context.threads.parallel_for(channels, 64, [&](std::int64_t begin, std::int64_t end) {
    for (const ProjectionSegment& s : run.segments)
      for (std::int64_t c = begin; c < end; ++c) {
        float* out = x.data() + c * width + s.first;
        const Half* in = s.x + c * s.x_channel;
        if (s.x_token == 1)
          kernels.to_floats(in, out, s.tokens);
        else
          for (std::int64_t t = 0; t < s.tokens; ++t) out[t] = to_float(in[t * s.x_token]);
      }
  });
  run.context.threads.parallel_for_runs(
      matrix.rows, kPanelRows, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t rows = end - begin;
        float* panel = float_scratch.take<float>(rows * (channels + width));
        float* out = panel + rows * channels;
        kernels.expand(matrix, begin, end, panel);
        std::fill(out, out + rows * width, 0.0f);
        kernels.multiply(panel, channels, rows, channels, x.data(), width, width, out, width);
        for (std::int64_t r = begin; r < end; ++r)
          run.store_row(r, out + (r - begin) * width, 0, tokens);
      });
}

}  // namespace anemone::exec
