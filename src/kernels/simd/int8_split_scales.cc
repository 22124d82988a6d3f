// SPDX-License-Identifier: Apache-2.0
// What the integers of rows stand for: scales and tables.
#if defined(__x86_64__)
#include <algorithm>
#include <cmath>

#include "kernels/simd/int8_row_stats.h"
#include "kernels/simd/int8_split_rows.h"
#include "kernels/simd/int8_split_vectors.h"
#include "kernels/simd/prefetch.h"

namespace anemone::kernels::simd::int8_split {
namespace {

constexpr float kSteps = 127 * 128;

// What a sum of products with two parts of numbers up to `most` is to be multiplied with. An
// infinity has no parts, so a sum with it becomes NaN.
float two_part_scale(float most) {
  return 128 * (most + 0 * most) / kSteps;
}

// Entries of a palette's table, so that a register holds it several times or it fills registers.
std::int64_t table_entries(int bits) {
  return std::max<std::int64_t>(64, std::int64_t{1} << bits);
}

// Steps into which an int4 scale block's scale is rounded: a whole number, so that no scale is
// rounded to more. They are so few that times 8 they are within kSteps, and times the sum of
// 32 products with a part, 8 * 64 each, over the whole depth within 31 bits.
float scale_steps(const Matrix& m) {
  return std::min(127.0F * 16, std::floor(0x7ffff000p0F / (32 * 8 * 64) /
                                          static_cast<float>(round_up(m.k, 32) / 32)));
}

std::int64_t multiplier_count(const Matrix& m) {
  return round_up(m.k, 128) / sum_depth(m);
}
std::int64_t factor_count(const Matrix& m) {
  return round_up(m.k / sum_depth(m), 16);
}

// What the sum of an int8 scale block with the row's largest scale is multiplied with, so that the
// sum of all of them is within 31 bits. An integer is at most 128, a column's at most 8191.
float block_sum_steps(const Matrix& m) {
  return std::min(1.0F, 0x7fff0000p0F / (128.0F * 8191) / static_cast<float>(m.k));
}

// Prefetches `count` scales, or entries of a palette, from `begin` after these: they lie apart
// from the rows, so the processor does not foresee them.
void prefetch_scales(const Half* scales, std::int64_t begin, std::int64_t count) {
  constexpr std::int64_t kBytes = sizeof(Half);
  for (std::int64_t i = 0; i < count * kBytes; i += 64)
    _mm_prefetch(static_cast<const char*>(address_after(scales, begin * kBytes + i)), _MM_HINT_T0);
}

// Goes over the rows of a block with the scales of their scale blocks, without a division for each.
struct RowScales {
  RowScales(const Matrix& m, std::int64_t begin)
      : scales(m.scales_at(begin, 0)),
        scale_blocks(m.k / m.block_k),
        block_rows(m.block_rows),
        left(m.block_rows - begin % m.block_rows) {}
  void next() {
    ++r;
    if (--left > 0) return;
    left = block_rows;
    scales += scale_blocks;
  }
  std::int64_t r = 0;  // of the block
  const Half* scales;
  const std::int64_t scale_blocks;
  const std::int64_t block_rows;
  std::int64_t left;  // rows of these scales
};

}  // namespace

std::int64_t row_scratch_bytes(const Matrix& m) {
  if (m.form == Matrix::Form::kPalette) return kInt8BlockRows * 2 * table_entries(m.bits);
  if (m.form == Matrix::Form::kHalf || m.has_row_scale()) return 64;
  const std::int64_t multipliers = multiplier_count(m) * std::int64_t{sizeof(std::int16_t)};
  const std::int64_t factors = factor_count(m) * std::int64_t{sizeof(float)};
  return round_up(kInt8BlockRows * std::max(multipliers, factors), 64);
}

RowBlock::RowBlock(const Matrix& matrix, std::int64_t begin, std::int64_t end, bool has_block_sums,
                   std::byte* scratch)
    : matrix_(matrix), begin_(begin), rows_(end - begin) {
  if (matrix.form == Matrix::Form::kPalette) {
    prepare_palettes(scratch);
  } else if (matrix.form == Matrix::Form::kHalf) {
    prepare_halves();
  } else if (is_int4_block(matrix)) {
    prepare_multipliers(scale_steps(matrix), 1, scratch);
  } else if (is_int8_block(matrix) && has_block_sums) {
    has_low_ = false;
    prepare_factors(block_sum_steps(matrix), scratch);
  } else if (is_int8_block(matrix)) {
    prepare_multipliers(kSteps, 128, scratch);
  } else {
    has_low_ = false;
    prepare_row_scales();
  }
  if (!has_low_ && matrix.form == Matrix::Form::kInt8 && rows_ == kInt8BlockRows &&
      matrix.k % 64 == 0)
    in_place_ = matrix.row(begin);
}

// Integer divisions are slow beside the other work for a row: instead of dividing for each row, the
// loop counts how many rows still have the same scale.
void RowBlock::prepare_row_scales() {
  const Half* scales = matrix_.scales_at(begin_, 0);
  if (matrix_.block_rows == 1) {
    prefetch_scales(scales, kInt8BlockRows, kInt8BlockRows);
    for (std::int64_t r = 0; r < rows_; r += 16)
      _mm512_store_ps(scales_ + r, load_some(scales + r, rows_ - r));
    return;
  }
  std::int64_t left = matrix_.block_rows - begin_ % matrix_.block_rows;  // rows of this scale
  for (std::int64_t r = 0; r < rows_; ++r) {
    scales_[r] = to_float(*scales);
    if (--left > 0) continue;
    left = matrix_.block_rows;
    ++scales;
  }
}

void RowBlock::prepare_palettes(std::byte* scratch) {
  const std::int64_t entries = std::int64_t{1} << matrix_.bits;
  const std::int64_t places = table_entries(matrix_.bits);
  auto* table = reinterpret_cast<std::uint8_t*>(scratch);
  std::int64_t group = begin_ / matrix_.group;
  std::int64_t left = (group + 1) * matrix_.group - begin_;  // rows of this palette
  for (std::int64_t r = 0; r < rows_; ++group, left = matrix_.group) {
    const Half* palette = matrix_.palette + (group << matrix_.bits);
    prefetch_scales(palette, entries, entries);
    const float most = largest(palette, entries);
    const __m512 inverse = _mm512_set1_ps(most == 0 ? 0 : kSteps / most);
    if (entries == 16) {
      const __m512i all =
          integers_of(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(palette)), inverse);
      PositiveParts(all, all, all, all).store(table, table + places);
    } else {
      for (std::int64_t i = 0; i < places; i += 64)
        parts_of_halves(reinterpret_cast<const std::byte*>(palette + i), ~__mmask64{0}, inverse)
            .store(table + i, table + places + i);
    }
    for (; r < rows_ && left > 0; ++r, --left) {
      tables_[r] = table;
      scales_[r] = two_part_scale(most);
    }
    table += 2 * places;
  }
}

void RowBlock::prepare_halves() {
  const float* const most = row_maxima(matrix_) + begin_;
  for (std::int64_t r = 0; r < rows_; ++r) scales_[r] = two_part_scale(most[r]);
}

// Every scale in units of the row's largest, which becomes `steps`.
void RowBlock::prepare_factors(float steps, std::byte* scratch) {
  const std::int64_t scale_blocks = matrix_.k / matrix_.block_k;
  const std::int64_t repeats = matrix_.block_k / sum_depth(matrix_);
  auto* factors = reinterpret_cast<float*>(scratch);
  factors_ = factors;
  factors_per_row_ = factor_count(matrix_);
  for (RowScales row(matrix_, begin_); row.r < rows_; row.next(), factors += factors_per_row_) {
    prefetch_scales(row.scales, kInt8BlockRows * scale_blocks, scale_blocks);
    const float most = largest(row.scales, scale_blocks);
    const float inverse = most == 0 ? 0 : steps / most;
    scales_[row.r] = 128 * most / steps;
    if (repeats == 1) {
      for (std::int64_t t = 0; t < scale_blocks; t += 16)
        _mm512_store_ps(factors + t, _mm512_mul_ps(load_some(row.scales + t, scale_blocks - t),
                                                   _mm512_set1_ps(inverse)));
      continue;
    }
    for (std::int64_t t = 0; t < scale_blocks; ++t)
      std::fill_n(factors + t * repeats, repeats, to_float(row.scales[t]) * inverse);
    std::fill(factors + scale_blocks * repeats, factors + factors_per_row_, 0.0F);
  }
}

// Every scale in units of the row's largest, which becomes `steps`, and rounded. The integers times
// these, divided by `divisor`, are the two parts.
void RowBlock::prepare_multipliers(float steps, float divisor, std::byte* scratch) {
  const std::int64_t scale_blocks = matrix_.k / matrix_.block_k;
  const std::int64_t repeats = matrix_.block_k / sum_depth(matrix_);
  auto* multipliers = reinterpret_cast<std::int16_t*>(scratch);
  multipliers_ = multipliers;
  multipliers_per_row_ = multiplier_count(matrix_);
  for (RowScales row(matrix_, begin_); row.r < rows_;
       row.next(), multipliers += multipliers_per_row_) {
    const Half* const scales = row.scales;
    prefetch_scales(scales, kInt8BlockRows * scale_blocks, scale_blocks);
    const float most = largest(scales, scale_blocks);
    const __m512 inverse = _mm512_set1_ps(most == 0 ? 0 : steps / most);
    scales_[row.r] = 128 * divisor * most / steps;
    if (repeats == 1) {
      const auto steps_of = [&](__m512 some) {
        return _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(_mm512_mul_ps(some, inverse)));
      };
      std::int64_t t = 0;
      for (; t + 16 <= scale_blocks; t += 16)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(multipliers + t),
                            steps_of(load_sixteen(scales + t)));
      if (t < scale_blocks)
        _mm256_mask_storeu_epi16(multipliers + t,
                                 static_cast<__mmask16>((1u << (scale_blocks - t)) - 1),
                                 steps_of(load_some(scales + t, scale_blocks - t)));
      continue;
    }
    for (std::int64_t t = 0; t < scale_blocks; t += 16) {
      const std::int64_t count = std::min<std::int64_t>(16, scale_blocks - t);
      const __m512 scaled = _mm512_mul_ps(load_some(scales + t, count), inverse);
      alignas(32) std::int16_t some[16];
      _mm256_store_si256(reinterpret_cast<__m256i*>(some),
                         _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(scaled)));
      for (std::int64_t i = 0; i < count; ++i)
        std::fill_n(multipliers + (t + i) * repeats, repeats, some[i]);
    }
  }
}

}  // namespace anemone::kernels::simd::int8_split
#endif
