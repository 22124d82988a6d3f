// SPDX-License-Identifier: Apache-2.0
// Columns of activations as parts.
#if defined(__x86_64__)
#include <cmath>
#include <cstring>

#include "kernels/simd/int8_split.h"
#include "kernels/simd/int8_split_vectors.h"

namespace anemone::kernels::simd::int8_split {
namespace {

constexpr int kSteps = 8191;  // 128 * 64 - 1

// [step][k / 4 of 16][column][k % 4]
std::int64_t part_place(std::int64_t k) {
  return (k / 64) * kTileBytes + (k % 64 / 4) * 64 + k % 4;
}

// The integers of a column with an infinity or NaN mean nothing, so its scale must be NaN: 0 times
// each element is added to what comes out as 0 otherwise.
__m512 add_not_finite(__m512 sum, __m512 x) {
  return _mm512_fmadd_ps(x, _mm512_setzero_ps(), sum);
}

// Parts in words of sixteen bits.
struct Parts16 {
  __m512i high;
  __m512i low;
};

// The parts of two elements of sixteen columns, which are split as PositiveParts does it, but have
// their sign: those of `even` in the lower word of each column and those of `odd` in the upper one.
Parts16 split_pairs(__m512i even, __m512i odd) {
  const __m512i both = _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_slli_epi32(odd, 16));
  const __m512i high = _mm512_srai_epi16(_mm512_add_epi16(both, _mm512_set1_epi16(64)), 7);
  return {high, _mm512_sub_epi16(both, _mm512_slli_epi16(high, 7))};
}

// The four bytes of each column: of elements 0 and 1 from `first`, of 2 and 3 from `second`.
__m512i join_pairs(__m512i first, __m512i second) {
  const __m512i both =
      _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, first, _mm512_slli_epi16(second, 8));
  const __m512i order =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
  return _mm512_shuffle_epi8(both, order);
}

// Sixteen columns that lie beside each other: four of their elements are a row of a tile.
void make_neighbours(const Half* x, std::int64_t stride, std::int64_t depth, __m512i offsets,
                     std::int8_t* high, std::int8_t* low, float* scales) {
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
  const auto integers = [&](std::int64_t k) {
    return k < depth ? _mm512_cvtps_epi32(_mm512_mul_ps(load_sixteen(x + k * stride), inverse))
                     : _mm512_setzero_si512();
  };
  for (std::int64_t k = 0; k < depth; k += 4) {
    const Parts16 first = split_pairs(integers(k), integers(k + 1));
    const Parts16 second = split_pairs(integers(k + 2), integers(k + 3));
    const auto store = [&](std::int8_t* part, __m512i four) {
      _mm512_storeu_si512(part + part_place(k), _mm512_xor_si512(four, offsets));
    };
    store(high, join_pairs(first.high, second.high));
    store(low, join_pairs(first.low, second.low));
  }
}

// `factor` times the sums of the columns over `depth` elements, a multiple of 16.
__m512i sum_elements(const std::int8_t* part, std::int64_t depth, int factor) {
  const __m512i factors = _mm512_set1_epi8(static_cast<char>(factor));
  __m512i sums[4] = {};
  for (const std::int8_t* at = part; at < part + depth * kInt8BlockColumns; at += 4 * 64)
    for (int i = 0; i < 4; ++i)
      sums[i] = _mm512_dpbusd_epi32(sums[i], factors, _mm512_load_si512(at + i * 64));
  return _mm512_add_epi32(_mm512_add_epi32(sums[0], sums[1]), _mm512_add_epi32(sums[2], sums[3]));
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

// Columns that lie anywhere, nullptr for zeros: 64 elements of each at a time, so that every row of
// a tile is written once. Of a narrow block both parts are written to `high`.
template <bool kIsNarrow>
void make_columns(const Half* const* x, std::int64_t depth, __m512i offsets, std::int8_t* high,
                  std::int8_t* low, float* scales) {
  float inverses[kInt8BlockColumns];
  __mmask16 present = 0;
  for (int n = 0; n < kInt8BlockColumns; ++n) {
    scales[n] = 0;
    if (x[n] == nullptr) continue;
    const ColumnScale scale = scale_column(x[n], depth);
    scales[n] = scale.scale;
    inverses[n] = scale.inverse;
    present = static_cast<__mmask16>(present | 1u << n);
  }
  constexpr std::int64_t kColumns = kIsNarrow ? kNarrowColumns : kInt8BlockColumns;
  if (kIsNarrow) present = static_cast<__mmask16>(present | present << kNarrowColumns);
  alignas(64) std::int8_t parts[2][kColumns][64] = {};
  const __m512i columns =
      _mm512_slli_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 6);
  const auto row = [&](const std::int8_t* part) {
    return _mm512_xor_si512(
        _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), present, columns, part, 1), offsets);
  };
  for (std::int64_t k = 0; k < depth; k += 64, high += kTileBytes, low += kTileBytes) {
    for (int n = 0; n < kColumns; ++n)
      if (x[n] != nullptr)
        split_column(x[n] + k, depth - k, inverses[n]).store_signed(parts[0][n], parts[1][n]);
    for (int i = 0; i < 16; ++i) {
      _mm512_storeu_si512(high + 64 * i, row(parts[0][0] + 4 * i));
      if (!kIsNarrow) _mm512_storeu_si512(low + 64 * i, row(parts[1][0] + 4 * i));
    }
  }
}

// What SplitBlock has, to be written.
struct Places {
  Places(const Matrix& matrix, std::byte* packed)
      : high(reinterpret_cast<std::int8_t*>(packed)),
        low(high + SplitBlock::parts_bytes(matrix.k)),
        block_offsets(low + SplitBlock::parts_bytes(matrix.k)),
        scales(reinterpret_cast<float*>(packed + SplitBlock::size_bytes(matrix)) -
               kInt8BlockColumns) {}

  std::int8_t* high;
  std::int8_t* low;
  std::int8_t* block_offsets;
  float* scales;
};

// `offset`, 0 or kUnsignedOffset, is added to the parts.
void make_parts(const Half* const* x, std::int64_t stride, std::int64_t depth, int offset,
                const Places& at) {
  const __m512i offsets = _mm512_set1_epi8(static_cast<char>(offset));
  if (!are_neighbours(x)) return make_columns<false>(x, depth, offsets, at.high, at.low, at.scales);
  // Whole rows of tiles are written; those after the depth are not.
  if (depth % 64 != 0)
    for (std::int8_t* part : {at.high, at.low})
      std::memset(part + depth / 64 * kTileBytes, offset, kTileBytes);
  make_neighbours(x[0], stride, depth, offsets, at.high, at.low, at.scales);
}

}  // namespace

ColumnScale scale_column(const Half* x, std::int64_t depth) {
  // An instruction waits for the one before it that adds to the same number.
  constexpr int kChains = 4;
  __m512 tops[kChains] = {};
  __m512 not_finite[kChains] = {};
  std::int64_t k = 0;
  for (; k + kChains * 16 <= depth; k += kChains * 16)
    for (int i = 0; i < kChains; ++i) {
      const __m512 some = load_sixteen(x + k + i * 16);
      tops[i] = _mm512_max_ps(tops[i], _mm512_abs_ps(some));
      not_finite[i] = add_not_finite(not_finite[i], some);
    }
  for (; k < depth; k += 16) {
    const __m512 some = load_some(x + k, depth - k);
    tops[0] = _mm512_max_ps(tops[0], _mm512_abs_ps(some));
    not_finite[0] = add_not_finite(not_finite[0], some);
  }
  const float most = _mm512_reduce_max_ps(
      _mm512_max_ps(_mm512_max_ps(tops[0], tops[1]), _mm512_max_ps(tops[2], tops[3])));
  const float none = _mm512_reduce_add_ps(_mm512_add_ps(
      _mm512_add_ps(not_finite[0], not_finite[1]), _mm512_add_ps(not_finite[2], not_finite[3])));
  // Columns of nothing but NaN come here too, because the maximum leaves NaN out.
  if (!(most > 0) || std::isnan(none)) return {none, 0};
  constexpr auto steps = static_cast<float>(kSteps);
  return {most / steps, steps / most};
}

std::int64_t gemm_pack_bytes(const Matrix& matrix) {
  return SplitBlock::size_bytes(matrix);
}

void gemm_pack(const Matrix& matrix, const Half* const* x, std::int64_t stride, std::byte* packed) {
  const Places at(matrix, packed);
  make_parts(x, stride, matrix.k, sum_depth(matrix) == 0 ? kUnsignedOffset : 0, at);
  make_block_offsets(matrix, at.high, at.block_offsets);
  make_block_offsets(matrix, at.low, at.block_offsets + 64);
}

void amx_gemm_pack(const Matrix& matrix, const Half* const* x, std::int64_t stride,
                   std::byte* packed) {
  const Places at(matrix, packed);
  bool is_narrow = true;
  for (std::int64_t n = kNarrowColumns; n < kInt8BlockColumns; ++n)
    is_narrow = is_narrow && x[n] == nullptr;
  if (is_narrow)
    make_columns<true>(x, matrix.k, _mm512_setzero_si512(), at.high, at.low, at.scales);
  else
    make_parts(x, stride, matrix.k, 0, at);
}

}  // namespace anemone::kernels::simd::int8_split
#endif
