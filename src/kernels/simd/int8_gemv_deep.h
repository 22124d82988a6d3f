// SPDX-License-Identifier: Apache-2.0
// Products with one or two columns: each lane of a vector sums a part of the depth. A row is read
// with one instruction per 64 elements, in the order of memory, and the lanes are added up at the
// end.
#pragma once

#include <cstdint>
#include <immintrin.h>

#include "kernels/simd/int8_gemv.h"
#include "kernels/simd/int8_gemv_eight.h"
#include "kernels/simd/int8_gemv_rows.h"
#include "kernels/simd/unroll.h"

namespace anemone::kernels::simd::int8_split {

// Sums of the parts of kRows rows and kColumns columns, over 16 lanes each.
template <int kRows, int kColumns>
struct LaneSums {
  __m512i high[kRows][kColumns];
  __m512i low[kRows][kColumns];
};

// Sums of the products while rows are read. An instruction waits for the one before it that adds to
// the same sum. If there are too few products to fill that time, each step of the reads that are
// done together and each part of the weights gets separate sums.
template <typename Row, int kRows, int kColumns>
struct Chains {
  static constexpr bool kIsSplit = kRows * kColumns <= 2;
  static constexpr int kCount = kIsSplit ? Row::kSteps * Row::kReadsTogether : 1;
  static constexpr int kLow = kIsSplit && Row::kHasLow ? 2 : 1;

  template <typename Body>
  static void for_each(const Body& body) {
    unroll<kRows>([&](auto r) {
      unroll<kColumns>([&](auto n) { unroll<kCount>([&](auto c) { body(r, n, c); }); });
    });
  }
  LaneSums<kRows, kColumns> sums() const {
    LaneSums<kRows, kColumns> out;
    for_each([&](auto r, auto n, auto c) {
      const __m512i highs = high[r][n][c].lanes();
      const __m512i first = low[r][n][c][0].lanes();
      const __m512i lows =
          kLow == 2 ? _mm512_add_epi32(first, low[r][n][c][kLow - 1].lanes()) : first;
      out.high[r][n] = c == 0 ? highs : _mm512_add_epi32(out.high[r][n], highs);
      out.low[r][n] = c == 0 ? lows : _mm512_add_epi32(out.low[r][n], lows);
    });
    return out;
  }

  ProductSums high[kRows][kColumns][kCount];
  ProductSums low[kRows][kColumns][kCount][kLow];
};

// One read of each row: `read(row, step)`, the kIndex-th of those that are done together.
template <int kIndex, typename Row, int kRows, int kColumns, typename Read>
[[gnu::always_inline]] inline void add_read(const Row* rows, std::int64_t step, const Read& read,
                                            const std::int8_t* parts,
                                            Chains<Row, kRows, kColumns>& sums) {
  using Sums = Chains<Row, kRows, kColumns>;
  parts += step * kColumns * 2 * kStep;
  __m512i high[kRows][Row::kSteps];
  __m512i low[kRows][Row::kSteps];
  unroll<kRows>([&](auto r) {
    prefetch_after(rows[r], step);
    const auto bytes = read(rows[r], step);
    unroll<Row::kSteps>([&](auto s) { rows[r].template split<s>(bytes, high[r][s], low[r][s]); });
  });
  unroll<Row::kSteps>([&](auto s) {
    constexpr int kChain = (kIndex * Row::kSteps + s) % Sums::kCount;
    unroll<kColumns>([&](auto n) {
      const std::int8_t* at = parts + (s * kColumns + n) * 2 * kStep;
      const __m512i x_high = _mm512_load_si512(at);
      const __m512i x_low = _mm512_load_si512(at + kStep);
      unroll<kRows>([&](auto r) {
        sums.high[r][n][kChain].add(high[r][s], x_high);
        sums.low[r][n][kChain][0].add(high[r][s], x_low);
        if constexpr (Row::kHasLow) sums.low[r][n][kChain][Sums::kLow - 1].add(low[r][s], x_high);
      });
    });
  });
}

// Two steps of a row of int4 whose scales are per scale block.
template <int kColumns>
inline void add_scale_blocks(const Int4BlockSumsRow& row, std::int64_t step, __mmask64 mask,
                             const GemvColumns& columns, LaneSums<1, kColumns>& sums) {
  const std::int8_t* const parts = columns.parts() + step * kColumns * 2 * kStep;
  const std::int32_t* const offsets = columns.block_offsets() + step / 2 * kColumns * 2 * 16;
  prefetch_after(row, step);
  const __m512i pairs = row.read(step, mask);
  const __m512i factors = row.factors(step);
  __m512i ignored;
  __m512i even;
  __m512i odd;
  row.split<0>(pairs, even, ignored);
  row.split<1>(pairs, odd, ignored);
  const auto add = [&](int n, __m512i& sum) {
    __m512i block_sums = _mm512_load_si512(offsets + n * 16);
    block_sums = _mm512_dpbusd_epi32(block_sums, even, _mm512_load_si512(parts + n * kStep));
    block_sums =
        _mm512_dpbusd_epi32(block_sums, odd, _mm512_load_si512(parts + (kColumns * 2 + n) * kStep));
    // The sum of a scale block is within 15 bits: its lower half counts.
    sum = _mm512_dpwssd_epi32(sum, block_sums, factors);
  };
  unroll<kColumns>([&](auto n) {
    add(2 * n, sums.high[0][n]);
    add(2 * n + 1, sums.low[0][n]);
  });
}

template <int kColumns>
[[gnu::flatten]] inline LaneSums<1, kColumns> sum_scale_blocks(const Int4BlockSumsRow& row,
                                                               std::int64_t depth,
                                                               const GemvColumns& columns) {
  LaneSums<1, kColumns> sums;
  unroll<kColumns>([&](auto n) { sums.high[0][n] = sums.low[0][n] = _mm512_setzero_si512(); });
  for_each_read<Int4BlockSumsRow::kSteps>(
      0, depth, [&](std::int64_t step, __mmask64 mask) __attribute__((always_inline)) {
        add_scale_blocks(row, step, mask, columns, sums);
      });
  return sums;
}

// The sums over the lanes of each quarter of four vectors: quarter q of the result has those of the
// quarters q, one vector after the other.
[[gnu::always_inline]] inline __m512i sum_within_quarters(const __m512i of[4]) {
  const auto add = [](__m512i a, __m512i b) { return _mm512_add_epi32(a, b); };
  const __m512i ab = add(_mm512_unpacklo_epi32(of[0], of[1]), _mm512_unpackhi_epi32(of[0], of[1]));
  const __m512i cd = add(_mm512_unpacklo_epi32(of[2], of[3]), _mm512_unpackhi_epi32(of[2], of[3]));
  return add(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}

// Four reads of a row of int8 in scale blocks, of which the first `kReads` exist; the last of these
// has `mask`. Each quarter of a read gives a sum, which becomes an integer number of steps.
template <int kReads, int kColumns, int kDepth>
[[gnu::always_inline]] inline void add_four_reads(const Int8BlockSumsRow<kDepth>& row,
                                                  std::int64_t step, __mmask64 mask,
                                                  const GemvColumns& columns,
                                                  LaneSums<1, kColumns>& sums) {
  constexpr int kSteps = Int8BlockSumsRow<kDepth>::kSteps;
  __m512i block_sums[kColumns][4];
  unroll<4>([&](auto i) __attribute__((always_inline)) {
    if constexpr (i >= kReads) {
      unroll<kColumns>([&](auto n) { block_sums[n][i] = _mm512_setzero_si512(); });
    } else {
      const std::int64_t at = step + i * kSteps;
      const std::int8_t* const parts = columns.parts() + at * kColumns * 2 * kStep;
      const std::int32_t* const offsets = columns.block_offsets() + at / kSteps * kColumns * 2 * 16;
      prefetch_after(row, at);
      const auto bytes = row.read(at, i == kReads - 1 ? mask : ~__mmask64{0});
      unroll<kColumns>([&](auto n) __attribute__((always_inline)) {
        __m512i high = _mm512_load_si512(offsets + n * 2 * 16);
        __m512i low = _mm512_load_si512(offsets + n * 2 * 16 + 16);
        unroll<kSteps>([&](auto s) __attribute__((always_inline)) {
          __m512i w;
          __m512i ignored;
          row.template split<s>(bytes, w, ignored);
          const std::int8_t* const x = parts + (s * kColumns + n) * 2 * kStep;
          high = _mm512_dpbusd_epi32(high, w, _mm512_load_si512(x));
          low = _mm512_dpbusd_epi32(low, w, _mm512_load_si512(x + kStep));
        });
        block_sums[n][i] = join_parts(high, low);
      });
    }
  });
  // Factor 4 * i + q belongs to quarter q of read i.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512 factors =
      _mm512_permutexvar_ps(order, _mm512_load_ps(row.factors_at + step / kSteps * 4));
  unroll<kColumns>([&](auto n) {
    __m512i& sum = sums.low[0][n];
    sum = _mm512_add_epi32(sum, steps_of_sums(sum_within_quarters(block_sums[n]), factors));
  });
}

template <int kColumns, int kDepth>
[[gnu::flatten]] inline LaneSums<1, kColumns> sum_scale_blocks(const Int8BlockSumsRow<kDepth>& row,
                                                               std::int64_t depth,
                                                               const GemvColumns& columns) {
  LaneSums<1, kColumns> sums;
  unroll<kColumns>([&](auto n) { sums.high[0][n] = sums.low[0][n] = _mm512_setzero_si512(); });
  constexpr std::int64_t kElements = 4 * kDepth;  // of a read
  std::int64_t step = 0;
  for (; depth >= 4 * kElements; depth -= 4 * kElements, step += 4 * row.kSteps)
    add_four_reads<4, kColumns>(row, step, ~__mmask64{0}, columns, sums);
  if (depth == 0) return sums;
  const std::int64_t last = (depth - 1) % kElements + 1;  // elements of the last read
  const __mmask64 mask = ~__mmask64{0} >> (64 - last / row.kSteps);
  switch ((depth + kElements - 1) / kElements) {
    case 1:
      add_four_reads<1, kColumns>(row, step, mask, columns, sums);
      break;
    case 2:
      add_four_reads<2, kColumns>(row, step, mask, columns, sums);
      break;
    case 3:
      add_four_reads<3, kColumns>(row, step, mask, columns, sums);
      break;
    default:
      add_four_reads<4, kColumns>(row, step, mask, columns, sums);
      break;
  }
  return sums;
}

// `depth` elements of each row.
template <int kRows, int kColumns, typename Row>
[[gnu::flatten]] inline LaneSums<kRows, kColumns> sum_rows(const Row* rows, std::int64_t depth,
                                                           const std::int8_t* parts) {
  Chains<Row, kRows, kColumns> sums;
  std::int64_t step = 0;
  if constexpr (Row::kReadsTogether > 1) {
    constexpr int kTogether = Row::kReadsTogether * Row::kSteps;
    const auto read = [](const Row& row, std::int64_t at) { return row.read_inner(at); };
    for (; step + kTogether <= rows->inner_end; step += kTogether)
      unroll<Row::kReadsTogether>([&](auto i) __attribute__((always_inline)) {
        add_read<i>(rows, step + i * Row::kSteps, read, parts, sums);
      });
  }
  for_each_read<Row::kSteps>(
      step, depth, [&](std::int64_t at, __mmask64 mask) __attribute__((always_inline)) {
        add_read<0>(
            rows, at, [&](const Row& row, std::int64_t from) { return row.read(from, mask); },
            parts, sums);
      });
  return sums.sums();
}

// The sums over the lanes of each of sixteen vectors.
[[gnu::always_inline]] inline __m512i sum_lanes(const std::int32_t sums[16][16]) {
  __m512i eight[8];
  for (int i = 0; i < 8; ++i) {
    const __m512i a = _mm512_load_si512(sums[2 * i]);
    const __m512i b = _mm512_load_si512(sums[2 * i + 1]);
    eight[i] = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  }
  __m512i four[4];
  for (int i = 0; i < 4; ++i) {
    const __m512i a = eight[2 * i];
    const __m512i b = eight[2 * i + 1];
    four[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  }
  const auto halve = [](__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
  };
  return halve(halve(four[0], four[1]), halve(four[2], four[3]));
}

// Eight products, finished together: those of kRows rows with every column.
template <typename Row, int kColumns>
class DeepProducts {
 public:
  static constexpr int kRows = 8 / kColumns;

  DeepProducts(const Matrix& /*m*/, const GemvColumns& columns)
      : columns_(columns),
        products_(EightProducts::of<Row>(columns, [](int p) { return p / kRows; })) {
    for (int p = 0; p < 8; ++p) row_of_[p] = p % kRows;
    // For an initializer GCC takes an instruction (rep stos) that needs the time of several rows.
    unroll<16>([&](auto p) { _mm512_store_si512(sums_[p], _mm512_setzero_si512()); });
  }
  // out[n * ldo + r] for `count` rows from `first` on.
  template <typename Rows>
  [[gnu::flatten]] void multiply(const Rows& rows, std::int64_t first, std::int64_t count,
                                 std::int64_t depth, const float* row_scales, float* out,
                                 std::int64_t ldo) {
    // Memory is fastest when one row is read after the other. With two parts per weight of four
    // bits the arithmetic is slower than memory, so two rows at a time share the loads of the
    // columns.
    std::int64_t r = 0;
    if constexpr (Row::kHasLow && Row::kSteps == 2)
      for (; r + 2 <= count; r += 2) {
        const Row two[2] = {rows.at(first + r), rows.at(first + r + 1)};
        set<2>(r, sum_rows<2, kColumns>(two, depth, columns_.parts()));
      }
    for (; r < count; ++r) {
      const Row row = rows.at(first + r);
      if constexpr (Row::kHasBlockSums)
        set<1>(r, sum_scale_blocks<kColumns>(row, depth, columns_));
      else
        set<1>(r, sum_rows<1, kColumns>(&row, depth, columns_.parts()));
    }
    finish(row_scales, count, out, ldo);
  }

 private:
  // Rows [first, first + kSet) of the group.
  template <int kSet>
  void set(std::int64_t first, const LaneSums<kSet, kColumns>& sums) {
    for (int n = 0; n < kColumns; ++n)
      for (int r = 0; r < kSet; ++r) {
        const std::int64_t p = n * kRows + first + r;
        _mm512_store_si512(sums_[p], sums.high[r][n]);
        _mm512_store_si512(sums_[8 + p], sums.low[r][n]);
      }
  }
  void finish(const float* row_scales, std::int64_t rows, float* out, std::int64_t ldo) const {
    const auto some = static_cast<__mmask8>((1u << rows) - 1);
    const __m256 row_scale =
        _mm256_permutevar8x32_ps(_mm256_maskz_loadu_ps(some, row_scales),
                                 _mm256_load_si256(reinterpret_cast<const __m256i*>(row_of_)));
    const __m256 results = products_.finish(sum_lanes(sums_), row_scale);
    if constexpr (kColumns == 1) {
      _mm256_mask_storeu_ps(out, some, results);
    } else {
      static_assert(kColumns == 2);
      _mm_mask_storeu_ps(out, some, _mm256_castps256_ps128(results));
      _mm_mask_storeu_ps(out + ldo, some, _mm256_extractf128_ps(results, 1));
    }
  }

  const GemvColumns& columns_;
  const EightProducts products_;
  alignas(64) std::int32_t sums_[16][16];  // high ones, then low ones
  alignas(32) std::int32_t row_of_[8];
};

}  // namespace anemone::kernels::simd::int8_split
