// SPDX-License-Identifier: Apache-2.0
// Products with a weight matrix, over the vectors of one instruction set.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "kernels/simd/kernels.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// How the elements of a row come out of memory: kVectors vectors per step.
struct FloatRow {
  static constexpr int kVectors = 1;
  FloatRow(const Matrix& m, std::int64_t r) : data(reinterpret_cast<const float*>(m.row(r))) {}
  void read(std::int64_t step, Floats out[kVectors]) const { out[0] = load(data + step * kWidth); }
  const float* data;
};
struct HalfRow {
  static constexpr int kVectors = 1;
  HalfRow(const Matrix& m, std::int64_t r) : data(reinterpret_cast<const Half*>(m.row(r))) {}
  void read(std::int64_t step, Floats out[kVectors]) const {
    out[0] = load_halves(data + step * kWidth);
  }
  const Half* data;
};
struct Int8Row {
  static constexpr int kVectors = 1;
  Int8Row(const Matrix& m, std::int64_t r) : data(m.row(r)) {}
  void read(std::int64_t step, Floats out[kVectors]) const {
    out[0] = load_int8(data + step * kWidth);
  }
  const std::byte* data;
};
// Nibbles: even elements first, then odd ones.
struct Int4Row {
  static constexpr int kVectors = 2;
  Int4Row(const Matrix& m, std::int64_t r) : data(m.row(r)) {}
  void read(std::int64_t step, Floats out[kVectors]) const {
    const Ints pairs = load_nibbles(data + step * kWidth);
    out[0] = __builtin_convertvector((pairs << 28) >> 28, Floats);
    out[1] = __builtin_convertvector((pairs << 24) >> 28, Floats);
  }
  const std::byte* data;
};
struct Palette4Row {
  static constexpr int kVectors = 2;
  Palette4Row(const Matrix& m, std::int64_t r)
      : data(m.row(r)), palette(m.palette + (r / m.group << 4)) {}
  void read(std::int64_t step, Floats out[kVectors]) const {
    const Ints pairs = load_nibbles(data + step * kWidth);
    out[0] = palette.find(pairs);
    out[1] = palette.find(pairs >> 4);
  }
  const std::byte* data;
  Palette16 palette;
};

inline bool is_nibbles(const Matrix& m) {
  return m.bits == 4;
}

// Elements of a step of the form; 0 where the form has no steps or they do not fit: such rows are
// expanded.
inline std::int64_t step_elements(const Matrix& m) {
  if (m.form == Matrix::Form::kPalette && m.bits != 4) return 0;
  const std::int64_t step = is_nibbles(m) ? 2 * kWidth : kWidth;
  const bool is_scaled = m.form == Matrix::Form::kInt8 || m.form == Matrix::Form::kInt4;
  return m.k % step == 0 && (!is_scaled || m.tile_k % step == 0) ? step : 0;
}

inline void order_column(const Matrix& m, const float* in, float* out) {
  if (!is_nibbles(m) || step_elements(m) == 0) {
    std::memcpy(out, in, static_cast<std::size_t>(m.k) * sizeof(float));
    return;
  }
  for (std::int64_t c = 0; c < m.k; c += 2 * kWidth)
    for (int i = 0; i < kWidth; ++i) {
      out[c + i] = in[c + 2 * i];
      out[c + kWidth + i] = in[c + 2 * i + 1];
    }
}

// kRows rows by kColumns columns of x. Every sum goes over k in order, whatever runs beside it, so
// that a column of x gives the same bits alone and among others.
template <typename Row, int kColumns, int kRows>
void dot_rows(const Matrix& m, std::int64_t first, const float* const* x, float* out,
              std::int64_t out_stride) {
  constexpr int kVectors = Row::kVectors;
  const bool is_scaled = m.form == Matrix::Form::kInt8 || m.form == Matrix::Form::kInt4;
  const std::int64_t tile = is_scaled ? m.tile_k : m.k;
  const std::int64_t steps = tile / (kVectors * kWidth);
  const auto rows = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array<Row, kRows>{Row(m, first + static_cast<std::int64_t>(kIndex))...};
  }
  (std::make_index_sequence<kRows>());
  // Scales of this many tiles are made floats together.
  constexpr std::int64_t kTiles = 64;
  float scales[kRows][kTiles];
  Floats total[kRows][kColumns] = {};
  for (std::int64_t begin = 0; begin < m.k; begin += tile) {
    const std::int64_t place = begin / tile % kTiles;
    if (is_scaled && place == 0)
      for (int r = 0; r < kRows; ++r)
        to_floats(m.scales_at(first + r, begin), scales[r], std::min(kTiles, (m.k - begin) / tile));
    Floats sums[kRows][kColumns] = {};
    const std::int64_t step0 = begin / (kVectors * kWidth);
    for (std::int64_t step = step0; step < step0 + steps; ++step) {
      Floats w[kRows][kVectors];
      for (int r = 0; r < kRows; ++r) rows[static_cast<std::size_t>(r)].read(step, w[r]);
      for (int v = 0; v < kVectors; ++v)
        for (int n = 0; n < kColumns; ++n) {
          const Floats column = load(x[n] + (step * kVectors + v) * kWidth);
          for (int r = 0; r < kRows; ++r) sums[r][n] = fma(w[r][v], column, sums[r][n]);
        }
    }
    for (int r = 0; r < kRows; ++r) {
      const Floats scale = broadcast(is_scaled ? scales[r][place] : 1.0f);
      for (int n = 0; n < kColumns; ++n) total[r][n] = fma(sums[r][n], scale, total[r][n]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int n = 0; n < kColumns; ++n) out[n * out_stride + r] = sum(total[r][n]);
}

template <typename Row, int kColumns>
void gemv_of(const Matrix& m, std::int64_t begin, std::int64_t end, const float* const* x,
             float* out, std::int64_t out_stride) {
  // Rows at a time: as many sums as hide the latency of the multiply-add, and no more than there
  // are registers.
  constexpr int kRows = 8 / (kColumns == 3 ? 4 : kColumns);
  std::int64_t r = begin;
  for (; r + kRows <= end; r += kRows)
    dot_rows<Row, kColumns, kRows>(m, r, x, out + (r - begin), out_stride);
  for (; r < end; ++r) dot_rows<Row, kColumns, 1>(m, r, x, out + (r - begin), out_stride);
}

template <typename Row>
void gemv_rows(const Matrix& m, std::int64_t begin, std::int64_t end, const float* const* x,
               int count, float* out, std::int64_t out_stride) {
  static_assert(kGemvTokens == 4);
  switch (count) {
    case 1:
      return gemv_of<Row, 1>(m, begin, end, x, out, out_stride);
    case 2:
      return gemv_of<Row, 2>(m, begin, end, x, out, out_stride);
    case 3:
      return gemv_of<Row, 3>(m, begin, end, x, out, out_stride);
    default:
      return gemv_of<Row, 4>(m, begin, end, x, out, out_stride);
  }
}

// --- rows as floats

inline std::int32_t element_bits(const std::byte* row, int bits, std::int64_t i) {
  if (bits == 8) return static_cast<std::int32_t>(row[i]);
  const std::int64_t at = i * bits;
  std::uint32_t two = static_cast<std::uint32_t>(row[at >> 3]);
  // The second byte only where the element reaches into it: it may lie behind the matrix.
  if ((at & 7) + bits > 8) two |= static_cast<std::uint32_t>(row[(at >> 3) + 1]) << 8;
  return static_cast<std::int32_t>(two >> (at & 7) & ((1u << bits) - 1));
}

inline void expand_row(const Matrix& m, std::int64_t r, float* out) {
  const std::byte* row = m.row(r);
  switch (m.form) {
    case Matrix::Form::kFloat:
      std::memcpy(out, row, static_cast<std::size_t>(m.k) * sizeof(float));
      return;
    case Matrix::Form::kHalf:
      for (std::int64_t c = 0; c < m.k; ++c)
        out[c] = to_float(reinterpret_cast<const Half*>(row)[c]);
      return;
    case Matrix::Form::kInt8:
      for (std::int64_t tile = 0; tile < m.k; tile += m.tile_k) {
        const float scale = m.scale(r, tile);
        for (std::int64_t c = tile; c < tile + m.tile_k; ++c)
          out[c] = static_cast<float>(static_cast<std::int8_t>(row[c])) * scale;
      }
      return;
    case Matrix::Form::kInt4:
      for (std::int64_t tile = 0; tile < m.k; tile += m.tile_k) {
        const float scale = m.scale(r, tile);
        for (std::int64_t c = tile; c < tile + m.tile_k; ++c) {
          const std::int32_t nibble = element_bits(row, 4, c);
          out[c] = static_cast<float>(nibble >= 8 ? nibble - 16 : nibble) * scale;
        }
      }
      return;
    case Matrix::Form::kPalette: {
      const Half* palette = m.palette + (r / m.group << m.bits);
      float table[256];
      for (int i = 0; i < 1 << m.bits; ++i) table[i] = to_float(palette[i]);
      for (std::int64_t c = 0; c < m.k; ++c) out[c] = table[element_bits(row, m.bits, c)];
      return;
    }
  }
}

inline void expand(const Matrix& m, std::int64_t begin, std::int64_t end, float* out) {
  for (std::int64_t r = begin; r < end; ++r) expand_row(m, r, out + (r - begin) * m.k);
}

inline float dot(const float* a, const float* b, std::int64_t count) {
  Floats sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kWidth <= count; i += 4 * kWidth)
    for (int u = 0; u < 4; ++u)
      sums[u] = fma(load(a + i + u * kWidth), load(b + i + u * kWidth), sums[u]);
  for (; i + kWidth <= count; i += kWidth) sums[0] = fma(load(a + i), load(b + i), sums[0]);
  float total = sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; i < count; ++i) total += a[i] * b[i];
  return total;
}

inline void gemv(const Matrix& m, std::int64_t begin, std::int64_t end, const float* const* x,
                 int count, float* out, std::int64_t out_stride, float* scratch) {
  if (step_elements(m) == 0) {
    for (std::int64_t r = begin; r < end; ++r) {
      expand_row(m, r, scratch);
      for (int n = 0; n < count; ++n) out[n * out_stride + r - begin] = dot(scratch, x[n], m.k);
    }
    return;
  }
  switch (m.form) {
    case Matrix::Form::kFloat:
      return gemv_rows<FloatRow>(m, begin, end, x, count, out, out_stride);
    case Matrix::Form::kHalf:
      return gemv_rows<HalfRow>(m, begin, end, x, count, out, out_stride);
    case Matrix::Form::kInt8:
      return gemv_rows<Int8Row>(m, begin, end, x, count, out, out_stride);
    case Matrix::Form::kInt4:
      return gemv_rows<Int4Row>(m, begin, end, x, count, out, out_stride);
    case Matrix::Form::kPalette:
      return gemv_rows<Palette4Row>(m, begin, end, x, count, out, out_stride);
  }
}

// --- many columns

// The left operand of a product: element (r, k) lies at data[r * row + k * step].
struct Left {
  const float* data;
  std::int64_t row;
  std::int64_t step;
  float at(std::int64_t r, std::int64_t k) const { return data[r * row + k * step]; }
  Left below(std::int64_t rows) const { return {data + rows * row, row, step}; }
};

// kRows rows of a by kVectors vectors of columns.
template <int kRows, int kVectors>
void multiply_tile(Left a, std::int64_t depth, const float* b, std::int64_t ldb, float* out,
                   std::int64_t ldo) {
  Floats sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = load(out + r * ldo + v * kWidth);
  for (std::int64_t k = 0; k < depth; ++k) {
    Floats columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = load(b + k * ldb + v * kWidth);
    for (int r = 0; r < kRows; ++r) {
      const Floats factor = broadcast(a.at(r, k));
      for (int v = 0; v < kVectors; ++v) sums[r][v] = fma(factor, columns[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) store(out + r * ldo + v * kWidth, sums[r][v]);
}

template <int kRows>
void multiply_rows(Left a, std::int64_t depth, const float* b, std::int64_t ldb, std::int64_t count,
                   float* out, std::int64_t ldo) {
  std::int64_t n = 0;
  for (; n + 4 * kWidth <= count; n += 4 * kWidth)
    multiply_tile<kRows, 4>(a, depth, b + n, ldb, out + n, ldo);
  for (; n + kWidth <= count; n += kWidth)
    multiply_tile<kRows, 1>(a, depth, b + n, ldb, out + n, ldo);
  for (; n < count; ++n)
    for (int r = 0; r < kRows; ++r) {
      float total = out[r * ldo + n];
      for (std::int64_t k = 0; k < depth; ++k) total += a.at(r, k) * b[k * ldb + n];
      out[r * ldo + n] = total;
    }
}

inline void multiply_left(Left a, std::int64_t rows, std::int64_t depth, const float* b,
                          std::int64_t ldb, std::int64_t count, float* out, std::int64_t ldo) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4)
    multiply_rows<4>(a.below(r), depth, b, ldb, count, out + r * ldo, ldo);
  for (; r < rows; ++r) multiply_rows<1>(a.below(r), depth, b, ldb, count, out + r * ldo, ldo);
}

inline void multiply(const float* a, std::int64_t lda, std::int64_t rows, std::int64_t depth,
                     const float* b, std::int64_t ldb, std::int64_t count, float* out,
                     std::int64_t ldo) {
  multiply_left({a, lda, 1}, rows, depth, b, ldb, count, out, ldo);
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
