// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/int8_split_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/simd/int8_split_vectors.h"

namespace anemone::kernels::simd::int8_split {
namespace {

constexpr float kSteps = 127 * 128;
constexpr std::int64_t kStep = 64;  // elements of a row

// Entries of a palette's table, so that a register holds it several times or it fills registers.
std::int64_t table_entries(int bits) {
  return std::max<std::int64_t>(64, std::int64_t{1} << bits);
}

// The first `count` bytes of 64, zeros behind them.
__m512i load_bytes(const std::byte* p, std::int64_t count) {
  const __mmask64 mask = count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
  return _mm512_maskz_loadu_epi8(mask, p);
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

void store_sixteen(__m512i integers, std::int8_t* out) {
  _mm_store_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(integers));
}

// Steps into which an int4 tile's scale is rounded. They are so few that times 8 they are within
// kSteps, and times the sum of 32 products with a part, 8 * 64 each, over the whole depth within 31
// bits.
float tile_steps(const Matrix& m) {
  return std::min(127.0F * 16,
                  0x7ffff000p0F / (32 * 8 * 64) / static_cast<float>(round_up(m.k, 32) / 32));
}

std::int64_t multiplier_count(const Matrix& m) {
  return round_up(m.k, 128) / 32;
}

// Prefetches `count` scales from `begin` behind these: they lie apart from the rows, so the
// processor does not foresee them. The address may lie behind the mapping: a prefetch is a hint and
// never faults.
void prefetch_scales(const Half* scales, std::int64_t begin, std::int64_t count) {
  auto at =
      reinterpret_cast<std::uintptr_t>(scales) + static_cast<std::uintptr_t>(begin) * sizeof(Half);
  for (const auto end = at + static_cast<std::uintptr_t>(count) * sizeof(Half); at < end; at += 64)
    _mm_prefetch(reinterpret_cast<const char*>(at), _MM_HINT_T0);
}

// The largest of a row's scales. The bits of fp16 without the sign have its order.
float largest(const Half* scales, std::int64_t count) {
  __m512i tops = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < count; i += 32) {
    const auto some = static_cast<__mmask32>(count - i >= 32 ? ~0u : (1u << (count - i)) - 1);
    tops = _mm512_max_epu16(tops, _mm512_and_si512(_mm512_maskz_loadu_epi16(some, scales + i),
                                                   _mm512_set1_epi16(0x7fff)));
  }
  const __m256i half =
      _mm256_max_epu16(_mm512_castsi512_si256(tops), _mm512_extracti64x4_epi64(tops, 1));
  const __m128i quarter =
      _mm_max_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  // The processor has an instruction for the smallest of eight integers only.
  const __m128i ones = _mm_set1_epi16(-1);
  const __m128i top = _mm_xor_si128(_mm_minpos_epu16(_mm_xor_si128(quarter, ones)), ones);
  return _mm_cvtss_f32(_mm_cvtph_ps(top));
}

}  // namespace

std::int64_t row_scratch_bytes(const Matrix& m) {
  if (m.form == Matrix::Form::kPalette) return kInt8BlockRows * 2 * table_entries(m.bits);
  if (m.form == Matrix::Form::kHalf || m.has_row_scale()) return 64;
  return round_up(m.form == Matrix::Form::kInt4
                      ? kInt8BlockRows * multiplier_count(m) * std::int64_t{sizeof(std::int16_t)}
                      : kInt8BlockRows * (m.k / m.tile_k) * std::int64_t{sizeof(float)},
                  64);
}

void row_tops(const Matrix& matrix, std::int64_t begin, std::int64_t end, float* out) {
  for (std::int64_t r = begin; r < end; ++r) {
    const auto* row = reinterpret_cast<const Half*>(matrix.row(r));
    __m512 tops = _mm512_setzero_ps();
    for (std::int64_t c = 0; c < matrix.k; c += 16)
      tops = _mm512_max_ps(tops, _mm512_abs_ps(load_some(row + c, matrix.k - c)));
    out[r] = _mm512_reduce_max_ps(tops);
  }
}

RowBlock::RowBlock(const Matrix& matrix, std::int64_t begin, std::int64_t end, std::byte* scratch)
    : matrix_(matrix), begin_(begin), rows_(end - begin) {
  const bool is_palette = matrix.form == Matrix::Form::kPalette;
  has_low_ = is_palette || matrix.form == Matrix::Form::kHalf || !matrix.has_row_scale();
  if (is_palette) {
    prepare_palettes(scratch);
  } else if (matrix.form == Matrix::Form::kHalf) {
    prepare_halves();
  } else if (has_low_) {
    if (matrix.form == Matrix::Form::kInt4)
      prepare_int4_tiles(scratch);
    else
      prepare_int8_tiles(scratch);
  } else {
    prepare_row_scales();
    if (matrix.form == Matrix::Form::kInt8 && rows_ == kInt8BlockRows && matrix.k % kStep == 0)
      in_place_ = matrix.row(begin);
  }
}

// Integer divisions are slow beside the other work for a row: instead of dividing for each row, the
// loop counts how many rows still have the same scale.
void RowBlock::prepare_row_scales() {
  const Half* scales = matrix_.scales_at(begin_, 0);
  if (matrix_.tile_rows == 1) {
    prefetch_scales(scales, kInt8BlockRows, kInt8BlockRows);
    for (std::int64_t r = 0; r < rows_; r += 16)
      _mm512_store_ps(scales_ + r, load_some(scales + r, rows_ - r));
    return;
  }
  std::int64_t left = matrix_.tile_rows - begin_ % matrix_.tile_rows;  // rows of this scale
  for (std::int64_t r = 0; r < rows_; ++r) {
    scales_[r] = to_float(*scales);
    if (--left > 0) continue;
    left = matrix_.tile_rows;
    ++scales;
  }
}

void RowBlock::prepare_palettes(std::byte* scratch) {
  const std::int64_t entries = std::int64_t{1} << matrix_.bits;
  const std::int64_t places = table_entries(matrix_.bits);
  auto* table = reinterpret_cast<std::int8_t*>(scratch);
  std::int64_t group = begin_ / matrix_.group;
  std::int64_t left = (group + 1) * matrix_.group - begin_;  // rows of this palette
  for (std::int64_t r = 0; r < rows_; ++group, left = matrix_.group) {
    const Half* palette = matrix_.palette + (group << matrix_.bits);
    __m512 tops = _mm512_setzero_ps();
    for (std::int64_t i = 0; i < entries; i += 16)
      tops = _mm512_max_ps(tops, _mm512_abs_ps(load_sixteen(palette + i)));
    const float most = _mm512_reduce_max_ps(tops);
    const __m512 inverse = _mm512_set1_ps(most == 0 ? 0 : kSteps / most);
    for (std::int64_t i = 0; i < places; i += 16) {
      const Int8Split16 parts = split(_mm512_mul_ps(load_sixteen(palette + i % entries), inverse));
      store_sixteen(parts.high, table + i);
      store_sixteen(parts.low, table + places + i);
    }
    for (; r < rows_ && left > 0; ++r, --left) {
      tables_[r] = table;
      scales_[r] = 128 * most / kSteps;
    }
    table += 2 * places;
  }
}

void RowBlock::prepare_halves() {
  for (std::int64_t r = 0; r < rows_; ++r) scales_[r] = 128 * matrix_.tops[begin_ + r] / kSteps;
}

void RowBlock::prepare_int8_tiles(std::byte* scratch) {
  const std::int64_t tiles = matrix_.k / matrix_.tile_k;
  auto* factors = reinterpret_cast<float*>(scratch);
  factors_ = factors;
  for (std::int64_t r = 0; r < rows_; ++r) {
    const Half* scales = matrix_.scales_at(begin_ + r, 0);
    const float most = largest(scales, tiles);
    const float inverse = most == 0 ? 0 : kSteps / 128 / most;
    scales_[r] = 128 * most / (kSteps / 128);
    for (std::int64_t t = 0; t < tiles; ++t) factors[r * tiles + t] = to_float(scales[t]) * inverse;
  }
}

// Every scale in steps of the row's largest.
void RowBlock::prepare_int4_tiles(std::byte* scratch) {
  const std::int64_t tiles = matrix_.k / matrix_.tile_k;
  const std::int64_t repeats = matrix_.tile_k / 32;
  auto* multipliers = reinterpret_cast<std::int16_t*>(scratch);
  multipliers_ = multipliers;
  multipliers_per_row_ = multiplier_count(matrix_);
  const Half* scales = matrix_.scales_at(begin_, 0);
  const float steps = tile_steps(matrix_);
  std::int64_t left = matrix_.tile_rows - begin_ % matrix_.tile_rows;  // rows of these scales
  for (std::int64_t r = 0; r < rows_; ++r, multipliers += multipliers_per_row_) {
    if (left == 0) {
      left = matrix_.tile_rows;
      scales += tiles;
    }
    --left;
    prefetch_scales(scales, kInt8BlockRows * tiles, tiles);
    const float most = largest(scales, tiles);
    const __m512 inverse = _mm512_set1_ps(most == 0 ? 0 : steps / most);
    scales_[r] = 128 * most / steps;
    if (repeats == 1) {
      const auto steps_of = [&](__m512 some) {
        return _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(_mm512_mul_ps(some, inverse)));
      };
      std::int64_t t = 0;
      for (; t + 16 <= tiles; t += 16)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(multipliers + t),
                            steps_of(load_sixteen(scales + t)));
      if (t < tiles)
        _mm256_mask_storeu_epi16(multipliers + t, static_cast<__mmask16>((1u << (tiles - t)) - 1),
                                 steps_of(load_some(scales + t, tiles - t)));
      continue;
    }
    for (std::int64_t t = 0; t < tiles; t += 16) {
      const std::int64_t count = std::min<std::int64_t>(16, tiles - t);
      const __m512 scaled = _mm512_mul_ps(load_some(scales + t, count), inverse);
      alignas(32) std::int16_t some[16];
      _mm256_store_si256(reinterpret_cast<__m256i*>(some),
                         _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(scaled)));
      for (std::int64_t i = 0; i < count; ++i)
        std::fill_n(multipliers + (t + i) * repeats, repeats, some[i]);
    }
  }
}

void RowBlock::expand(std::int64_t step, std::int64_t first, std::int64_t count, std::int8_t* high,
                      std::int8_t* low) const {
  const Part part{step, first, std::min(first + count, rows_), high, low};
  switch (matrix_.form) {
    case Matrix::Form::kPalette:
      if (matrix_.bits == 4) return expand_nibbles(part);
      if (matrix_.bits == 6) return expand_six_bits(part);
      return expand_bytes(part);
    case Matrix::Form::kHalf:
      return expand_halves(part);
    case Matrix::Form::kInt4:
      return has_low_ ? expand_int4_tiles(part) : expand_nibbles(part);
    case Matrix::Form::kInt8:
    case Matrix::Form::kFloat:
      break;
  }
  if (has_low_) return expand_int8_tiles(part);
  for (std::int64_t r = part.begin; r < part.end; ++r)
    _mm512_store_si512(
        high + (r - part.begin) * kStep,
        load_bytes(matrix_.row(begin_ + r) + step * kStep, matrix_.k - step * kStep));
}

// The parts of a palette of at most 64 entries, in registers.
struct Table64 {
  explicit Table64(const std::int8_t* table)
      : high(_mm512_load_si512(table)), low(_mm512_load_si512(table + 64)) {}
  __m512i high;
  __m512i low;
};
// The parts of a palette of 256 entries: two tables of two registers each, between which the top
// bit of an index chooses.
struct Table256 {
  explicit Table256(const std::int8_t* table) {
    for (int i = 0; i < 4; ++i) {
      high[i] = _mm512_load_si512(table + 64 * i);
      low[i] = _mm512_load_si512(table + 256 + 64 * i);
    }
  }
  static __m512i find(const __m512i parts[4], __m512i index, __mmask64 is_upper) {
    return _mm512_mask_blend_epi8(is_upper, _mm512_permutex2var_epi8(parts[0], index, parts[1]),
                                  _mm512_permutex2var_epi8(parts[2], index, parts[3]));
  }
  __m512i high[4];
  __m512i low[4];
};

// body(row, table) for each row of the part; a table that several rows have is loaded once.
template <typename Table, typename Body>
void RowBlock::for_palettes(const Part& p, const Body& body) const {
  for (std::int64_t r = p.begin; r < p.end;) {
    const std::int8_t* const address = tables_[r];
    const Table table(address);
    for (; r < p.end && tables_[r] == address; ++r) body(r, table);
  }
}

// Palettes of 16, and int4 of one part.
void RowBlock::expand_nibbles(const Part& p) const {
  const std::int64_t bytes = (matrix_.k - p.step * kStep + 1) / 2;
  const std::int64_t row_bytes = matrix_.row_bytes();
  const std::byte* const first = matrix_.row(begin_) + p.step * kStep / 2;
  if (!has_low_) {
    const __m512i integers = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1));
    for (std::int64_t r = p.begin; r < p.end; ++r) {
      const __m512i index = spread_nibbles(load_half_bytes(first + r * row_bytes, bytes));
      _mm512_store_si512(p.high + (r - p.begin) * kStep, _mm512_shuffle_epi8(integers, index));
    }
    return;
  }
  for_palettes<Table64>(p, [&](std::int64_t r, const Table64& table) {
    const __m512i index = spread_nibbles(load_half_bytes(first + r * row_bytes, bytes));
    _mm512_store_si512(p.high + (r - p.begin) * kStep, _mm512_shuffle_epi8(table.high, index));
    _mm512_store_si512(p.low + (r - p.begin) * kStep, _mm512_shuffle_epi8(table.low, index));
  });
}

// Eight indices are six bytes: they go to the eight bytes of a lane, each shifted into its own.
void RowBlock::expand_six_bits(const Part& p) const {
  const std::int64_t bytes = std::min<std::int64_t>(48, ((matrix_.k - p.step * kStep) * 6 + 7) / 8);
  alignas(64) std::int8_t places[64];
  for (int i = 0; i < 64; ++i) places[i] = static_cast<std::int8_t>(i / 8 * 6 + i % 8);
  const __m512i sixes = _mm512_load_si512(places);
  const __m512i shifts = _mm512_set1_epi64(0x2a241e18120c0600);  // 0, 6, 12, ... 42
  const std::int64_t row_bytes = matrix_.row_bytes();
  const std::byte* const first = matrix_.row(begin_) + p.step * kStep * 6 / 8;
  for_palettes<Table64>(p, [&](std::int64_t r, const Table64& table) {
    const __m512i packed = load_bytes(first + r * row_bytes, bytes);
    const __m512i index = _mm512_multishift_epi64_epi8(
        shifts, _mm512_permutexvar_epi8(sixes, packed));  // the tables take the low six bits
    _mm512_store_si512(p.high + (r - p.begin) * kStep, _mm512_permutexvar_epi8(index, table.high));
    _mm512_store_si512(p.low + (r - p.begin) * kStep, _mm512_permutexvar_epi8(index, table.low));
  });
}

void RowBlock::expand_bytes(const Part& p) const {
  const std::int64_t bytes = matrix_.k - p.step * kStep;
  const std::int64_t row_bytes = matrix_.row_bytes();
  const std::byte* const first = matrix_.row(begin_) + p.step * kStep;
  for_palettes<Table256>(p, [&](std::int64_t r, const Table256& table) {
    const __m512i index = load_bytes(first + r * row_bytes, bytes);
    const __mmask64 is_upper = _mm512_movepi8_mask(index);
    _mm512_store_si512(p.high + (r - p.begin) * kStep, Table256::find(table.high, index, is_upper));
    _mm512_store_si512(p.low + (r - p.begin) * kStep, Table256::find(table.low, index, is_upper));
  });
}

void RowBlock::expand_halves(const Part& p) const {
  const std::int64_t left = matrix_.k - p.step * kStep;
  for (std::int64_t r = p.begin; r < p.end; ++r) {
    const auto* row = reinterpret_cast<const Half*>(matrix_.row(begin_ + r)) + p.step * kStep;
    const __m512 inverse = _mm512_set1_ps(inverse_scale(r));
    for (std::int64_t c = 0; c < kStep && c < left; c += 16) {
      const Int8Split16 parts = split(_mm512_mul_ps(load_some(row + c, left - c), inverse));
      store_sixteen(parts.high, p.high + (r - p.begin) * kStep + c);
      store_sixteen(parts.low, p.low + (r - p.begin) * kStep + c);
    }
  }
}

void RowBlock::expand_int8_tiles(const Part& p) const {
  const std::int64_t tiles = matrix_.k / matrix_.tile_k;
  for (std::int64_t r = p.begin; r < p.end; ++r)
    for (std::int64_t c = p.step * kStep; c < std::min(matrix_.k, (p.step + 1) * kStep); c += 16) {
      const __m128i bytes =
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(matrix_.row(begin_ + r) + c));
      const __m512 factor = _mm512_set1_ps(factors_[r * tiles + c / matrix_.tile_k]);
      const Int8Split16 parts =
          split(_mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)), factor));
      store_sixteen(parts.high, p.high + (r - p.begin) * kStep + c % kStep);
      store_sixteen(parts.low, p.low + (r - p.begin) * kStep + c % kStep);
    }
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

void RowBlock::expand_int4_tiles(const Part& p) const {
  const std::int64_t bytes = (matrix_.k - p.step * kStep) / 2;
  // Elements 0 to 31 of the step lie in the lower two lanes.
  const __m512i by_lane =
      _mm512_inserti64x4(_mm512_set1_epi16(0x0100), _mm256_set1_epi16(0x0302), 1);
  const __m512i low_offset = _mm512_set1_epi8(64);
  const __m512i high_offset = _mm512_set1_epi8(-128);
  const std::byte* at = matrix_.row(begin_ + p.begin) + p.step * kStep / 2;
  for (std::int64_t r = p.begin; r < p.end; ++r, at += matrix_.row_bytes()) {
    std::int32_t two;
    std::memcpy(&two, multipliers(r) + 2 * p.step, sizeof(two));
    const NibbleTables tables(_mm512_shuffle_epi8(_mm512_set1_epi32(two), by_lane));
    const __m512i index = spread_nibbles(load_half_bytes(at, bytes));
    _mm512_store_si512(p.high + (r - p.begin) * kStep,
                       _mm512_xor_si512(_mm512_shuffle_epi8(tables.high, index), high_offset));
    _mm512_store_si512(p.low + (r - p.begin) * kStep,
                       _mm512_sub_epi8(_mm512_shuffle_epi8(tables.low, index), low_offset));
  }
}

}  // namespace anemone::kernels::simd::int8_split
#endif
