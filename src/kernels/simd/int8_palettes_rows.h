// SPDX-License-Identifier: Apache-2.0
// The functions of int8_palettes.h for one instruction set. Included last by its file.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <immintrin.h>

#include "kernels/simd/int8_gemv_products.h"
#include "kernels/simd/int8_palettes.h"
#include "kernels/simd/int8_palettes_tables.h"

namespace anemone::kernels::simd::int8_split {
namespace ANEMONE_PALETTES_NAMESPACE {

constexpr std::int64_t kSixBitStepBytes = kStep * 6 / 8;

// 48 bytes, then zeros. Two loads, because a masked one that crosses lines of the cache is slow.
inline __m512i load_48(const std::byte* at) {
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 32));
  return _mm512_inserti32x4(_mm512_zextsi256_si512(first), last, 2);
}

// Indices of six bits: 48 bytes are a step. int8_gemv_rows.h says what a row gives.
struct Palette64Row : TwoPartsRow {
  static constexpr int kSteps = 1;
  static constexpr int kReadsTogether = 2;
  static constexpr std::int64_t kReadBytes = kSixBitStepBytes;
  Palette64Row(const Matrix& m, const RowBlock& block, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)),
        inner_end(m.k / kStep - (begin + r + 1 == m.rows ? 1 : 0)),
        table(block.table(r)) {}
  // The indices, as Table<64>::find() takes them.
  __m512i read(std::int64_t step, __mmask64 mask) const {
    const std::byte* const from = at + step * kSixBitStepBytes;
    if (mask == ~__mmask64{0}) return spread_six_bits(load_48(from));
    // Eight indices are six bytes. Their number in a row is a multiple of four.
    const int bytes = std::popcount(mask) * 6 / 8;
    return spread_six_bits(_mm512_maskz_loadu_epi8((__mmask64{1} << bytes) - 1, from));
  }
  // One instruction, which reads sixteen bytes after the step, too.
  __m512i read_inner(std::int64_t step) const {
    return spread_six_bits(_mm512_loadu_si512(at + step * kSixBitStepBytes));
  }
  template <int s>
  void split(__m512i index, __m512i& high, __m512i& low) const {
    table.find(index, high, low);
  }
  const std::byte* at;
  const std::int64_t inner_end;  // whole steps after which the matrix goes on
  Table<64> table;
};

struct Palette256Row : TwoPartsRow {
  static constexpr int kSteps = 1;
  static constexpr std::int64_t kReadBytes = kStep;
  Palette256Row(const Matrix& m, const RowBlock& block, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)), table(block.table(r)) {}
  __m512i read(std::int64_t step, __mmask64 mask) const {
    return _mm512_maskz_loadu_epi8(mask, at + step * kStep);
  }
  template <int s>
  void split(__m512i index, __m512i& high, __m512i& low) const {
    table.find(index, high, low);
  }
  const std::byte* at;
  Table<256> table;
};

void gemv_palettes(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                   const GemvColumns& columns, const GemvTarget& target) {
  if (matrix.bits == 6)
    multiply_columns<Palette64Row>(matrix, begin, end, columns, target);
  else
    multiply_columns<Palette256Row>(matrix, begin, end, columns, target);
}

// Expands rows whose steps are kStepBytes; indices_of() gives the indices of that many bytes. A
// table that several rows have is made once.
template <int kEntries, std::int64_t kStepBytes, typename IndicesOf>
void expand_entries(const RowBlock& block, const RowBlock::Part& p, const IndicesOf& indices_of) {
  const std::int64_t row_bytes = block.matrix().row_bytes();
  const std::int64_t bytes = std::min(kStepBytes, row_bytes - p.step * kStepBytes);
  const __mmask64 mask = bytes == 64 ? ~__mmask64{0} : (__mmask64{1} << bytes) - 1;
  // Local variables: stores of bytes may alias any object, so members would be loaded after each.
  const std::int64_t end = p.end;
  const std::byte* from = block.row(p.begin) + p.step * kStepBytes;
  std::int8_t* to_high = p.high;
  std::int8_t* to_low = p.low;
  for (std::int64_t r = p.begin; r < end;) {
    const std::uint8_t* const address = block.table(r);
    Table<kEntries> table(address);
    table.make_signed();
    for (; r < end && block.table(r) == address; ++r) {
      const __m512i index = indices_of(_mm512_maskz_loadu_epi8(mask, from));
      __m512i high;
      __m512i low;
      table.find(index, high, low);
      _mm512_store_si512(to_high, high);
      _mm512_store_si512(to_low, low);
      from += row_bytes;
      to_high += kStep;
      to_low += kStep;
    }
  }
}

void expand_palettes(const RowBlock& block, const RowBlock::Part& part) {
  if (block.matrix().bits == 6)
    expand_entries<64, kSixBitStepBytes>(block, part, spread_six_bits);
  else
    expand_entries<256, kStep>(block, part, [](__m512i bytes) { return bytes; });
}

}  // namespace ANEMONE_PALETTES_NAMESPACE
}  // namespace anemone::kernels::simd::int8_split
