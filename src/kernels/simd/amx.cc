// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/amx.h"

#include "kernels/simd/amx_digits.h"
#include "kernels/simd/amx_rows.h"

namespace anemone::kernels::simd::amx {
namespace {

constexpr std::int64_t kRowTileBytes = kBlockRows * 64;  // of one digit of a step

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

std::int64_t steps_of(const Matrix& matrix) {
  return round_up(matrix.columns, 64) / 64;
}

// Two row tiles of weights, step by step, as they lie in memory: one digit or two.
struct RowTiles {
  const std::byte* high = nullptr;
  const std::byte* low = nullptr;
  std::int64_t stride = 64;                 // from row to row
  std::int64_t step_bytes = kRowTileBytes;  // from step to step
};

struct alignas(64) Sums {
  // [row tile][row][column]. One digit of weights by each digit of the columns; or of two digits
  // the product of the high ones, and both mixed ones together.
  std::int32_t high[2][16][16];
  std::int32_t low[2][16][16];
};

// One block of columns. Tiles 0 and 1 are sums.high, 2 and 3 sums.low.
template <bool kHasLow>
void multiply_block(const RowTiles& rows, const std::int8_t* digits, std::int64_t steps,
                    Sums& sums) {
  const std::int8_t* high = digits;
  const std::int8_t* low = digits + steps * kTileBytes;
  const std::int64_t below = 16 * rows.stride;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t s = 0; s < steps; ++s) {
    const std::byte* at = rows.high + s * rows.step_bytes;
    _tile_loadd(4, at, rows.stride);
    _tile_loadd(6, high + s * kTileBytes, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(7, low + s * kTileBytes, 64);
    _tile_dpbssd(2, 4, 7);
    _tile_loadd(5, at + below, rows.stride);
    _tile_dpbssd(1, 5, 6);
    _tile_dpbssd(3, 5, 7);
    if constexpr (kHasLow) {
      const std::byte* low_at = rows.low + s * rows.step_bytes;
      _tile_loadd(4, low_at, rows.stride);
      _tile_dpbssd(2, 4, 6);
      _tile_loadd(5, low_at + below, rows.stride);
      _tile_dpbssd(3, 5, 6);
    }
  }
  _tile_stored(0, sums.high[0], 64);
  _tile_stored(1, sums.high[1], 64);
  _tile_stored(2, sums.low[0], 64);
  _tile_stored(3, sums.low[1], 64);
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

std::int64_t scratch_bytes(const Matrix& matrix) {
  return row_scratch_bytes(matrix) + 2 * steps_of(matrix) * kRowTileBytes;
}

void multiply(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::int8_t* digits,
              const float* scales, std::int64_t blocks, float* out, std::int64_t ldo,
              std::byte* scratch) {
  const std::int64_t steps = steps_of(matrix);
  const RowBlock block(matrix, begin, end, scratch);
  RowTiles rows;
  if (block.in_place() != nullptr) {
    rows = {block.in_place(), nullptr, matrix.columns, 64};
  } else {
    auto* high = reinterpret_cast<std::int8_t*>(scratch + row_scratch_bytes(matrix));
    auto* low = high + steps * kRowTileBytes;
    for (std::int64_t s = 0; s < steps; ++s)
      block.expand(s, high + s * kRowTileBytes, low + s * kRowTileBytes);
    rows.high = reinterpret_cast<const std::byte*>(high);
    rows.low = reinterpret_cast<const std::byte*>(low);
  }
  Sums sums;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int8_t* columns = digits + b * 2 * steps * kTileBytes;
    if (block.has_low())
      multiply_block<true>(rows, columns, steps, sums);
    else
      multiply_block<false>(rows, columns, steps, sums);
    const __m512 column_scales = _mm512_loadu_ps(scales + b * kBlockColumns);
    for (std::int64_t r = 0; r < end - begin; ++r) {
      const __m512 high = _mm512_cvtepi32_ps(_mm512_load_si512(sums.high[r / 16][r % 16]));
      const __m512 low = _mm512_cvtepi32_ps(_mm512_load_si512(sums.low[r / 16][r % 16]));
      const __m512 both = _mm512_fmadd_ps(high, _mm512_set1_ps(128.0f), low);
      _mm512_storeu_ps(
          out + r * ldo + b * kBlockColumns,
          _mm512_mul_ps(both, _mm512_mul_ps(column_scales, _mm512_set1_ps(block.scales()[r]))));
    }
  }
}

namespace {

// [tile][row][column], where columns 0 to 7 are high digits and 8 to 15 low ones.
struct alignas(64) FewSums {
  std::int32_t tiles[4][16][16];
};

// One digit of weights. Two sums a row tile, in turn: one would wait for the product before.
void multiply_one_digit(const Matrix& matrix, const RowBlock& block, std::int64_t begin,
                        const std::int8_t* digits, std::int8_t* expanded) {
  const std::int64_t steps = steps_of(matrix);
  const std::int64_t stride = block.in_place() != nullptr ? matrix.columns : 64;
  // The rows that come next are one run of memory: they are asked for while these are at work.
  const std::byte* ahead = matrix.row(begin) + kBlockRows * matrix.row_bytes();
  const std::byte* last = matrix.row(matrix.rows - 1) + matrix.row_bytes();
  const std::int64_t lines = kBlockRows * matrix.row_bytes() / 64 / steps;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (std::int64_t line = 0; line < lines; ++line, ahead += 64)
      if (ahead < last) _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
    const std::byte* at = block.in_place() + s * 64;
    if (block.in_place() == nullptr) {
      std::int8_t* turn = expanded + s % 2 * kRowTileBytes;
      block.expand(s, turn, nullptr);
      at = reinterpret_cast<const std::byte*>(turn);
    }
    _tile_loadd(6, digits + s * kTileBytes, 64);
    _tile_loadd(4, at, stride);
    _tile_loadd(5, at + 16 * stride, stride);
    if (s % 2 == 0) {
      _tile_dpbssd(0, 4, 6);
      _tile_dpbssd(1, 5, 6);
    } else {
      _tile_dpbssd(2, 4, 6);
      _tile_dpbssd(3, 5, 6);
    }
  }
}

// Two digits of weights: tiles 0 and 1 for the high ones, 2 and 3 for the low ones.
void multiply_two_digits(const Matrix& matrix, const RowBlock& block, std::int64_t begin,
                         const std::int8_t* digits, std::int8_t* expanded) {
  const std::int64_t steps = steps_of(matrix);
  const std::byte* ahead = matrix.row(begin) + kBlockRows * matrix.row_bytes();
  const std::byte* last = matrix.row(matrix.rows - 1) + matrix.row_bytes();
  const std::int64_t lines = (kBlockRows * matrix.row_bytes() + 64 * steps - 1) / 64 / steps;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (std::int64_t line = 0; line < lines; ++line, ahead += 64)
      if (ahead < last) _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
    std::int8_t* high = expanded + s % 2 * 2 * kRowTileBytes;
    std::int8_t* low = high + kRowTileBytes;
    block.expand(s, high, low);
    _tile_loadd(6, digits + s * kTileBytes, 64);
    _tile_loadd(4, high, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(5, high + kTileBytes, 64);
    _tile_dpbssd(1, 5, 6);
    _tile_loadd(4, low, 64);
    _tile_dpbssd(2, 4, 6);
    _tile_loadd(5, low + kTileBytes, 64);
    _tile_dpbssd(3, 5, 6);
  }
}

__m512 upper_half(__m512i integers) {
  return _mm512_cvtepi32_ps(_mm512_castsi256_si512(_mm512_extracti64x4_epi64(integers, 1)));
}

}  // namespace

void multiply_few(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                  const std::int8_t* digits, const float* scales, float* out, std::byte* scratch) {
  const RowBlock block(matrix, begin, end, scratch);
  auto* expanded = reinterpret_cast<std::int8_t*>(scratch + row_scratch_bytes(matrix));
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (block.has_low())
    multiply_two_digits(matrix, block, begin, digits, expanded);
  else
    multiply_one_digit(matrix, block, begin, digits, expanded);
  FewSums sums;
  _tile_stored(0, sums.tiles[0], 64);
  _tile_stored(1, sums.tiles[1], 64);
  _tile_stored(2, sums.tiles[2], 64);
  _tile_stored(3, sums.tiles[3], 64);
  const __m256 column_scales = _mm256_loadu_ps(scales);
  for (std::int64_t r = 0; r < end - begin; ++r) {
    const __m512i first = _mm512_load_si512(sums.tiles[r / 16][r % 16]);
    const __m512i second = _mm512_load_si512(sums.tiles[2 + r / 16][r % 16]);
    __m512 high;
    __m512 low;
    if (block.has_low()) {
      // high * (high | low), low * (high | low): the mixed ones count together.
      high = _mm512_cvtepi32_ps(first);
      const __m512i mixed = _mm512_add_epi32(_mm512_shuffle_i64x2(first, first, 0x4e), second);
      low = _mm512_cvtepi32_ps(mixed);
    } else {
      const __m512i both = _mm512_add_epi32(first, second);
      high = _mm512_cvtepi32_ps(both);
      low = upper_half(both);
    }
    const __m256 sum = _mm256_fmadd_ps(_mm512_castps512_ps256(high), _mm256_set1_ps(128.0f),
                                       _mm512_castps512_ps256(low));
    const __m256 scale = _mm256_mul_ps(column_scales, _mm256_set1_ps(block.scales()[r]));
    _mm256_storeu_ps(out + r * kFewColumns, _mm256_mul_ps(sum, scale));
  }
}

}  // namespace anemone::kernels::simd::amx
#endif
