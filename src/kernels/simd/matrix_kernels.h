// SPDX-License-Identifier: Apache-2.0
// Products of a weight matrix with columns of activations, over the vectors of one instruction set.
//
// There is one order of sums for any number of columns, so that a column gives the same bits alone
// and among others, whatever their number. Element i of a row, in the order in which the form's
// elements come out of memory, is added to lane i % kWidth of one vector, in the order of i.
// Weights are integers up to here where they have scales: the sum of each scale block is multiplied
// by its scale and added to the total. At the end the lanes are added up as sum() does.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "kernels/simd/kernels.h"
#include "kernels/simd/matrix_rows.h"
#include "kernels/simd/shuffles.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Where the results go: (row r of the matrix, column n).
struct Target {
  float* data;  // of row `begin` and column 0
  std::int64_t begin;
  std::int64_t row;  // from row to row
  std::int64_t column;
  float* at(std::int64_t r, std::int64_t n) const { return data + (r - begin) * row + n * column; }
  Target from_column(std::int64_t n) const { return {data + n * column, begin, row, column}; }
};

// --- columns in the order of the weights

// Which channel stands at place `i` of a column: for nibbles the even ones of a step come first.
inline std::int64_t channel_at(bool is_stepwise_nibbles, std::int64_t i) {
  if (!is_stepwise_nibbles) return i;
  const std::int64_t in_step = i % (2 * kWidth);
  return i - in_step + in_step % kWidth * 2 + in_step / kWidth;
}

inline void order_columns(const Matrix& m, const Half* x, std::int64_t channel_stride,
                          std::int64_t column_stride, std::int64_t count, float* out) {
  const std::int64_t depth = ordered_depth(m);
  const bool is_nibbly = is_nibbles(m) && step_elements(m) != 0;
  for (std::int64_t n = 0; n < count; ++n)
    for (std::int64_t i = m.k; i < depth; ++i) out[n * depth + i] = 0;
  if (column_stride != 1 || count == 1) {
    for (std::int64_t n = 0; n < count; ++n, x += column_stride, out += depth) {
      if (channel_stride == 1 && !is_nibbly)
        to_floats(x, out, m.k);
      else
        for (std::int64_t i = 0; i < m.k; ++i)
          out[i] = to_float(x[channel_at(is_nibbly, i) * channel_stride]);
    }
    return;
  }
  // Elements of one channel lie side by side: kWidth channels of as many columns are transposed.
  for (std::int64_t n = 0; n < count; n += kWidth) {
    const std::int64_t some = std::min<std::int64_t>(kWidth, count - n);
    std::int64_t i = 0;
    for (; i + kWidth <= m.k; i += kWidth) {
      Floats block[kWidth];
      for (int j = 0; j < kWidth; ++j)
        block[j] = load_some_halves(x + channel_at(is_nibbly, i + j) * channel_stride + n, some);
      transpose(block);
      for (std::int64_t j = 0; j < some; ++j) store(out + (n + j) * depth + i, block[j]);
    }
    for (; i < m.k; ++i)
      for (std::int64_t j = 0; j < some; ++j)
        out[(n + j) * depth + i] = to_float(x[i * channel_stride + n + j]);
  }
}

// --- a few columns: the rows are read from memory once, and stay in registers as numbers

// kRows rows by kColumns columns of x.
template <typename Row, int kColumns, int kRows>
void dot_rows(const Matrix& m, std::int64_t first, const float* const* x, const Target& out) {
  constexpr int kVectors = Row::kVectors;
  const bool is_scaled = m.form == Matrix::Form::kInt8 || m.form == Matrix::Form::kInt4;
  const std::int64_t scale_block = is_scaled ? m.block_k : m.k;
  const std::int64_t steps = scale_block / (kVectors * kWidth);
  const auto rows = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array<Row, kRows>{Row(m, first + static_cast<std::int64_t>(kIndex))...};
  }
  (std::make_index_sequence<kRows>());
  // Scales of this many scale blocks are made floats together.
  constexpr std::int64_t kScaleBlocks = 64;
  float scales[kRows][kScaleBlocks];
  Floats total[kRows][kColumns] = {};
  for (std::int64_t begin = 0; begin < m.k; begin += scale_block) {
    const std::int64_t place = begin / scale_block % kScaleBlocks;
    if (is_scaled && place == 0)
      for (int r = 0; r < kRows; ++r)
        to_floats(m.scales_at(first + r, begin), scales[r],
                  std::min(kScaleBlocks, (m.k - begin) / scale_block));
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
    for (int n = 0; n < kColumns; ++n) *out.at(first + r, n) = sum(total[r][n]);
}

template <typename Row, int kColumns>
void few_columns_of(const Matrix& m, std::int64_t begin, std::int64_t end, const float* const* x,
                    const Target& out) {
  // Rows at a time: as many sums as hide the latency of the multiply-add, and no more than there
  // are registers.
  constexpr int kRows = 8 / (kColumns == 3 ? 4 : kColumns);
  std::int64_t r = begin;
  for (; r + kRows <= end; r += kRows) dot_rows<Row, kColumns, kRows>(m, r, x, out);
  for (; r < end; ++r) dot_rows<Row, kColumns, 1>(m, r, x, out);
}

template <typename Row>
void multiply_few_columns(const Matrix& m, std::int64_t begin, std::int64_t end,
                          const float* const* x, int count, const Target& out) {
  static_assert(kFewColumns == 4);
  switch (count) {
    case 1:
      return few_columns_of<Row, 1>(m, begin, end, x, out);
    case 2:
      return few_columns_of<Row, 2>(m, begin, end, x, out);
    case 3:
      return few_columns_of<Row, 3>(m, begin, end, x, out);
    default:
      return few_columns_of<Row, 4>(m, begin, end, x, out);
  }
}

// --- many columns: some rows at a time become a panel of floats

constexpr int kPanelRows = 16;
// Elements of the depth that are multiplied with all rows of a panel before the next ones: those of
// the columns stay in the nearest cache meanwhile.
constexpr std::int64_t kChunk = 1024;

// Rows and columns whose sums are in registers at a time, where there is one scale per row and
// where there are more, which takes two sums each.
#if defined(ANEMONE_SIMD_AVX512) || defined(ANEMONE_SIMD_NEON)
constexpr int kSumRows = 4, kSumColumns = 4;
constexpr int kTileRows = 4, kTileColumns = 2;
#elif defined(ANEMONE_SIMD_AVX2)
constexpr int kSumRows = 4, kSumColumns = 3;
constexpr int kTileRows = 2, kTileColumns = 2;
#else
constexpr int kSumRows = 4, kSumColumns = 2;
constexpr int kTileRows = 2, kTileColumns = 2;
#endif

// Rows of a matrix as floats, without their scales, which are beside them.
struct Panel {
  float* rows;    // [kPanelRows, depth]
  float* scales;  // [kPanelRows, scale blocks]; 1 if the rows have no scales
  std::int64_t depth;
  std::int64_t scale_block;   // elements that share a scale
  std::int64_t scale_blocks;  // of a row
};

template <typename Row>
void expand_steps(const Matrix& m, std::int64_t r, float* out) {
  const Row row(m, r);
  constexpr int kVectors = Row::kVectors;
  for (std::int64_t step = 0; step * kVectors * kWidth < m.k; ++step) {
    Floats w[kVectors];
    row.read(step, w);
    for (int v = 0; v < kVectors; ++v) store(out + (step * kVectors + v) * kWidth, w[v]);
  }
}

// Rows from `begin` on; zeros after the last of them.
inline void fill(const Matrix& m, std::int64_t begin, std::int64_t rows, const Panel& panel) {
  const bool is_stepwise = step_elements(m) != 0;
  const bool is_scaled =
      is_stepwise && (m.form == Matrix::Form::kInt8 || m.form == Matrix::Form::kInt4);
  for (std::int64_t r = 0; r < kPanelRows; ++r) {
    float* const row = panel.rows + r * panel.depth;
    float* const scales = panel.scales + r * panel.scale_blocks;
    const bool is_behind = r >= rows;
    if (is_scaled && !is_behind)
      to_floats(m.scales_at(begin + r, 0), scales, panel.scale_blocks);
    else
      std::fill(scales, scales + panel.scale_blocks, 1.0f);
    if (is_behind) {
      std::fill(row, row + panel.depth, 0.0f);
      continue;
    }
    if (is_stepwise)
      for_row_of(m, [&]<typename Row>() { expand_steps<Row>(m, begin + r, row); });
    else
      expand_row(m, begin + r, row);
    std::fill(row + m.k, row + panel.depth, 0.0f);
  }
}

// Adds the products of elements [begin, end) to kRows x kColumns sums, which are those of one scale
// block.
template <int kRows, int kColumns>
[[gnu::always_inline]] inline void add_elements(const float* rows, std::int64_t stride,
                                                const float* const* x, std::int64_t begin,
                                                std::int64_t end, Floats* sums) {
  for (std::int64_t i = begin; i < end; i += kWidth) {
    Floats columns[kColumns];
    unroll<kColumns>([&](auto n) __attribute__((always_inline)) { columns[n] = load(x[n] + i); });
    unroll<kRows>([&](auto r) __attribute__((always_inline)) {
      const Floats w = load(rows + r * stride + i);
      unroll<kColumns>([&](auto n) __attribute__((always_inline)) {
        Floats& sum = sums[r * kColumns + n];
        sum = fma(w, columns[n], sum);
      });
    });
  }
}

template <int kRows, int kColumns>
void add_chunk(const Panel& panel, std::int64_t first, const float* const* x, std::int64_t begin,
               std::int64_t end, float* memory) {
  Floats sums[kRows * kColumns];
  unroll<kRows * kColumns>([&](auto i) { sums[i] = load(memory + i * kWidth); });
  add_elements<kRows, kColumns>(panel.rows + first * panel.depth, panel.depth, x, begin, end, sums);
  unroll<kRows * kColumns>([&](auto i) { store(memory + i * kWidth, sums[i]); });
}

// add_chunk() for rows of several scale blocks, whose totals are in memory.
template <int kRows, int kColumns>
void add_scale_blocks(const Panel& panel, std::int64_t first, const float* const* x,
                      std::int64_t begin, std::int64_t end, float* memory) {
  Floats totals[kRows * kColumns];
  unroll<kRows * kColumns>([&](auto i) { totals[i] = load(memory + i * kWidth); });
  const float* scales = panel.scales + first * panel.scale_blocks + begin / panel.scale_block;
  for (; begin < end; begin += panel.scale_block, ++scales) {
    Floats sums[kRows * kColumns];
    unroll<kRows * kColumns>([&](auto i) { sums[i] = Floats{}; });
    add_elements<kRows, kColumns>(panel.rows + first * panel.depth, panel.depth, x, begin,
                                  begin + panel.scale_block, sums);
    unroll<kRows>([&](auto r) __attribute__((always_inline)) {
      const Floats scale = broadcast(scales[r * panel.scale_blocks]);
      unroll<kColumns>([&](auto n) __attribute__((always_inline)) {
        Floats& total = totals[r * kColumns + n];
        total = fma(sums[r * kColumns + n], scale, total);
      });
    });
  }
  unroll<kRows * kColumns>([&](auto i) { store(memory + i * kWidth, totals[i]); });
}

// Adds up the lanes of `memory`: kRows rows from `first` on by kColumns columns.
template <int kRows, int kColumns>
void finish(const Panel& panel, std::int64_t first, std::int64_t rows, std::int64_t columns,
            const float* memory, const Target& out) {
  constexpr int kSums = kRows * kColumns;
  float results[(kSums + kWidth - 1) / kWidth * kWidth];
  for (int i = 0; i < kSums; i += kWidth) {
    Floats sums[kWidth];
    unroll<kWidth>([&](auto j) __attribute__((always_inline)) {
      const int at = i + j;
      sums[j] = at < kSums ? load(memory + at * kWidth) : Floats{};
      if (panel.scale_blocks == 1 && at < kSums)
        sums[j] = fma(sums[j], broadcast(panel.scales[first + at / kColumns]), Floats{});
    });
    store(results + i, sums_of(sums));
  }
  for (std::int64_t r = 0; r < std::min<std::int64_t>(kRows, rows - first); ++r)
    for (std::int64_t n = 0; n < columns; ++n)
      *out.at(out.begin + first + r, n) = results[r * kColumns + n];
}

template <int kRows, int kColumns, typename Add>
void multiply_panel(const Panel& panel, std::int64_t rows, const float* const* x, int count,
                    const Target& out, const Add& add) {
  static_assert(kPanelRows % kRows == 0);
  constexpr std::int64_t kGroup = std::int64_t{kRows} * kColumns * kWidth;
  const std::int64_t whole_blocks =
      std::max(kChunk / panel.scale_block, std::int64_t{1}) * panel.scale_block;
  const std::int64_t step = panel.scale_blocks == 1 ? kChunk : whole_blocks;
  for (int n = 0; n < count; n += kColumns) {
    const int some = std::min(kColumns, count - n);
    const float* columns[kColumns];
    // Places after the last column repeat it.
    for (int i = 0; i < kColumns; ++i) columns[i] = x[n + std::min(i, some - 1)];
    alignas(64) float memory[kPanelRows * kColumns * kWidth] = {};
    for (std::int64_t begin = 0; begin < panel.depth; begin += step)
      for (std::int64_t r = 0; r < rows; r += kRows)
        add(panel, r, columns, begin, std::min(begin + step, panel.depth),
            memory + r / kRows * kGroup);
    for (std::int64_t r = 0; r < rows; r += kRows)
      finish<kRows, kColumns>(panel, r, rows, some, memory + r / kRows * kGroup,
                              out.from_column(n));
  }
}

inline void multiply_many_columns(const Matrix& m, std::int64_t begin, std::int64_t end,
                                  const float* const* x, int count, const Target& out,
                                  float* scratch) {
  const bool is_scaled =
      step_elements(m) != 0 && (m.form == Matrix::Form::kInt8 || m.form == Matrix::Form::kInt4);
  const std::int64_t depth = step_elements(m) != 0 ? m.k : ordered_depth(m);
  const std::int64_t scale_block = is_scaled ? m.block_k : depth;
  const Panel panel = {.rows = scratch,
                       .scales = scratch + kPanelRows * ordered_depth(m),
                       .depth = depth,
                       .scale_block = scale_block,
                       .scale_blocks = depth / scale_block};
  for (std::int64_t r = begin; r < end; r += kPanelRows) {
    const std::int64_t rows = std::min<std::int64_t>(kPanelRows, end - r);
    fill(m, r, rows, panel);
    const Target to = {out.data + (r - begin) * out.row, 0, out.row, out.column};
    if (panel.scale_blocks == 1)
      multiply_panel<kSumRows, kSumColumns>(panel, rows, x, count, to,
                                            add_chunk<kSumRows, kSumColumns>);
    else
      multiply_panel<kTileRows, kTileColumns>(panel, rows, x, count, to,
                                              add_scale_blocks<kTileRows, kTileColumns>);
  }
}

inline void multiply(const Matrix& m, std::int64_t begin, std::int64_t end, const float* const* x,
                     int count, float* out, std::int64_t row_stride, std::int64_t column_stride,
                     float* scratch) {
  const Target to = {out, begin, row_stride, column_stride};
  // Twice as many would be multiplied with rows that are still in a cache.
  if (step_elements(m) == 0 || count > 2 * kFewColumns)
    return multiply_many_columns(m, begin, end, x, count, to, scratch);
  for (int n = 0; n < count; n += kFewColumns) {
    const int some = std::min(kFewColumns, count - n);
    const Target part = to.from_column(n);
    for_row_of(
        m, [&]<typename Row>() { multiply_few_columns<Row>(m, begin, end, x + n, some, part); });
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
