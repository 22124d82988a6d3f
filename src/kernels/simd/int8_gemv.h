// SPDX-License-Identifier: Apache-2.0
// Products of weights with a few columns of activations, as in decoding: memory is read row after
// row, in one run, and vector instructions multiply the parts. The tile registers of AMX need
// sixteen rows at a time, which memory delivers at two thirds of its speed.
//
// A column's result has the same bits as those of gemm(), whatever lies beside it: the sums of the
// parts are the same integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simd/int8_split.h"

namespace anemone::kernels::simd::int8_split {

// At most kInt8GemvColumns columns of activations as int8 parts, in the same order of elements in
// which the rows of the matrix give their parts.
class GemvColumns {
 public:
  static std::int64_t storage_bytes(const Matrix& matrix, std::int64_t count);
  // x[n] is a column of fp16. `storage`: storage_bytes(), 64-byte aligned; lives as long as this.
  GemvColumns(const Matrix& matrix, const Half* const* x, std::int64_t count, std::byte* storage);

  std::int64_t count() const { return count_; }
  // A power of two: zeros after the last column.
  std::int64_t places() const { return places_; }
  // Whether the parts are ordered for LaneProducts: eight places for int8 with a scale per row
  // (is_int8_row()), if the matrix has row statistics.
  bool is_by_lanes() const { return is_by_lanes_; }
  // Up to two places: [step of 64 elements][place][high, low][64]. More:
  // [step][i of 4][high, low][four places][quarter of the step][place][4], the elements from 4 * i
  // of each quarter. By lanes: [step][four elements][high, low][place][4], as unsigned bytes, which
  // are the parts plus kUnsignedOffset.
  const std::int8_t* parts() const { return parts_; }
  const float* scales() const { return scales_; }  // [count]
  // Only for integers in scale blocks: minus sum_offset() times the sum of each lane's bytes of the
  // steps of a read. [read][place][high, low][16], or for more than two places [read][high,
  // low][four places][quarter][place].
  const std::int32_t* block_offsets() const { return block_offsets_; }
  // Sum of a column's high parts, and of its low ones.
  std::int32_t high_sum(std::int64_t n) const { return high_sums_[n]; }
  std::int32_t low_sum(std::int64_t n) const { return low_sums_[n]; }

 private:
  // Step `s`, given in the order for up to two places, in the order for more places.
  void transpose_columns(const std::int8_t* step, std::int64_t s);
  // The same for is_by_lanes().
  void transpose_to_lanes(const std::int8_t* step, std::int64_t s);
  void make_block_offsets(int factor, std::int8_t* out);
  bool is_wide() const { return places_ > 2; }

  const std::int64_t count_;
  const std::int64_t places_;
  const bool is_by_lanes_;
  const std::int64_t steps_;
  const std::int64_t steps_per_read_;
  std::int8_t* parts_;
  const std::int32_t* block_offsets_ = nullptr;
  float scales_[kInt8GemvColumns] = {};
  std::int32_t high_sums_[kInt8GemvColumns] = {};
  std::int32_t low_sums_[kInt8GemvColumns] = {};
};

// gemv_pack_bytes and gemv_pack of Int8Kernels. The packed columns are a GemvColumns with its
// storage behind it.
std::int64_t gemv_pack_bytes(const Matrix& matrix, std::int64_t n);
void gemv_pack(const Matrix& matrix, const Half* const* x, std::int64_t n, std::byte* packed);
std::int64_t gemv_scratch_bytes(const Matrix& matrix);
// Where a product goes, and memory for it.
struct GemvTarget {
  float* out;
  std::int64_t ldo;
  std::byte* scratch;
};
// gemv() of palettes of 64 and 256 entries (int8_palettes.h).
using GemvPalettes = void (*)(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                              const GemvColumns& columns, const GemvTarget& target);
// `kHasBlockSums`: integers in scale blocks are multiplied as they are, not as two parts.
template <bool kHasBlockSums, GemvPalettes kPalettes>
void gemv(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::byte* packed,
          float* out, std::int64_t ldo, std::byte* scratch);

}  // namespace anemone::kernels::simd::int8_split
