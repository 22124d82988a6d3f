// SPDX-License-Identifier: Apache-2.0
// Elementwise sums and gated products, RMS norms and rotary embedding, over the vectors of one
// instruction set.
#pragma once

#include <cmath>

#include "kernels/simd/kernels.h"
#include "kernels/simd/shuffles.h"
#include "kernels/simd/unroll.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

inline void columns_to_halves(const float* in, std::int64_t stride, std::int64_t rows,
                              std::int64_t count, Half* const* out) {
  for (std::int64_t first = 0; first < count; first += kWidth) {
    const std::int64_t columns = count - first < kWidth ? count - first : kWidth;
    std::int64_t r = 0;
    for (; r + kWidth <= rows; r += kWidth) {
      Floats some[kWidth];
      unroll<kWidth>([&](auto i) __attribute__((always_inline)) {
        some[i] = load(in + (r + i) * stride + first);
      });
      transpose(some);
      unroll<kWidth>([&](auto i) __attribute__((always_inline)) {
        if (i < columns) store_halves(out[first + i] + r, some[i]);
      });
    }
    for (; r < rows; ++r)
      for (std::int64_t c = first; c < first + columns; ++c)
        out[c][r] = to_half(in[r * stride + c]);
  }
}

// out[i] = body(a[i], b[i]), a vector at a time. A last vector of fewer than kWidth elements is
// computed in buffers that are padded with zeros.
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

// 1 / root mean square, from the sum of squares.
inline float rms_factor(float squares, std::int64_t channels, float eps) {
  return 1.0f / std::sqrt(squares / static_cast<float>(channels) + eps);
}

// Both rms_norm_rows() and rms_norm() add the square of channel c to lane c % kWidth of one vector,
// and the lanes like sum(): a column gives the same bits in both.
inline void rms_norm_rows(const Half* x, const Half* weight, float eps, std::int64_t channels,
                          std::int64_t rows, Half* y) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, y += channels) {
    Floats squares{};
    for (std::int64_t c = 0; c < channels; c += kWidth) {
      const Floats v = load_some_halves(x + c, channels - c);
      squares = fma(v, v, squares);
    }
    const float factor = rms_factor(sum(squares), channels, eps);
    std::int64_t c = 0;
    for (; c + kWidth <= channels; c += kWidth)
      store_halves(y + c, load_halves(x + c) * factor * load_halves(weight + c));
    for (; c < channels; ++c) y[c] = to_half(to_float(x[c]) * factor * to_float(weight[c]));
  }
}

// RMS norm of the first min(count, kWidth) neighbouring columns: lane i of each vector belongs to
// column i.
inline void rms_norm_columns(const Half* x, const Half* weight, float eps, std::int64_t channels,
                             std::int64_t stride, std::int64_t count, Half* y) {
  Floats squares[kWidth] = {};
  std::int64_t c = 0;
  for (; c + kWidth <= channels; c += kWidth)
    unroll<kWidth>([&](auto i) __attribute__((always_inline)) {
      const Floats v = load_some_halves(x + (c + i) * stride, count);
      squares[i] = fma(v, v, squares[i]);
    });
  for (; c < channels; ++c) {
    const Floats v = load_some_halves(x + c * stride, count);
    squares[c % kWidth] = fma(v, v, squares[c % kWidth]);
  }
  for (int half = kWidth / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) squares[i] += squares[i + half];
  Floats factor{};
  for (int i = 0; i < kWidth; ++i) factor[i] = rms_factor(squares[0][i], channels, eps);
  for (c = 0; c < channels; ++c) {
    const Floats normed = load_some_halves(x + c * stride, count) * factor * to_float(weight[c]);
    store_some_halves(y + c * stride, normed, count);
  }
}

inline void rms_norm(const Half* x, const Half* weight, float eps, std::int64_t channels,
                     std::int64_t stride, std::int64_t count, Half* y) {
  if (stride == 1 && count == 1) return rms_norm_rows(x, weight, eps, channels, 1, y);
  for (std::int64_t t = 0; t < count; t += kWidth)
    rms_norm_columns(x + t, weight, eps, channels, stride, count - t, y + t);
}

inline void rotate(const Half* x, const RotaryTables& tables, std::int64_t half, Half* y) {
  std::int64_t i = 0;
  for (; i + kWidth <= half; i += kWidth) {
    const Floats a = load_halves(x + i);
    const Floats b = load_halves(x + half + i);
    store_halves(y + i, a * load_halves(tables.cos[0] + i) - b * load_halves(tables.sin[0] + i));
    store_halves(y + half + i,
                 b * load_halves(tables.cos[1] + i) + a * load_halves(tables.sin[1] + i));
  }
  for (; i < half; ++i) {
    const float a = to_float(x[i]);
    const float b = to_float(x[half + i]);
    y[i] = to_half(a * to_float(tables.cos[0][i]) - b * to_float(tables.sin[0][i]));
    y[half + i] = to_half(b * to_float(tables.cos[1][i]) + a * to_float(tables.sin[1][i]));
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
