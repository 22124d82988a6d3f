// SPDX-License-Identifier: Apache-2.0
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

void make_digits(const Half* const* x, std::int64_t stride, std::int64_t depth, std::int8_t* digits,
                 float* scales) {
  const std::int64_t steps = round_up(depth, 64) / 64;
  std::memset(digits, 0, static_cast<std::size_t>(2 * steps * kTileBytes));
  std::int8_t* low_digits = digits + steps * kTileBytes;
  for (int n = 0; n < kBlockColumns; ++n) {
    scales[n] = 0;
    if (x[n] == nullptr) continue;
    float most = 0;
    for (std::int64_t k = 0; k < depth; ++k)
      most = std::fmax(most, std::fabs(to_float(x[n][k * stride])));
    if (most == 0) continue;
    scales[n] = most / static_cast<float>(kSteps);
    const float inverse = static_cast<float>(kSteps) / most;
    for (std::int64_t k = 0; k < depth; ++k) {
      const int q = static_cast<int>(std::nearbyint(to_float(x[n][k * stride]) * inverse));
      const int high = (q + 64) >> 7;
      // [step][k / 4 of 16][column][k % 4]
      const std::int64_t at = (k / 64) * kTileBytes + (k % 64 / 4) * 64 + n * 4 + k % 4;
      digits[at] = static_cast<std::int8_t>(high);
      low_digits[at] = static_cast<std::int8_t>(q - high * 128);
    }
  }
}

void multiply(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::int8_t* digits,
              const float* scales, std::int64_t blocks, float* out, std::int64_t ldo,
              std::byte* scratch) {
  const std::int64_t depth = round_up(matrix.columns, 64);
  const std::int64_t steps = depth / 64;
  const std::byte* weights = matrix.row(begin);
  std::int64_t stride = matrix.columns;
  if (end - begin < kBlockRows || depth != matrix.columns) {
    // Rows of 64 bytes more, so that they do not all fall into the same sets of the cache.
    stride = depth + 64;
    weights = padded_rows(matrix, begin, end - begin, stride, scratch);
  }
  float row_scales[kBlockRows];
  for (std::int64_t r = begin; r < end; ++r) row_scales[r - begin] = matrix.scale(r, 0);
  Sums sums;
  for (std::int64_t b = 0; b < blocks; ++b) {
    multiply_block(weights, stride, digits + b * 2 * steps * kTileBytes, steps, sums);
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
