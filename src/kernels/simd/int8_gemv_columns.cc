// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <bit>
#include <new>
#include <type_traits>

#include "kernels/simd/int8_gemv.h"
#include "kernels/simd/int8_gemv_rows.h"
#include "kernels/simd/int8_split_vectors.h"

namespace anemone::kernels::simd::int8_split {

namespace {

std::int64_t places_of(std::int64_t count) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
}

// Stores the first four bytes of each quarter of four vectors, then the second four of each, and so
// on.
void transpose(const std::int8_t* const from[4], std::int8_t* to, std::int64_t stride) {
  const auto load = [&](int n) { return _mm512_load_si512(from[n]); };
  const __m512i low_ab = _mm512_unpacklo_epi32(load(0), load(1));
  const __m512i low_cd = _mm512_unpacklo_epi32(load(2), load(3));
  const __m512i high_ab = _mm512_unpackhi_epi32(load(0), load(1));
  const __m512i high_cd = _mm512_unpackhi_epi32(load(2), load(3));
  _mm512_store_si512(to, _mm512_unpacklo_epi64(low_ab, low_cd));
  _mm512_store_si512(to + stride, _mm512_unpackhi_epi64(low_ab, low_cd));
  _mm512_store_si512(to + 2 * stride, _mm512_unpacklo_epi64(high_ab, high_cd));
  _mm512_store_si512(to + 3 * stride, _mm512_unpackhi_epi64(high_ab, high_cd));
}

// Quarter q of `out[i]` is quarter i of from[q].
void transpose_quarters(const __m512i from[4], __m512i out[4]) {
  const __m512i low_ab = _mm512_shuffle_i64x2(from[0], from[1], 0x44);
  const __m512i low_cd = _mm512_shuffle_i64x2(from[2], from[3], 0x44);
  const __m512i high_ab = _mm512_shuffle_i64x2(from[0], from[1], 0xee);
  const __m512i high_cd = _mm512_shuffle_i64x2(from[2], from[3], 0xee);
  out[0] = _mm512_shuffle_i64x2(low_ab, low_cd, 0x88);
  out[1] = _mm512_shuffle_i64x2(low_ab, low_cd, 0xdd);
  out[2] = _mm512_shuffle_i64x2(high_ab, high_cd, 0x88);
  out[3] = _mm512_shuffle_i64x2(high_ab, high_cd, 0xdd);
}

// Step 0 or 1 of a read, whose elements are `first` and `second` in the order of memory.
__m512i step_of(Order order, std::int64_t step, __m512i first, __m512i second) {
  if (order == Order::kHalves)
    return step == 0 ? _mm512_shuffle_i64x2(first, second, 0x88)
                     : _mm512_shuffle_i64x2(first, second, 0xdd);
  const auto bytes_of = [&](__m512i pairs) {
    return _mm512_cvtepi16_epi8(step == 0 ? pairs : _mm512_srli_epi16(pairs, 8));
  };
  return _mm512_inserti64x4(_mm512_castsi256_si512(bytes_of(first)), bytes_of(second), 1);
}

// The parts of a column's elements that belong to one read of a row, in the order of the read.
struct ReadParts {
  ReadParts(Order order, const Half* x, std::int64_t left, float inverse) {
    const PositiveParts first = split_column(x, left, inverse);
    high[0] = flip(first.high);
    low[0] = signed_low(first.low);
    if (order == Order::kMemory) return;
    const PositiveParts second = split_column(x + kStep, left - kStep, inverse);
    order_steps(order, high, flip(second.high));
    order_steps(order, low, signed_low(second.low));
  }
  __m512i high[2];
  __m512i low[2];

 private:
  static void order_steps(Order order, __m512i steps[2], __m512i second) {
    const __m512i first = steps[0];
    for (int step = 0; step < 2; ++step) steps[step] = step_of(order, step, first, second);
  }
};

// Bytes of the GemvColumns in front of its storage.
constexpr std::int64_t kHeaderBytes = round_up(sizeof(GemvColumns), 64);
static_assert(std::is_trivially_destructible_v<GemvColumns>);

}  // namespace

std::int64_t gemv_pack_bytes(const Matrix& matrix, std::int64_t n) {
  return kHeaderBytes + GemvColumns::storage_bytes(matrix, n);
}

void gemv_pack(const Matrix& matrix, const Half* const* x, std::int64_t n, std::byte* packed) {
  new (packed) GemvColumns(matrix, x, n, packed + kHeaderBytes);
}

std::int64_t GemvColumns::storage_bytes(const Matrix& matrix, std::int64_t count) {
  const std::int64_t places = places_of(count);
  const std::int64_t reads = few_steps(matrix) / steps_per_read(matrix);
  return places * 2 * kStep * (few_steps(matrix) + (sum_depth(matrix) == 0 ? 0 : reads));
}

GemvColumns::GemvColumns(const Matrix& matrix, const Half* const* x, std::int64_t count,
                         std::byte* storage)
    : count_(count),
      places_(places_of(count)),
      is_by_lanes_(matrix.row_stats != nullptr && places_ == 8 && is_int8_row(matrix)),
      steps_(few_steps(matrix)),
      steps_per_read_(steps_per_read(matrix)),
      parts_(reinterpret_cast<std::int8_t*>(storage)) {
  float inverses[kInt8GemvColumns] = {};
  for (std::int64_t n = 0; n < count; ++n) {
    const ColumnScale scale = scale_column(x[n], matrix.k);
    scales_[n] = scale.scale;
    inverses[n] = scale.inverse;
  }
  __m512i high_sums[kInt8GemvColumns] = {};
  __m512i low_sums[kInt8GemvColumns] = {};
  const __m512i ones = _mm512_set1_epi8(1);
  const std::int64_t step_bytes = places_ * 2 * kStep;
  // [step of a read][place][high, low][64], as parts() has it for up to two places.
  alignas(64) std::int8_t read[2 * kInt8GemvColumns * 2 * kStep];
  for (std::int64_t s = 0; s < steps_; s += steps_per_read_) {
    std::int8_t* const steps = is_wide() ? read : parts_ + s * step_bytes;
    for (std::int64_t n = 0; n < places_; ++n) {
      // The parts of a place without a column are zeros, because its inverse scale is 0.
      const Half* const from = x[n < count ? n : 0] + s * kStep;
      const ReadParts parts(order_of(matrix), from, matrix.k - s * kStep, inverses[n]);
      for (std::int64_t i = 0; i < steps_per_read_; ++i) {
        high_sums[n] = _mm512_dpbusd_epi32(high_sums[n], ones, parts.high[i]);
        low_sums[n] = _mm512_dpbusd_epi32(low_sums[n], ones, parts.low[i]);
        _mm512_store_si512(steps + i * step_bytes + n * 2 * kStep, parts.high[i]);
        _mm512_store_si512(steps + i * step_bytes + n * 2 * kStep + kStep, parts.low[i]);
      }
    }
    if (is_by_lanes_)
      transpose_to_lanes(steps, s);
    else if (is_wide())
      for (std::int64_t i = 0; i < steps_per_read_; ++i)
        transpose_columns(steps + i * step_bytes, s + i);
  }
  for (std::int64_t n = 0; n < count; ++n) {
    high_sums_[n] = _mm512_reduce_add_epi32(high_sums[n]);
    low_sums_[n] = _mm512_reduce_add_epi32(low_sums[n]);
  }
  if (sum_depth(matrix) != 0) make_block_offsets(sum_offset(matrix), parts_ + steps_ * step_bytes);
}

void GemvColumns::transpose_columns(const std::int8_t* step, std::int64_t s) {
  const std::int64_t vectors = places_ / 2;
  for (std::int64_t v = 0; v < vectors; ++v) {
    const std::int8_t* from[4];
    for (std::int64_t i = 0; i < 4; ++i)
      from[i] = step + ((v % (vectors / 2) * 4 + i) * 2 + v / (vectors / 2)) * kStep;
    transpose(from, parts_ + (s * 4 * vectors + v) * kStep, vectors * kStep);
  }
}

void GemvColumns::transpose_to_lanes(const std::int8_t* step, std::int64_t s) {
  // [i of 4][four lanes]: in quarter q, elements 4 * (4 * q + i) and the three after them.
  alignas(64) std::int8_t fours[4][4][kStep];
  for (std::int64_t lanes = 0; lanes < 4; ++lanes) {
    const std::int8_t* from[4];
    for (std::int64_t i = 0; i < 4; ++i)
      from[i] = step + ((lanes % 2 * 4 + i) * 2 + lanes / 2) * kStep;
    transpose(from, fours[0][lanes], 4 * kStep);
  }
  for (std::int64_t i = 0; i < 4; ++i) {
    __m512i from[4];
    __m512i out[4];
    for (int lanes = 0; lanes < 4; ++lanes) from[lanes] = _mm512_load_si512(fours[i][lanes]);
    transpose_quarters(from, out);
    for (int q = 0; q < 4; ++q)
      _mm512_store_si512(parts_ + ((s * 4 + q) * 4 + i) * kStep, flip(out[q]));
  }
}

void GemvColumns::make_block_offsets(int factor, std::int8_t* out) {
  block_offsets_ = reinterpret_cast<const std::int32_t*>(out);
  const std::int64_t vectors = is_wide() ? places_ / 2 : places_ * 2;
  const std::int64_t parts = (is_wide() ? 4 : 1) * steps_per_read_;  // of a read
  for (std::int64_t read = 0; read < steps_ / steps_per_read_; ++read)
    for (std::int64_t v = 0; v < vectors; ++v, out += kStep) {
      __m512i sum = _mm512_setzero_si512();
      for (std::int64_t i = 0; i < parts; ++i)
        sum = _mm512_dpbusd_epi32(
            sum, _mm512_set1_epi8(static_cast<char>(factor)),
            _mm512_load_si512(parts_ + ((read * parts + i) * vectors + v) * kStep));
      _mm512_store_si512(out, _mm512_sub_epi32(_mm512_setzero_si512(), sum));
    }
}

}  // namespace anemone::kernels::simd::int8_split
#endif
