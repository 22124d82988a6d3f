// SPDX-License-Identifier: Apache-2.0
// Columns of activations as parts.
#if defined(__x86_64__)
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/simd/int8_split.h"
#include "kernels/simd/int8_split_vectors.h"

namespace anemone::kernels::simd::int8_split {
namespace {

constexpr int kSteps = 8191;  // 128 * 64 - 1

// [step][k / 4 of 16][column][k % 4]
std::int64_t part_place(std::int64_t k) {
  return (k / 64) * kTileBytes + (k % 64 / 4) * 64 + k % 4;
}

float scale_of(float most) {
  return most / static_cast<float>(kSteps);
}

// The integers of a column with an infinity or NaN mean nothing, so its scale must be NaN: 0 times
// each element is added to what comes out as 0 otherwise.
__m512 add_not_finite(__m512 sum, __m512 x) {
  return _mm512_fmadd_ps(x, _mm512_setzero_ps(), sum);
}

// Sixteen columns that lie beside each other: four of their elements are a row of a tile.
void make_neighbours(const Half* x, std::int64_t stride, std::int64_t depth, std::int8_t* high,
                     std::int8_t* low, float* scales) {
  __m512 tops = _mm512_setzero_ps();
  __m512 not_finite = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < depth; ++k) {
    const __m512 row = load_sixteen(x + k * stride);
    tops = _mm512_max_ps(tops, _mm512_abs_ps(row));
    not_finite = add_not_finite(not_finite, row);
  }
  const __m512 steps = _mm512_set1_ps(static_cast<float>(kSteps));
  _mm512_storeu_ps(scales, _mm512_add_ps(_mm512_div_ps(tops, steps), not_finite));
  const __mmask16 is_zero = _mm512_cmp_ps_mask(tops, _mm512_setzero_ps(), _CMP_EQ_OQ);
  const __m512 inverse =
      _mm512_mask_mov_ps(_mm512_div_ps(steps, tops), is_zero, _mm512_setzero_ps());
  const __m512i byte = _mm512_set1_epi32(0xff);
  for (std::int64_t k = 0; k < depth; k += 4) {
    __m512i high_row = _mm512_setzero_si512();
    __m512i low_row = _mm512_setzero_si512();
    for (int i = 0; i < 4 && k + i < depth; ++i) {
      const Int8Split16 parts = split(_mm512_mul_ps(load_sixteen(x + (k + i) * stride), inverse));
      const __m128i shift = _mm_cvtsi32_si128(8 * i);
      high_row =
          _mm512_or_si512(high_row, _mm512_sll_epi32(_mm512_and_si512(parts.high, byte), shift));
      low_row =
          _mm512_or_si512(low_row, _mm512_sll_epi32(_mm512_and_si512(parts.low, byte), shift));
    }
    _mm512_storeu_si512(high + part_place(k), high_row);
    _mm512_storeu_si512(low + part_place(k), low_row);
  }
}

// `factor` times the sums of the columns over `depth` elements.
__m512i sum_elements(const std::int8_t* part, std::int64_t depth, int factor) {
  __m512i sums = _mm512_setzero_si512();
  for (const std::int8_t* at = part; at < part + depth * kInt8BlockColumns; at += 64)
    sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(static_cast<char>(factor)),
                               _mm512_load_si512(at));
  return sums;
}

// What SplitBlock::block_offsets has of one part.
void make_block_offsets(const Matrix& matrix, const std::int8_t* part, std::int8_t* out) {
  const std::int64_t depth = sum_depth(matrix);
  if (depth == 0) return;
  for (std::int64_t k = 0; k < round_up(matrix.k, 64); k += depth, out += 2 * 64)
    _mm512_store_si512(
        out, _mm512_sub_epi32(_mm512_setzero_si512(), sum_elements(part + k * kInt8BlockColumns,
                                                                   depth, sum_offset(matrix))));
}

bool are_neighbours(const Half* const* x) {
  if (x[0] == nullptr) return false;
  for (int n = 1; n < kInt8BlockColumns; ++n)
    if (x[n] != x[0] + n) return false;
  return true;
}

// Parts of one column among those of its block.
float make_column(const Half* x, std::int64_t stride, std::int64_t depth, std::int8_t* plain,
                  std::int8_t* high, std::int8_t* low) {
  const float scale = split_column(x, stride, depth, plain, plain + depth);
  for (std::int64_t k = 0; k + 4 <= depth; k += 4) {
    std::memcpy(high + part_place(k), plain + k, 4);
    std::memcpy(low + part_place(k), plain + depth + k, 4);
  }
  for (std::int64_t k = depth / 4 * 4; k < depth; ++k) {
    high[part_place(k)] = plain[k];
    low[part_place(k)] = plain[depth + k];
  }
  return scale;
}

}  // namespace

float split_column(const Half* x, std::int64_t stride, std::int64_t depth, std::int8_t* high,
                   std::int8_t* low) {
  const std::int64_t whole = stride == 1 ? depth / 16 * 16 : 0;
  __m512 tops = _mm512_setzero_ps();
  __m512 not_finite_lanes = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < whole; k += 16) {
    const __m512 some = load_sixteen(x + k);
    tops = _mm512_max_ps(tops, _mm512_abs_ps(some));
    not_finite_lanes = add_not_finite(not_finite_lanes, some);
  }
  float most = _mm512_reduce_max_ps(tops);
  float not_finite = _mm512_reduce_add_ps(not_finite_lanes);
  for (std::int64_t k = whole; k < depth; ++k) {
    const float size = std::fabs(to_float(x[k * stride]));
    most = size > most ? size : most;
    not_finite += size * 0;
  }
  // Columns of nothing but NaN come here too, because the maximum leaves NaN out.
  if (!(most > 0) || std::isnan(not_finite)) {
    std::memset(high, 0, static_cast<std::size_t>(depth));
    std::memset(low, 0, static_cast<std::size_t>(depth));
    return not_finite;
  }
  const float inverse = static_cast<float>(kSteps) / most;
  for (std::int64_t k = 0; k < whole; k += 16) {
    const Int8Split16 parts = split(_mm512_mul_ps(load_sixteen(x + k), _mm512_set1_ps(inverse)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(high + k), _mm512_cvtepi32_epi8(parts.high));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(low + k), _mm512_cvtepi32_epi8(parts.low));
  }
  for (std::int64_t k = whole; k < depth; ++k) {
    // Rounds like split().
    const int q = _mm_cvtss_si32(_mm_set_ss(to_float(x[k * stride]) * inverse));
    const int rounded = (q + 64) >> 7;
    high[k] = static_cast<std::int8_t>(rounded);
    low[k] = static_cast<std::int8_t>(q - rounded * 128);
  }
  return scale_of(most);
}

std::int64_t gemm_pack_bytes(const Matrix& matrix) {
  return SplitBlock::size_bytes(matrix);
}

void gemm_pack(const Matrix& matrix, const Half* const* x, std::int64_t stride, std::byte* packed) {
  const std::int64_t k = matrix.k;
  const std::int64_t steps = round_up(k, 64) / 64;
  auto* high = reinterpret_cast<std::int8_t*>(packed);
  std::int8_t* low = high + SplitBlock::parts_bytes(k);
  std::int8_t* sums = low + SplitBlock::parts_bytes(k);
  auto* scales =
      reinterpret_cast<float*>(packed + SplitBlock::size_bytes(matrix)) - kInt8BlockColumns;
  if (are_neighbours(x)) {
    // Whole rows of tiles are written; those after the depth are not.
    if (k % 64 != 0)
      for (std::int8_t* part : {high, low})
        std::memset(part + (steps - 1) * kTileBytes, 0, kTileBytes);
    make_neighbours(x[0], stride, k, high, low, scales);
  } else {
    std::memset(high, 0, static_cast<std::size_t>(2 * steps * kTileBytes));
    std::vector<std::int8_t> plain(static_cast<std::size_t>(2 * k));
    for (int n = 0; n < kInt8BlockColumns; ++n)
      scales[n] = x[n] == nullptr
                      ? 0
                      : make_column(x[n], stride, k, plain.data(), high + n * 4, low + n * 4);
  }
  _mm512_store_si512(sums, sum_elements(high, 64 * steps, 1));
  _mm512_store_si512(sums + 64, sum_elements(low, 64 * steps, 1));
  make_block_offsets(matrix, high, sums + 2 * 64);
  make_block_offsets(matrix, low, sums + 3 * 64);
}

}  // namespace anemone::kernels::simd::int8_split
#endif
