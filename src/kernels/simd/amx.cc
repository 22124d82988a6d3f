// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/amx.h"

#include <cmath>
#include <cstring>
#include <immintrin.h>

namespace anemone::kernels::simd::amx {
namespace {

constexpr std::int64_t kTileBytes = 1024;  // 16 rows of 64 bytes
constexpr int kSteps = 8191;               // 128 * 64 - 1

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

struct alignas(64) Sums {
  std::int32_t high[2][16][16];  // [row tile][row][column]
  std::int32_t low[2][16][16];
};

// Two row tiles by the two digits of one block of columns.
void multiply_block(const std::byte* weights, std::int64_t stride, const std::int8_t* digits,
                    std::int64_t steps, Sums& sums) {
  const std::int8_t* high = digits;
  const std::int8_t* low = digits + steps * kTileBytes;
  const std::byte* below = weights + 16 * stride;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t s = 0; s < steps; ++s) {
    _tile_loadd(4, weights + s * 64, stride);
    _tile_loadd(6, high + s * kTileBytes, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(7, low + s * kTileBytes, 64);
    _tile_dpbssd(2, 4, 7);
    _tile_loadd(5, below + s * 64, stride);
    _tile_dpbssd(1, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_stored(0, sums.high[0], 64);
  _tile_stored(1, sums.high[1], 64);
  _tile_stored(2, sums.low[0], 64);
  _tile_stored(3, sums.low[1], 64);
}

// Rows that do not make whole tiles, with zeros around them.
const std::byte* padded_rows(const Matrix& m, std::int64_t begin, std::int64_t count,
                             std::int64_t stride, std::byte* scratch) {
  std::memset(scratch, 0, static_cast<std::size_t>(kBlockRows * stride));
  for (std::int64_t r = 0; r < count; ++r)
    std::memcpy(scratch + r * stride, m.row(begin + r), static_cast<std::size_t>(m.columns));
  return scratch;
}

}  // namespace

Tiles::Tiles() {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = 16;
  }
  // GCC before 13 takes only the first eight bytes for an operand and may drop the other stores.
  asm volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}

Tiles::~Tiles() {
  _tile_release();
}

namespace {

// Sixteen numbers as two digits each.
struct Digits16 {
  __m512i high;
  __m512i low;
};
Digits16 split(__m512 x) {
  const __m512i q = _mm512_cvtps_epi32(x);
  const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(64)), 7);
  return {high, _mm512_sub_epi32(q, _mm512_slli_epi32(high, 7))};
}

__m512 load_sixteen(const Half* x) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}

// [step][k / 4 of 16][column][k % 4]
std::int64_t digit_place(std::int64_t k) {
  return (k / 64) * kTileBytes + (k % 64 / 4) * 64 + k % 4;
}

float scale_of(float most) {
  return most / static_cast<float>(kSteps);
}

// Digits of one column: the high ones at `high`, the low ones at `low`. Gives the scale.
float make_column(const Half* x, std::int64_t stride, std::int64_t depth, std::int8_t* high,
                  std::int8_t* low) {
  const std::int64_t whole = stride == 1 ? depth / 16 * 16 : 0;
  __m512 tops = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < whole; k += 16)
    tops = _mm512_max_ps(tops, _mm512_abs_ps(load_sixteen(x + k)));
  float most = _mm512_reduce_max_ps(tops);
  for (std::int64_t k = whole; k < depth; ++k) {
    const float size = std::fabs(to_float(x[k * stride]));
    most = size > most ? size : most;
  }
  if (most == 0) return 0;
  const float inverse = static_cast<float>(kSteps) / most;
  for (std::int64_t k = 0; k < whole; k += 16) {
    const Digits16 digits = split(_mm512_mul_ps(load_sixteen(x + k), _mm512_set1_ps(inverse)));
    std::int32_t fours[2][4];
    _mm_storeu_si128(reinterpret_cast<__m128i*>(fours[0]), _mm512_cvtepi32_epi8(digits.high));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(fours[1]), _mm512_cvtepi32_epi8(digits.low));
    for (int i = 0; i < 4; ++i) {
      std::memcpy(high + digit_place(k + 4 * i), &fours[0][i], 4);
      std::memcpy(low + digit_place(k + 4 * i), &fours[1][i], 4);
    }
  }
  for (std::int64_t k = whole; k < depth; ++k) {
    const int q = static_cast<int>(std::nearbyint(to_float(x[k * stride]) * inverse));
    const int rounded = (q + 64) >> 7;
    high[digit_place(k)] = static_cast<std::int8_t>(rounded);
    low[digit_place(k)] = static_cast<std::int8_t>(q - rounded * 128);
  }
  return scale_of(most);
}

// Sixteen columns that lie beside each other: four of their elements are a row of a tile.
void make_neighbours(const Half* x, std::int64_t stride, std::int64_t depth, std::int8_t* high,
                     std::int8_t* low, float* scales) {
  __m512 tops = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < depth; ++k)
    tops = _mm512_max_ps(tops, _mm512_abs_ps(load_sixteen(x + k * stride)));
  const __m512 steps = _mm512_set1_ps(static_cast<float>(kSteps));
  _mm512_storeu_ps(scales, _mm512_div_ps(tops, steps));
  const __mmask16 is_zero = _mm512_cmp_ps_mask(tops, _mm512_setzero_ps(), _CMP_EQ_OQ);
  const __m512 inverse =
      _mm512_mask_mov_ps(_mm512_div_ps(steps, tops), is_zero, _mm512_setzero_ps());
  const __m512i byte = _mm512_set1_epi32(0xff);
  for (std::int64_t k = 0; k < depth; k += 4) {
    __m512i high_row = _mm512_setzero_si512();
    __m512i low_row = _mm512_setzero_si512();
    for (int i = 0; i < 4 && k + i < depth; ++i) {
      const Digits16 digits = split(_mm512_mul_ps(load_sixteen(x + (k + i) * stride), inverse));
      const __m128i shift = _mm_cvtsi32_si128(8 * i);
      high_row =
          _mm512_or_si512(high_row, _mm512_sll_epi32(_mm512_and_si512(digits.high, byte), shift));
      low_row =
          _mm512_or_si512(low_row, _mm512_sll_epi32(_mm512_and_si512(digits.low, byte), shift));
    }
    _mm512_storeu_si512(high + digit_place(k), high_row);
    _mm512_storeu_si512(low + digit_place(k), low_row);
  }
}

bool are_neighbours(const Half* const* x) {
  if (x[0] == nullptr) return false;
  for (int n = 1; n < kBlockColumns; ++n)
    if (x[n] != x[0] + n) return false;
  return true;
}

}  // namespace

void make_digits(const Half* const* x, std::int64_t stride, std::int64_t depth, std::int8_t* digits,
                 float* scales) {
  const std::int64_t steps = round_up(depth, 64) / 64;
  std::int8_t* low = digits + steps * kTileBytes;
  std::memset(digits, 0, static_cast<std::size_t>(2 * steps * kTileBytes));
  if (are_neighbours(x)) return make_neighbours(x[0], stride, depth, digits, low, scales);
  for (int n = 0; n < kBlockColumns; ++n)
    scales[n] = x[n] == nullptr ? 0 : make_column(x[n], stride, depth, digits + n * 4, low + n * 4);
}

void make_few_digits(const Half* const* x, std::int64_t stride, std::int64_t depth,
                     std::int8_t* digits, float* scales) {
  const std::int64_t steps = round_up(depth, 64) / 64;
  std::memset(digits, 0, static_cast<std::size_t>(steps * kTileBytes));
  for (int n = 0; n < kFewColumns; ++n)
    scales[n] = x[n] == nullptr ? 0
                                : make_column(x[n], stride, depth, digits + n * 4,
                                              digits + (kFewColumns + n) * 4);
}

namespace {

// The rows of a block with whole tiles: as they lie, or with zeros around them.
struct Rows {
  const std::byte* data;
  std::int64_t stride;
};
Rows block_rows(const Matrix& matrix, std::int64_t begin, std::int64_t end, std::byte* scratch) {
  const std::int64_t depth = round_up(matrix.columns, 64);
  if (end - begin == kBlockRows && depth == matrix.columns) return {matrix.row(begin), depth};
  // Rows of 64 bytes more, so that they do not all fall into the same sets of the cache.
  return {padded_rows(matrix, begin, end - begin, depth + 64, scratch), depth + 64};
}

}  // namespace

void multiply_few(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                  const std::int8_t* digits, const float* scales, float* out, std::byte* scratch) {
  const std::int64_t steps = round_up(matrix.columns, 64) / 64;
  const Rows rows = block_rows(matrix, begin, end, scratch);
  const std::byte* below = rows.data + 16 * rows.stride;
  // Two sums a row tile, in turn: one would wait for the product before.
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  // The rows that come next are one run of memory: they are asked for while these are at work.
  const std::byte* ahead = matrix.row(begin) + kBlockRows * matrix.columns;
  const std::byte* last = matrix.row(matrix.rows - 1) + matrix.columns;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (int line = 0; line < kBlockRows; ++line, ahead += 64)
      if (ahead < last) _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
    _tile_loadd(6, digits + s * kTileBytes, 64);
    _tile_loadd(4, rows.data + s * 64, rows.stride);
    _tile_loadd(5, below + s * 64, rows.stride);
    if (s % 2 == 0) {
      _tile_dpbssd(0, 4, 6);
      _tile_dpbssd(1, 5, 6);
    } else {
      _tile_dpbssd(2, 4, 6);
      _tile_dpbssd(3, 5, 6);
    }
  }
  alignas(64) std::int32_t sums[2][2][16][16];  // [turn][row tile][row][column]
  _tile_stored(0, sums[0][0], 64);
  _tile_stored(1, sums[0][1], 64);
  _tile_stored(2, sums[1][0], 64);
  _tile_stored(3, sums[1][1], 64);
  const __m256 column_scales = _mm256_loadu_ps(scales);
  for (std::int64_t r = 0; r < end - begin; ++r) {
    const __m512i both = _mm512_add_epi32(_mm512_load_si512(sums[0][r / 16][r % 16]),
                                          _mm512_load_si512(sums[1][r / 16][r % 16]));
    const __m256 high = _mm256_cvtepi32_ps(_mm512_castsi512_si256(both));
    const __m256 low = _mm256_cvtepi32_ps(_mm512_extracti64x4_epi64(both, 1));
    const __m256 sum = _mm256_fmadd_ps(high, _mm256_set1_ps(128.0f), low);
    const __m256 scale = _mm256_mul_ps(column_scales, _mm256_set1_ps(matrix.scale(begin + r, 0)));
    _mm256_storeu_ps(out + r * kFewColumns, _mm256_mul_ps(sum, scale));
  }
}

void multiply(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::int8_t* digits,
              const float* scales, std::int64_t blocks, float* out, std::int64_t ldo,
              std::byte* scratch) {
  const std::int64_t steps = round_up(matrix.columns, 64) / 64;
  const Rows rows = block_rows(matrix, begin, end, scratch);
  float row_scales[kBlockRows];
  for (std::int64_t r = begin; r < end; ++r) row_scales[r - begin] = matrix.scale(r, 0);
  Sums sums;
  for (std::int64_t b = 0; b < blocks; ++b) {
    multiply_block(rows.data, rows.stride, digits + b * 2 * steps * kTileBytes, steps, sums);
    const __m512 column_scales = _mm512_loadu_ps(scales + b * kBlockColumns);
    for (std::int64_t r = 0; r < end - begin; ++r) {
      const __m512 high = _mm512_cvtepi32_ps(_mm512_load_si512(sums.high[r / 16][r % 16]));
      const __m512 low = _mm512_cvtepi32_ps(_mm512_load_si512(sums.low[r / 16][r % 16]));
      const __m512 both = _mm512_fmadd_ps(high, _mm512_set1_ps(128.0f), low);
      _mm512_storeu_ps(
          out + r * ldo + b * kBlockColumns,
          _mm512_mul_ps(both, _mm512_mul_ps(column_scales, _mm512_set1_ps(row_scales[r]))));
    }
  }
}

}  // namespace anemone::kernels::simd::amx
#endif
