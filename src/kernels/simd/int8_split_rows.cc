// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/int8_split_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/simd/int8_split_vectors.h"

namespace anemone::kernels::simd::int8_split {
namespace {

constexpr std::int64_t kStep = 64;  // elements of a row

// The functions below that expand rows keep addresses and strides in local variables: stores of
// bytes may alias any object, so the compiler would load members again after each.

__mmask64 first_bits(std::int64_t count) {
  return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

// The first `count` bytes of 64, zeros after them.
__m512i load_bytes(const std::byte* p, std::int64_t count) {
  return _mm512_maskz_loadu_epi8(first_bits(count), p);
}
__m256i load_half_bytes(const std::byte* p, std::int64_t count) {
  const __mmask32 mask = count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
  return _mm256_maskz_loadu_epi8(mask, p);
}

// 32 bytes of two nibbles each as 64 bytes of one, low nibbles first.
__m512i spread_nibbles(__m256i packed) {
  const __m512i wide = _mm512_cvtepu8_epi16(packed);
  return _mm512_and_si512(_mm512_or_si512(wide, _mm512_slli_epi16(wide, 4)),
                          _mm512_set1_epi16(0x0f0f));
}

}  // namespace

void RowBlock::expand(std::int64_t step, std::int64_t first, std::int64_t count, std::int8_t* high,
                      std::int8_t* low, ExpandPalettes expand_palettes) const {
  const Part part{step, first, std::min(first + count, rows_), high, low};
  switch (matrix_.form) {
    case Matrix::Form::kPalette:
      return matrix_.bits == 4 ? expand_nibbles(part) : expand_palettes(*this, part);
    case Matrix::Form::kHalf:
      return expand_halves(part);
    case Matrix::Form::kInt4:
      return has_low_ ? expand_int4_blocks(part) : expand_nibbles(part);
    case Matrix::Form::kInt8:
    case Matrix::Form::kFloat:
      break;
  }
  if (has_low_) return expand_int8_blocks(part);
  for (std::int64_t r = part.begin; r < part.end; ++r)
    _mm512_store_si512(
        high + (r - part.begin) * kStep,
        load_bytes(matrix_.row(begin_ + r) + step * kStep, matrix_.k - step * kStep));
}

// Palettes of 16, and int4 of one part.
void RowBlock::expand_nibbles(const Part& p) const {
  const auto mask = static_cast<__mmask32>(first_bits((matrix_.k - p.step * kStep + 1) / 2));
  const std::int64_t row_bytes = matrix_.row_bytes();
  const std::int64_t end = p.end;
  const std::byte* from = matrix_.row(begin_ + p.begin) + p.step * kStep / 2;
  std::int8_t* to_high = p.high;
  if (!has_low_) {
    const __m512i integers = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1));
    for (std::int64_t r = p.begin; r < end; ++r, from += row_bytes, to_high += kStep)
      _mm512_store_si512(
          to_high,
          _mm512_shuffle_epi8(integers, spread_nibbles(_mm256_maskz_loadu_epi8(mask, from))));
    return;
  }
  std::int8_t* to_low = p.low;
  for (std::int64_t r = p.begin; r < end; ++r) {
    const std::uint8_t* const table = tables_[r];
    PositiveParts::load(table, table + kStep)
        .find(spread_nibbles(_mm256_maskz_loadu_epi8(mask, from)))
        .store_signed(to_high, to_low);
    from += row_bytes;
    to_high += kStep;
    to_low += kStep;
  }
}

void RowBlock::expand_halves(const Part& p) const {
  const __mmask64 mask = first_bits(matrix_.k - p.step * kStep);
  const std::byte* from = matrix_.row(begin_ + p.begin) + p.step * kStep * 2;
  const std::int64_t row_bytes = matrix_.row_bytes();
  const std::int64_t end = p.end;
  std::int8_t* to_high = p.high;
  std::int8_t* to_low = p.low;
  for (std::int64_t r = p.begin; r < end; ++r) {
    parts_of_halves(from, mask, _mm512_set1_ps(inverse_scale(r))).store_signed(to_high, to_low);
    from += row_bytes;
    to_high += kStep;
    to_low += kStep;
  }
}

void RowBlock::expand_int8_blocks(const Part& p) const {
  const __mmask64 mask = first_bits(matrix_.k - p.step * kStep);
  const bool is_by_half = sum_depth(matrix_) == 32;
  const std::byte* from = matrix_.row(begin_ + p.begin) + p.step * kStep;
  const std::int64_t row_bytes = matrix_.row_bytes();
  const std::int16_t* some = multipliers(p.begin) + p.step * kStep / sum_depth(matrix_);
  const std::int64_t multipliers_per_row = multipliers_per_row_;
  const std::int64_t count = p.end - p.begin;
  std::int8_t* const to_high = p.high;
  std::int8_t* const to_low = p.low;
  for (std::int64_t i = 0; i < count; ++i, from += row_bytes, some += multipliers_per_row)
    parts_of_bytes(_mm512_maskz_loadu_epi8(mask, from),
                   is_by_half ? spread_two(some) : spread_four(some))
        .store_signed(to_high + i * kStep, to_low + i * kStep);
}

void RowBlock::expand_shifted(std::int64_t step, std::int64_t first, std::int64_t count,
                              std::int8_t* out) const {
  const std::int64_t bytes = (matrix_.k - step * kStep) / 2;
  const std::int64_t end = std::min(first + count, rows_);
  for (std::int64_t r = first; r < end; ++r, out += kStep)
    _mm512_store_si512(
        out, _mm512_xor_si512(
                 spread_nibbles(load_half_bytes(matrix_.row(begin_ + r) + step * kStep / 2, bytes)),
                 _mm512_set1_epi8(8)));
}

void RowBlock::expand_int4_blocks(const Part& p) const {
  const std::int64_t bytes = (matrix_.k - p.step * kStep) / 2;
  const std::byte* at = matrix_.row(begin_ + p.begin) + p.step * kStep / 2;
  const std::int64_t row_bytes = matrix_.row_bytes();
  const std::int16_t* factors = multipliers(p.begin) + 2 * p.step;
  const std::int64_t factors_per_row = multipliers_per_row_;
  const std::int64_t count = p.end - p.begin;
  std::int8_t* const to_high = p.high;
  std::int8_t* const to_low = p.low;
  for (std::int64_t i = 0; i < count; ++i, at += row_bytes, factors += factors_per_row) {
    const __m512i index = spread_nibbles(load_half_bytes(at, bytes));
    nibble_tables(spread_two(factors))
        .find(index)
        .store_signed(to_high + i * kStep, to_low + i * kStep);
  }
}

}  // namespace anemone::kernels::simd::int8_split
#endif
