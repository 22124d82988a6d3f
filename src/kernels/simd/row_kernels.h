// SPDX-License-Identifier: Apache-2.0
// Layer norm and softmax of rows, over the vectors of one instruction set.
#pragma once

#include <cmath>

#include "kernels/simd/functions.h"
#include "kernels/simd/kernels.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

inline void layer_norm_rows(const Half* x, const float* gamma, const float* beta, float eps,
                            std::int64_t channels, std::int64_t rows, Half* y) {
  const auto n = static_cast<float>(channels);
  for (std::int64_t r = 0; r < rows; ++r, x += channels, y += channels) {
    Floats sums{};
    std::int64_t c = 0;
    for (; c + kWidth <= channels; c += kWidth) sums += load_halves(x + c);
    float total = sum(sums);
    for (; c < channels; ++c) total += to_float(x[c]);
    const float mean = total / n;
    // Squares of differences, not the difference of squares: that would cancel where the mean is
    // large.
    Floats squares{};
    for (c = 0; c + kWidth <= channels; c += kWidth) {
      const Floats d = load_halves(x + c) - mean;
      squares = fma(d, d, squares);
    }
    total = sum(squares);
    for (; c < channels; ++c) total += (to_float(x[c]) - mean) * (to_float(x[c]) - mean);
    const float factor = 1.0f / std::sqrt(total / n + eps);
    for (c = 0; c + kWidth <= channels; c += kWidth) {
      const Floats normed = (load_halves(x + c) - mean) * factor;
      store_halves(y + c, fma(normed, load(gamma + c), load(beta + c)));
    }
    for (; c < channels; ++c) y[c] = to_half((to_float(x[c]) - mean) * factor * gamma[c] + beta[c]);
  }
}

inline void softmax_rows(const Half* x, std::int64_t channels, std::int64_t rows, Half* y,
                         float* scratch) {
  const std::int64_t padded = (channels + kWidth - 1) / kWidth * kWidth;
  for (std::int64_t r = 0; r < rows; ++r, x += channels, y += channels) {
    to_floats(x, scratch, channels);
    // Weigh nothing.
    for (std::int64_t c = channels; c < padded; ++c) scratch[c] = -kInfinity;
    Floats tops = load(scratch);
    for (std::int64_t c = kWidth; c < padded; c += kWidth) tops = max(tops, load(scratch + c));
    const float top = highest(tops);
    Floats sums{};
    for (std::int64_t c = 0; c < padded; c += kWidth) {
      const Floats e = unbounded_exp(load(scratch + c) - top);
      store(scratch + c, e);
      sums += e;
    }
    const float inverse = 1.0f / sum(sums);
    std::int64_t c = 0;
    for (; c + kWidth <= channels; c += kWidth) store_halves(y + c, load(scratch + c) * inverse);
    for (; c < channels; ++c) y[c] = to_half(scratch[c] * inverse);
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
