// SPDX-License-Identifier: Apache-2.0
// Everything of a layer besides products with weights, over the vectors of one instruction set.
#pragma once

#include <cmath>

#include "kernels/simd/kernels.h"
#include "kernels/simd/matrix_kernels.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Calls body(offset, is_whole) for each vector; the last, short one goes through buffers.
template <typename Body>
void for_each_vector(const Half* a, const Half* b, Half* out, std::int64_t count, Body body) {
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth)
    store_halves(out + i, body(load_halves(a + i), load_halves(b + i)));
  if (i == count) return;
  const auto rest = static_cast<std::size_t>(count - i);
  Half tail_a[kWidth] = {};
  Half tail_b[kWidth] = {};
  Half tail_out[kWidth];
  std::memcpy(tail_a, a + i, rest * sizeof(Half));
  std::memcpy(tail_b, b + i, rest * sizeof(Half));
  store_halves(tail_out, body(load_halves(tail_a), load_halves(tail_b)));
  std::memcpy(out + i, tail_out, rest * sizeof(Half));
}

inline void add(const Half* a, const Half* b, Half* out, std::int64_t count) {
  for_each_vector(a, b, out, count, [](Floats x, Floats y) { return x + y; });
}

inline void silu_multiply(const Half* a, const Half* b, Half* out, std::int64_t count) {
  for_each_vector(a, b, out, count, [](Floats x, Floats y) { return x / (exp(-x) + 1.0f) * y; });
}

inline void rms_norm_rows(const Half* x, const Half* weight, float eps, std::int64_t channels,
                          std::int64_t rows, Half* y) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, y += channels) {
    Floats squares{};
    std::int64_t c = 0;
    for (; c + kWidth <= channels; c += kWidth) {
      const Floats v = load_halves(x + c);
      squares = fma(v, v, squares);
    }
    float total = sum(squares);
    for (std::int64_t i = c; i < channels; ++i) total += to_float(x[i]) * to_float(x[i]);
    const float factor = 1.0f / std::sqrt(total / static_cast<float>(channels) + eps);
    for (c = 0; c + kWidth <= channels; c += kWidth)
      store_halves(y + c, load_halves(x + c) * factor * load_halves(weight + c));
    for (; c < channels; ++c) y[c] = to_half(to_float(x[c]) * factor * to_float(weight[c]));
  }
}

// Columns are neighbours: a vector holds as many of them.
inline void rms_norm(const Half* x, const Half* weight, float eps, std::int64_t channels,
                     std::int64_t stride, std::int64_t count, Half* y) {
  if (stride == 1 && count == 1) return rms_norm_rows(x, weight, eps, channels, 1, y);
  std::int64_t t = 0;
  for (; t + kWidth <= count; t += kWidth) {
    Floats squares{};
    for (std::int64_t c = 0; c < channels; ++c) {
      const Floats v = load_halves(x + c * stride + t);
      squares = fma(v, v, squares);
    }
    Floats factor{};
    for (int i = 0; i < kWidth; ++i)
      factor[i] = 1.0f / std::sqrt(squares[i] / static_cast<float>(channels) + eps);
    for (std::int64_t c = 0; c < channels; ++c)
      store_halves(y + c * stride + t,
                   load_halves(x + c * stride + t) * factor * to_float(weight[c]));
  }
  for (; t < count; ++t) {
    float total = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      const float v = to_float(x[c * stride + t]);
      total += v * v;
    }
    const float factor = 1.0f / std::sqrt(total / static_cast<float>(channels) + eps);
    for (std::int64_t c = 0; c < channels; ++c)
      y[c * stride + t] = to_half(to_float(x[c * stride + t]) * factor * to_float(weight[c]));
  }
}

inline void rotate(const Half* x, const Half* cos, const Half* sin, std::int64_t half, Half* y) {
  std::int64_t i = 0;
  for (; i + kWidth <= half; i += kWidth) {
    const Floats a = load_halves(x + i);
    const Floats b = load_halves(x + half + i);
    const Floats c = load_halves(cos + i);
    const Floats s = load_halves(sin + i);
    store_halves(y + i, a * c - b * s);
    store_halves(y + half + i, b * c + a * s);
  }
  for (; i < half; ++i) {
    const float a = to_float(x[i]);
    const float b = to_float(x[half + i]);
    const float c = to_float(cos[i]);
    const float s = to_float(sin[i]);
    y[i] = to_half(a * c - b * s);
    y[half + i] = to_half(b * c + a * s);
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
