// SPDX-License-Identifier: Apache-2.0
// Reads rows of weights from memory and gives their int8 parts, for the products of int8_gemv.cc.
#pragma once

#include <cstdint>
#include <cstring>
#include <immintrin.h>

#include "kernels/simd/int8_split_rows.h"
#include "kernels/simd/int8_split_vectors.h"
#include "kernels/simd/prefetch.h"

namespace anemone::kernels::simd::int8_split {

inline constexpr std::int64_t kStep = 64;  // elements

// The order in which the parts of a row come out of a read. Where it is not that of memory, a read
// gives two steps.
enum class Order {
  kMemory,
  kEvenOdd,  // nibbles: the even elements, then the odd ones
  kHalves,   // int8 in scale blocks of 32: the first halves of four blocks, then the second ones
};
inline Order order_of(const Matrix& m) {
  if (m.bits == 4) return Order::kEvenOdd;
  return is_int8_block(m) && sum_depth(m) == 32 ? Order::kHalves : Order::kMemory;
}
inline std::int64_t steps_per_read(const Matrix& m) {
  return order_of(m) == Order::kMemory ? 1 : 2;
}
inline std::int64_t few_steps(const Matrix& m) {
  const std::int64_t steps = steps_per_read(m);
  return round_up(m.k, steps * kStep) / kStep;
}

// Prefetches what lies `far` and `near` bytes after the begin of a row, as many bytes as a read
// has.
template <typename Row>
[[gnu::always_inline]] inline void prefetch_read(const Row& row, std::int64_t far,
                                                 std::int64_t near) {
  constexpr std::int64_t kLine = 64;
  for (std::int64_t i = 0; i < Row::kReadBytes; i += kLine)
    prefetch_twice(row.at, far + i, near + i);
}

// For rows that are read one after the other: what follows what is read at `step`.
template <typename Row>
[[gnu::always_inline]] inline void prefetch_after(const Row& row, std::int64_t step) {
  const std::int64_t at = step / Row::kSteps * Row::kReadBytes;
  prefetch_read(row, at + kFarBytes, at + kNearBytes);
}

// Where to prefetch while groups of kRows rows are read, each row of a group at the same time: what
// the same row of the groups after it has, in the order in which it will be read.
template <typename Row, int kRows>
class AheadOfRows {
 public:
  AheadOfRows(std::int64_t row_bytes, std::int64_t depth)
      : reads_((depth + kElements - 1) / kElements),
        group_bytes_(kRows * row_bytes),
        far_(place(kFarBytes)),
        near_(place(kNearBytes)) {}
  // The distances from the begin of a row to what is prefetched beside its next read.
  struct Distances {
    std::int64_t far;
    std::int64_t near;
  };
  [[gnu::always_inline]] Distances next() { return {next(far_), next(near_)}; }

 private:
  static constexpr std::int64_t kElements = Row::kSteps * kStep;
  struct Place {
    std::int64_t group;  // bytes to the group
    std::int64_t read;   // within its rows
  };
  Place place(std::int64_t bytes) const {
    const std::int64_t reads = bytes / (kRows * Row::kReadBytes);
    return {reads / reads_ * group_bytes_, reads % reads_};
  }
  [[gnu::always_inline]] std::int64_t next(Place& place) const {
    const std::int64_t at = place.group + place.read * Row::kReadBytes;
    if (++place.read == reads_) {
      place.read = 0;
      place.group += group_bytes_;
    }
    return at;
  }

  const std::int64_t reads_;  // of a row
  const std::int64_t group_bytes_;
  Place far_;
  Place near_;
};

// body(step, mask) for each read of a row of `depth` elements, from step `step` on.
template <int kSteps, typename Body>
[[gnu::always_inline]] inline void for_each_read(std::int64_t step, std::int64_t depth,
                                                 const Body& body) {
  constexpr std::int64_t kElements = kSteps * kStep;
  const std::int64_t whole = depth / kElements * kSteps;
  for (; step < whole; step += kSteps) body(step, ~__mmask64{0});
  if (const std::int64_t left = depth % kElements; left != 0)
    body(whole, (__mmask64{1} << (left + kSteps - 1) / kSteps) - 1);
}

// The instruction multiplies an unsigned byte by a signed one, so a part of the weights is given as
// part + kOffset (the low one as part + kLowOffset). That adds kOffset times the sum of the
// column's parts to a sum of products, which EightProducts subtracts again.

// Each struct below is a row of weights in one form. kSteps steps lie in the same kReadBytes:
// read() takes them from memory, `step` being the first, and `mask` tells which exist, each bit for
// kSteps elements; split<s>() gives the parts of one step. A sum of products is to be multiplied
// with kUnit. If kHasBlockSums, each quarter of a read is what sum_depth() elements give. With few
// columns kReadsTogether reads are done together; if that is more than one, read_inner() does those
// of the steps before inner_end, and may read what follows them.

// The base of rows whose weights are one int8 part.
struct OnePartRow {
  static constexpr int kReadsTogether = 1;
  static constexpr bool kHasLow = false;
  static constexpr bool kHasBlockSums = false;
  static constexpr int kOffset = 128;
  static constexpr int kLowOffset = 0;
  static constexpr float kUnit = 1;
  OnePartRow(const Matrix& m, const RowBlock& /*block*/, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)) {}
  const std::byte* at;
};

// The base of rows whose weights are two int8 parts, as PositiveParts has them.
struct TwoPartsRow {
  static constexpr int kReadsTogether = 1;
  static constexpr bool kHasLow = true;
  static constexpr bool kHasBlockSums = false;
  static constexpr int kOffset = 128;
  static constexpr int kLowOffset = 64;
  static constexpr float kUnit = 1;
};

// One part of int8, as it lies.
struct BytesRow : OnePartRow {
  static constexpr int kSteps = 1;
  static constexpr std::int64_t kReadBytes = kStep;
  using OnePartRow::OnePartRow;
  __m512i read(std::int64_t step, __mmask64 mask) const {
    return flip(_mm512_maskz_loadu_epi8(mask, at + step * kStep));
  }
  template <int s>
  void split(__m512i bytes, __m512i& high, __m512i& /*low*/) const {
    high = bytes;
  }
};

inline __m512i read_pairs(const std::byte* at, std::int64_t step, __mmask64 mask) {
  // Two steps are 64 bytes.
  return _mm512_maskz_loadu_epi8(mask, at + step * kStep / 2);
}
// The even elements of two steps, or the odd ones.
template <int s>
inline __m512i nibbles(__m512i pairs) {
  return _mm512_and_si512(s == 0 ? pairs : _mm512_srli_epi16(pairs, 4), _mm512_set1_epi8(15));
}

// One part of int4.
struct NibblesRow : OnePartRow {
  static constexpr int kSteps = 2;
  static constexpr std::int64_t kReadBytes = kStep;
  using OnePartRow::OnePartRow;
  __m512i read(std::int64_t step, __mmask64 mask) const { return read_pairs(at, step, mask); }
  template <int s>
  void split(__m512i pairs, __m512i& high, __m512i& /*low*/) const {
    high = _mm512_shuffle_epi8(integers, nibbles<s>(pairs));
  }
  __m512i integers = _mm512_broadcast_i32x4(_mm_setr_epi8(
      -128, -127, -126, -125, -124, -123, -122, -121, 120, 121, 122, 123, 124, 125, 126, 127));
};

struct Palette16Row : TwoPartsRow {
  static constexpr int kSteps = 2;
  static constexpr std::int64_t kReadBytes = kStep;
  Palette16Row(const Matrix& m, const RowBlock& block, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)),
        table_high(_mm512_load_si512(block.table(r))),
        table_low(_mm512_load_si512(block.table(r) + kStep)) {}
  __m512i read(std::int64_t step, __mmask64 mask) const { return read_pairs(at, step, mask); }
  template <int s>
  void split(__m512i pairs, __m512i& high, __m512i& low) const {
    high = _mm512_shuffle_epi8(table_high, nibbles<s>(pairs));
    low = _mm512_shuffle_epi8(table_low, nibbles<s>(pairs));
  }
  const std::byte* at;
  __m512i table_high;
  __m512i table_low;
};

// int4 in scale blocks: 16 bytes, a quarter of a read, are 32 elements, which have a scale
// together.
struct Int4BlockRow : TwoPartsRow {
  static constexpr int kSteps = 2;
  static constexpr std::int64_t kReadBytes = kStep;
  Int4BlockRow(const Matrix& m, const RowBlock& block, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)), multipliers(block.multipliers(r)) {}
  struct Blocks {
    __m512i pairs;
    PositiveParts tables;
  };
  Blocks read(std::int64_t step, __mmask64 mask) const {
    return {read_pairs(at, step, mask), nibble_tables(spread_four(multipliers + step * 2))};
  }
  template <int s>
  void split(const Blocks& blocks, __m512i& high, __m512i& low) const {
    const PositiveParts found = blocks.tables.find(nibbles<s>(blocks.pairs));
    high = found.high;
    low = found.low;
  }
  const std::byte* at;
  const std::int16_t* multipliers;
};

// A row of int4 in scale blocks as its bare integers. GemvColumns::block_offsets() makes the sums
// of a scale block's products exact.
struct Int4BlockSumsRow {
  static constexpr int kSteps = 2;
  static constexpr std::int64_t kReadBytes = kStep;
  static constexpr bool kHasLow = false;
  static constexpr bool kHasBlockSums = true;
  static constexpr int kOffset = 0;
  static constexpr float kUnit = kBlockUnit;
  static constexpr int kLowOffset = 0;
  Int4BlockSumsRow(const Matrix& m, const RowBlock& block, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)), multipliers(block.multipliers(r)) {}
  __m512i read(std::int64_t step, __mmask64 mask) const {
    return _mm512_xor_si512(read_pairs(at, step, mask), _mm512_set1_epi8(-0x78));
  }
  template <int s>
  void split(__m512i pairs, __m512i& high, __m512i& /*low*/) const {
    high = nibbles<s>(pairs);
  }
  // The scale of each quarter's scale block, in pairs with zeros.
  __m512i factors(std::int64_t step) const {
    std::int64_t four;
    std::memcpy(&four, multipliers + step * 2, sizeof(four));
    return _mm512_shuffle_epi8(_mm512_set1_epi64(four), by_quarter);
  }
  const std::byte* at;
  const std::int16_t* multipliers;
  __m512i by_quarter = _mm512_inserti64x4(
      _mm512_castsi256_si512(
          _mm256_setr_m128i(_mm_set1_epi32(kPair), _mm_set1_epi32(kPair + 0x0202))),
      _mm256_setr_m128i(_mm_set1_epi32(kPair + 0x0404), _mm_set1_epi32(kPair + 0x0606)), 1);

 private:
  static constexpr int kPair = static_cast<int>(0x80800100);  // 0x80 gives a zero
};

// Rows of int8 in scale blocks, of which sum_depth() is kDepth. Each quarter of a read has elements
// of as many sums.
template <int kDepth>
struct Int8Blocks {
  static constexpr int kSteps = kDepth / 16;
  static constexpr std::int64_t kReadBytes = kSteps * kStep;
  struct Bytes {
    __m512i steps[kSteps];
  };
  static Bytes read_bytes(const std::byte* at, std::int64_t step, __mmask64 mask) {
    Bytes bytes;
    for (int s = 0; s < kSteps; ++s)
      bytes.steps[s] =
          _mm512_maskz_loadu_epi8(kSteps == 1 ? mask : half(mask, s), at + (step + s) * kStep);
    return bytes;
  }
  // Those of one step, whose quarters belong to the four scale blocks of the read.
  template <int s>
  static __m512i step_of(const Bytes& bytes) {
    return kSteps == 1 ? bytes.steps[0]
                       : _mm512_shuffle_i64x2(bytes.steps[0], bytes.steps[kSteps - 1],
                                              s == 0 ? 0x88 : 0xdd);
  }

 private:
  // Which elements of two scale blocks of the four exist: all of a scale block or none.
  static __mmask64 half(__mmask64 mask, int s) {
    const __mmask64 first = mask >> (32 * s) & 1;
    const __mmask64 second = mask >> (32 * s + 16) & 1;
    return first * 0xffffffff | second * 0xffffffff << 32;
  }
};

// A row of int8 in scale blocks as its bare integers. GemvColumns::block_offsets() makes the sums
// of a scale block's products exact.
template <int kDepth>
struct Int8BlockSumsRow : Int8Blocks<kDepth> {
  using Base = Int8Blocks<kDepth>;
  using typename Base::Bytes;
  static constexpr bool kHasLow = false;
  static constexpr bool kHasBlockSums = true;
  static constexpr int kOffset = 0;
  static constexpr int kLowOffset = 0;
  static constexpr float kUnit = kBlockUnit;
  Int8BlockSumsRow(const Matrix& m, const RowBlock& block, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)), factors_at(block.factors(r)) {}
  Bytes read(std::int64_t step, __mmask64 mask) const { return Base::read_bytes(at, step, mask); }
  template <int s>
  void split(const Bytes& bytes, __m512i& high, __m512i& /*low*/) const {
    high = flip(Base::template step_of<s>(bytes));
  }
  // The factors of each quarter's sum.
  __m512 factors(std::int64_t step) const {
    const __m512 four = _mm512_broadcast_f32x4(_mm_loadu_ps(factors_at + step / Base::kSteps * 4));
    return _mm512_permutevar_ps(four, by_quarter);
  }
  const std::byte* at;
  const float* factors_at;
  __m512i by_quarter = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
};

// A row of int8 in scale blocks, with the parts that RowBlock::expand() gives.
template <int kDepth>
struct Int8BlockPartsRow : Int8Blocks<kDepth>, TwoPartsRow {
  using Base = Int8Blocks<kDepth>;
  struct Blocks {
    typename Base::Bytes bytes;
    __m512i multipliers;
  };
  Int8BlockPartsRow(const Matrix& m, const RowBlock& block, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)), multipliers(block.multipliers(r)) {}
  Blocks read(std::int64_t step, __mmask64 mask) const {
    return {Base::read_bytes(at, step, mask), spread_four(multipliers + step / Base::kSteps * 4)};
  }
  template <int s>
  void split(const Blocks& blocks, __m512i& high, __m512i& low) const {
    const PositiveParts both =
        parts_of_bytes(Base::template step_of<s>(blocks.bytes), blocks.multipliers);
    high = both.high;
    low = both.low;
  }
  const std::byte* at;
  const std::int16_t* multipliers;
};

// fp16, multiplied to be integers.
struct HalvesRow : TwoPartsRow {
  static constexpr int kSteps = 1;
  static constexpr std::int64_t kReadBytes = 2 * kStep;
  HalvesRow(const Matrix& m, const RowBlock& block, std::int64_t begin, std::int64_t r)
      : at(m.row(begin + r)), inverse(_mm512_set1_ps(block.inverse_scale(r))) {}
  PositiveParts read(std::int64_t step, __mmask64 mask) const {
    return parts_of_halves(at + step * kStep * 2, mask, inverse);
  }
  template <int s>
  void split(const PositiveParts& both, __m512i& high, __m512i& low) const {
    high = both.high;
    low = both.low;
  }

  const std::byte* at;
  __m512 inverse;
};

}  // namespace anemone::kernels::simd::int8_split
