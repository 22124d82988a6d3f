// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions along one axis, over the vectors of one instruction set, each of which
// holds neighbouring outputs of a channel.
#pragma once

#include "kernels/simd/kernels.h"
#include "kernels/simd/unroll.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// out[t] = sum over k < `size` <= most of x[t + k] * taps[k] + bias, in the order of the reference
// product: each term has a sum of its own, which begins as 0, and these are added in halves onto
// each other. Reads and writes up to a vector beyond `count` outputs.
template <int most>
inline void conv_row(const float* x, const float* taps, int size, float bias, std::int64_t count,
                     float* out) {
  for (std::int64_t t = 0; t < count; t += kWidth) {
    Floats sums[most] = {};
    unroll<most>([&](auto k) __attribute__((always_inline)) {
      if (k < size) sums[k] += load(x + t + k) * taps[k];
    });
    // No sum is -0, so that nothing changes where there is no term to add.
    for (int half = most / 2; half > 0; half /= 2)
      for (int k = 0; k < half; ++k) sums[k] += sums[k + half];
    store(out + t, sums[0] + bias);
  }
}

inline void depthwise_conv(const DepthwiseConv& conv, std::int64_t begin, std::int64_t end,
                           float* scratch) {
  const std::int64_t channels = end - begin;
  const std::int64_t outputs = conv.outputs();
  const std::int64_t read = channels * conv.positions;
  float* x = scratch;
  float* out = x + read + kWidth;
  to_floats(conv.x + begin * conv.positions, x, read);
  store(x + read, Floats{});
  const auto size = static_cast<int>(conv.taps);
  for (std::int64_t c = 0; c < channels; ++c) {
    const float* taps = conv.weight + (begin + c) * conv.taps;
    const float* row = x + c * conv.positions;
    float* to = out + c * outputs;
    if (size <= 4)
      conv_row<4>(row, taps, size, conv.bias[begin + c], outputs, to);
    else
      conv_row<kMaxTaps>(row, taps, size, conv.bias[begin + c], outputs, to);
  }
  to_halves(out, conv.out + begin * outputs, channels * outputs);
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
