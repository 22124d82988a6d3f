// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <algorithm>
#include <cstring>

#include "kernels/simd/int8_gemm.h"
#include "kernels/simd/int8_palettes.h"
#include "kernels/simd/int8_split.h"
#include "kernels/simd/int8_split_rows.h"
#include "kernels/simd/int8_split_vectors.h"
#include "kernels/simd/unroll.h"

namespace anemone::kernels::simd::int8_split {
namespace {

constexpr std::int64_t kStep = 64;                              // elements of the depth
constexpr std::int64_t kRowStepBytes = kInt8BlockRows * kStep;  // of one part of a step
constexpr int kRows = 8;       // rows whose sums are in registers at a time
constexpr int kBlockRows = 4;  // the same where scale blocks have sums of their own
static_assert(kInt8BlockRows % kRows == 0 && kRows % kBlockRows == 0);
// Steps that are multiplied with all blocks of columns before the next ones: so few that their
// parts of weights, and those of a block of columns, stay in the nearest cache meanwhile.
constexpr std::int64_t kChunkSteps = 7;

std::int64_t vnni_steps_of(const Matrix& matrix) {
  return round_up(matrix.k, kStep) / kStep;
}

// The instruction multiplies an unsigned byte by a signed one. Columns are unsigned, so that
// weights can be read where they lie (kUnsignedOffset); but in scale blocks it is the weights,
// as part + 128: what that adds to the sum of a scale block does not depend on the row then.
void make_unsigned(const void* from, std::int64_t bytes, std::int8_t* to) {
  const auto* parts = static_cast<const std::byte*>(from);
  for (std::int64_t i = 0; i < bytes; i += kStep)
    _mm512_store_si512(to + i,
                       _mm512_xor_si512(_mm512_loadu_si512(parts + i), _mm512_set1_epi8(-128)));
}

// Calls body(i, r, four) with the parts 4 * i to 4 * i + 3 of each of kCount rows, which lie at
// at(r), in every lane. The load copies them there: a shuffle would take the place of a
// multiplication. All rows have a turn before the next i, because an instruction waits for the one
// before it in the same sum.
template <int kCount, typename At, typename Body>
[[gnu::always_inline]] inline void for_each_four(const At& at, const Body& body) {
  unroll<4>([&](auto i) {
    unroll<kCount>([&](auto r) {
      std::int32_t four;
      std::memcpy(&four, at(r) + 4 * i, sizeof(four));
      body(i, r, _mm512_set1_epi32(four));
    });
  });
}

// Parts of rows of weights from some step on. In place: one part, as it lies in memory.
struct RowsInPlace {
  static constexpr bool kHasLow = false;
  static constexpr std::int64_t kStepBytes = kStep;  // from a step to the next one
  std::int64_t row_stride() const { return row_bytes; }

  const std::int8_t* high;
  std::int64_t row_bytes;
};
// Expanded, as [step][row][64]: one part or two.
template <bool kIsTwo>
struct ExpandedRows {
  static constexpr bool kHasLow = kIsTwo;
  static constexpr std::int64_t kStepBytes = kRowStepBytes;
  static constexpr std::int64_t row_stride() { return kStep; }

  const std::int8_t* high;
  const std::int8_t* low;
};

// [row][column]. One part of weights by each part of the columns; or of two parts the product of
// the high ones, and both mixed ones together.
struct alignas(64) VnniSums {
  std::int32_t high[kInt8BlockRows][kInt8BlockColumns];
  std::int32_t low[kInt8BlockRows][kInt8BlockColumns];
};

// The sums of each row's weights over 16 lanes: kUnsignedOffset times these are what the offset of
// the columns' parts adds to the row's sums of products.
struct alignas(64) WeightSums {
  std::int32_t high[kInt8BlockRows][16] = {};
  std::int32_t low[kInt8BlockRows][16] = {};
};

// Adds the weights of `steps` steps of rows [first, first + kRows).
template <typename Rows>
void add_weights(const Rows& rows, std::int64_t steps, std::int64_t first, WeightSums& sums) {
  const __m512i ones = _mm512_set1_epi8(1);
  const auto add = [&](const std::int8_t* at, std::int32_t* sum) {
    __m512i some = _mm512_load_si512(sum);
    for (std::int64_t s = 0; s < steps; ++s)
      some = _mm512_dpbusd_epi32(some, ones, _mm512_loadu_si512(at + s * Rows::kStepBytes));
    _mm512_store_si512(sum, some);
  };
  for (std::int64_t r = first; r < first + kRows; ++r) {
    add(rows.high + r * rows.row_stride(), sums.high[r]);
    if constexpr (Rows::kHasLow) add(rows.low + r * rows.row_stride(), sums.low[r]);
  }
}

// Adds `steps` steps of a block of columns to the sums of rows [first, first + kRows). Fetches
// ahead if that is given.
template <typename Rows>
void add_steps(const Rows& rows, const std::int8_t* high_columns, const std::int8_t* low_columns,
               std::int64_t steps, std::int64_t first, bool begins, VnniSums& sums, Ahead* ahead) {
  __m512i high[kRows];
  __m512i low[kRows];
  unroll<kRows>([&](auto r) {
    high[r] = begins ? _mm512_setzero_si512() : _mm512_load_si512(sums.high[first + r]);
    low[r] = begins ? _mm512_setzero_si512() : _mm512_load_si512(sums.low[first + r]);
  });
  const std::int64_t stride = rows.row_stride();
  const std::int8_t* high_at = rows.high + first * stride;
  const std::int8_t* low_at = nullptr;
  if constexpr (Rows::kHasLow) low_at = rows.low + first * stride;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (std::int64_t k = 0; k < kStep; k += 16) {
      if (ahead != nullptr) ahead->fetch();
      __m512i x_high[4];
      __m512i x_low[4];
      unroll<4>([&](auto i) {
        x_high[i] = _mm512_load_si512(high_columns + (k + 4 * i) * kInt8BlockColumns);
        x_low[i] = _mm512_load_si512(low_columns + (k + 4 * i) * kInt8BlockColumns);
      });
      for_each_four<kRows>([&](auto r) { return high_at + r * stride + k; },
                           [&](auto i, auto r, __m512i four) {
                             high[r] = _mm512_dpbusd_epi32(high[r], x_high[i], four);
                             low[r] = _mm512_dpbusd_epi32(low[r], x_low[i], four);
                           });
      if constexpr (Rows::kHasLow)
        for_each_four<kRows>([&](auto r) { return low_at + r * stride + k; },
                             [&](auto i, auto r, __m512i four) {
                               low[r] = _mm512_dpbusd_epi32(low[r], x_high[i], four);
                             });
    }
    high_columns += kTileBytes;
    low_columns += kTileBytes;
    high_at += Rows::kStepBytes;
    if constexpr (Rows::kHasLow) low_at += Rows::kStepBytes;
  }
  unroll<kRows>([&](auto r) {
    _mm512_store_si512(sums.high[first + r], high[r]);
    _mm512_store_si512(sums.low[first + r], low[r]);
  });
}

// add_steps() for int4 in scale blocks, kBlockRows rows at a time: sums of the scale blocks'
// products, each multiplied with its scale. `offsets`: block_offsets() of the steps.
void add_int4_block_steps(const RowBlock& block, const std::int8_t* rows,
                          const std::int8_t* high_columns, const std::int8_t* low_columns,
                          const std::int32_t* offsets, std::int64_t first_step, std::int64_t steps,
                          std::int64_t first, bool begins, VnniSums& sums, Ahead* ahead) {
  __m512i high[kBlockRows];
  __m512i low[kBlockRows];
  unroll<kBlockRows>([&](auto r) {
    high[r] = begins ? _mm512_setzero_si512() : _mm512_load_si512(sums.high[first + r]);
    low[r] = begins ? _mm512_setzero_si512() : _mm512_load_si512(sums.low[first + r]);
  });
  const std::int8_t* at = rows + first * kStep;
  for (std::int64_t t = 0; t < 2 * steps; ++t) {
    __m512i high_sum[kBlockRows];
    __m512i low_sum[kBlockRows];
    unroll<kBlockRows>([&](auto r) {
      high_sum[r] = _mm512_load_si512(offsets);
      low_sum[r] = _mm512_load_si512(offsets + kInt8BlockColumns);
    });
    unroll<2>([&](auto half) {
      if (ahead != nullptr) ahead->fetch();
      const std::int64_t k = t % 2 * 32 + 16 * half;
      const std::int8_t* const high_x = high_columns + k * kInt8BlockColumns;
      const std::int8_t* const low_x = low_columns + k * kInt8BlockColumns;
      const auto row_at = [&](auto r) { return at + r * kStep + k; };
      for_each_four<kBlockRows>(row_at, [&](auto i, auto r, __m512i four) {
        high_sum[r] = _mm512_dpbusd_epi32(high_sum[r], four, _mm512_load_si512(high_x + 64 * i));
        low_sum[r] = _mm512_dpbusd_epi32(low_sum[r], four, _mm512_load_si512(low_x + 64 * i));
      });
    });
    unroll<kBlockRows>([&](auto r) {
      // The factors are in pairs with zeros: the sum of a scale block is within 15 bits.
      const __m512i factor =
          _mm512_maskz_set1_epi16(0x55555555, block.multipliers(first + r)[2 * first_step + t]);
      high[r] = _mm512_dpwssd_epi32(high[r], high_sum[r], factor);
      low[r] = _mm512_dpwssd_epi32(low[r], low_sum[r], factor);
    });
    offsets += 2 * kInt8BlockColumns;
    if (t % 2 == 0) continue;
    high_columns += kTileBytes;
    low_columns += kTileBytes;
    at += kRowStepBytes;
  }
  unroll<kBlockRows>([&](auto r) {
    _mm512_store_si512(sums.high[first + r], high[r]);
    _mm512_store_si512(sums.low[first + r], low[r]);
  });
}

// Adds products of int8 in scale blocks. The sums of a scale block become numbers of steps, which
// are added to sums.low; sums.high stays zero.
template <int kDepth>
void add_int8_block_steps(const RowBlock& block, const std::int8_t* rows,
                          const std::int8_t* high_columns, const std::int8_t* low_columns,
                          const std::int32_t* offsets, std::int64_t first_step, std::int64_t steps,
                          std::int64_t first, bool begins, VnniSums& sums, Ahead* ahead) {
  constexpr std::int64_t kBlocksOfStep = kStep / kDepth;
  __m512i total[kBlockRows];
  const float* factors[kBlockRows];
  unroll<kBlockRows>([&](auto r) {
    total[r] = begins ? _mm512_setzero_si512() : _mm512_load_si512(sums.low[first + r]);
    factors[r] = block.factors(first + r) + first_step * kBlocksOfStep;
  });
  const std::int8_t* at = rows + first * kStep;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (std::int64_t t = 0; t < kBlocksOfStep; ++t, offsets += 2 * kInt8BlockColumns) {
      __m512i high_sum[kBlockRows];
      __m512i low_sum[kBlockRows];
      unroll<kBlockRows>([&](auto r) {
        high_sum[r] = _mm512_load_si512(offsets);
        low_sum[r] = _mm512_load_si512(offsets + kInt8BlockColumns);
      });
      unroll<kDepth / 16>([&](auto part) {
        if (ahead != nullptr) ahead->fetch();
        const std::int64_t k = t * kDepth + 16 * part;
        const std::int8_t* const high_x = high_columns + k * kInt8BlockColumns;
        const std::int8_t* const low_x = low_columns + k * kInt8BlockColumns;
        const auto row_at = [&](auto r) { return at + r * kStep + k; };
        for_each_four<kBlockRows>(row_at, [&](auto i, auto r, __m512i four) {
          high_sum[r] = _mm512_dpbusd_epi32(high_sum[r], four, _mm512_load_si512(high_x + 64 * i));
          low_sum[r] = _mm512_dpbusd_epi32(low_sum[r], four, _mm512_load_si512(low_x + 64 * i));
        });
      });
      unroll<kBlockRows>([&](auto r) {
        const __m512 factor = _mm512_set1_ps(factors[r][s * kBlocksOfStep + t]);
        total[r] =
            _mm512_add_epi32(total[r], steps_of_sums(join_parts(high_sum[r], low_sum[r]), factor));
      });
    }
    high_columns += kTileBytes;
    low_columns += kTileBytes;
    at += kRowStepBytes;
  }
  unroll<kBlockRows>([&](auto r) {
    _mm512_store_si512(sums.high[first + r], _mm512_setzero_si512());
    _mm512_store_si512(sums.low[first + r], total[r]);
  });
}

// Finishes the sums of a block of columns. `weights`: nullptr for sums of scale blocks.
void finish(const VnniSums& sums, const WeightSums* weights, const float* row_scales,
            const float* column_scales, std::int64_t rows, float* out, std::int64_t ldo) {
  __m512 columns = _mm512_loadu_ps(column_scales);
  if (weights == nullptr) columns = _mm512_mul_ps(columns, _mm512_set1_ps(kBlockUnit));
  for (std::int64_t r = 0; r < rows; ++r) {
    __m512i high = _mm512_load_si512(sums.high[r]);
    __m512i low = _mm512_load_si512(sums.low[r]);
    if (weights != nullptr) {
      high = _mm512_sub_epi32(high, _mm512_set1_epi32(weights->high[r][0]));
      low = _mm512_sub_epi32(low, _mm512_set1_epi32(weights->low[r][0]));
    }
    const __m512 both =
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), _mm512_set1_ps(128.0f), _mm512_cvtepi32_ps(low));
    const __m512 scale = _mm512_mul_ps(columns, _mm512_set1_ps(row_scales[r]));
    _mm512_storeu_ps(out + r * ldo, _mm512_mul_ps(both, scale));
  }
}

// Replaces the first lane of each row by what finish() subtracts.
void make_offsets(WeightSums& sums, bool has_low) {
  for (int r = 0; r < kInt8BlockRows; ++r) {
    const __m512i high = _mm512_load_si512(sums.high[r]);
    const __m512i low = has_low ? _mm512_add_epi32(high, _mm512_load_si512(sums.low[r])) : high;
    sums.high[r][0] = kUnsignedOffset * _mm512_reduce_add_epi32(high);
    sums.low[r][0] = kUnsignedOffset * _mm512_reduce_add_epi32(low);
  }
}

// Writes `count` steps of a block of rows as ExpandedRows has them; of scale blocks, as unsigned
// bytes.
template <RowBlock::ExpandPalettes kPalettes>
void expand_steps(const RowBlock& block, std::int64_t first, std::int64_t count, std::int64_t rows,
                  std::int8_t* high, std::int8_t* low) {
  const bool is_int4 = is_int4_block(block.matrix());
  const bool is_int8 = is_int8_block(block.matrix());
  for (std::int64_t s = first; s < first + count;
       ++s, high += kRowStepBytes, low += kRowStepBytes) {
    if (is_int4) {
      block.expand_shifted(s, 0, rows, high);
    } else if (is_int8 && block.in_place() != nullptr) {
      // Not by expand(): that would be a second pass over the parts, which counts with few columns.
      for (std::int64_t r = 0; r < kInt8BlockRows; ++r)
        make_unsigned(block.row(r) + s * kStep, kStep, high + r * kStep);
    } else {
      block.expand(s, 0, rows, high, low, kPalettes);
      if (is_int8) make_unsigned(high, kRowStepBytes, high);
    }
  }
}

// Rows [begin, end), at most kInt8BlockRows; otherwise as vnni_gemm().
template <RowBlock::ExpandPalettes kPalettes>
void multiply_rows(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                   const std::byte* packed, std::int64_t n, float* out, std::int64_t ldo,
                   std::byte* scratch) {
  const std::int64_t steps = vnni_steps_of(matrix);
  const std::int64_t sum_depth_of_rows = sum_depth(matrix);
  const bool has_scale_blocks = sum_depth_of_rows != 0;
  const auto add_scale_blocks = is_int4_block(matrix)     ? add_int4_block_steps
                                : sum_depth_of_rows == 32 ? add_int8_block_steps<32>
                                                          : add_int8_block_steps<16>;
  const RowBlock block(matrix, begin, end, true, scratch);
  const bool is_in_place = block.in_place() != nullptr && !has_scale_blocks;
  auto* high = reinterpret_cast<std::int8_t*>(scratch + row_scratch_bytes(matrix));
  auto* low = high + kChunkSteps * kRowStepBytes;
  auto* sums = reinterpret_cast<VnniSums*>(low + kChunkSteps * kRowStepBytes);
  WeightSums weights;
  const std::int64_t chunks = (steps + kChunkSteps - 1) / kChunkSteps;
  const std::int64_t chunk_steps = (steps + chunks - 1) / chunks;
  Ahead ahead(matrix, begin,
              steps * kStep / 16 * kInt8BlockRows / (has_scale_blocks ? kBlockRows : kRows));
  for (std::int64_t first = 0; first < steps; first += chunk_steps) {
    const std::int64_t count = std::min(chunk_steps, steps - first);
    if (!is_in_place) expand_steps<kPalettes>(block, first, count, end - begin, high, low);
    for (std::int64_t b = 0; b < blocks_of(n); ++b) {
      const SplitBlock x(matrix, packed + b * gemm_pack_bytes(matrix));
      const std::int8_t* high_columns = x.high + first * kTileBytes;
      const std::int8_t* low_columns = x.low + first * kTileBytes;
      Ahead* const some_ahead = b == 0 ? &ahead : nullptr;
      const auto add_rows = [&](const auto& rows) {
        for (std::int64_t r = 0; r < end - begin; r += kRows) {
          if (b == 0) add_weights(rows, count, r, weights);
          add_steps(rows, high_columns, low_columns, count, r, first == 0, sums[b], some_ahead);
        }
      };
      if (has_scale_blocks) {
        const std::int32_t* offsets =
            x.block_offsets + first * (kStep / sum_depth_of_rows) * 2 * kInt8BlockColumns;
        for (std::int64_t r = 0; r < end - begin; r += kBlockRows)
          add_scale_blocks(block, high, high_columns, low_columns, offsets, first, count, r,
                           first == 0, sums[b], some_ahead);
      } else if (is_in_place) {
        add_rows(RowsInPlace{reinterpret_cast<const std::int8_t*>(block.in_place()) + first * kStep,
                             matrix.k});
      } else if (block.has_low()) {
        add_rows(ExpandedRows<true>{high, low});
      } else {
        add_rows(ExpandedRows<false>{high, nullptr});
      }
      if (first + count < steps) continue;
      if (b == 0) make_offsets(weights, block.has_low());
      finish(sums[b], has_scale_blocks ? nullptr : &weights, block.scales(), x.scales, end - begin,
             out + b * kInt8BlockColumns, ldo);
    }
  }
}

}  // namespace

std::int64_t vnni_gemm_scratch_bytes(const Matrix& matrix, std::int64_t n) {
  return row_scratch_bytes(matrix) + 2 * kChunkSteps * kRowStepBytes +
         blocks_of(n) * static_cast<std::int64_t>(sizeof(VnniSums));
}

template <RowBlock::ExpandPalettes kPalettes>
void vnni_gemm(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::byte* packed,
               std::int64_t n, float* out, std::int64_t ldo, std::byte* scratch) {
  for (std::int64_t r = begin; r < end; r += kInt8BlockRows)
    multiply_rows<kPalettes>(matrix, r, std::min(end, r + kInt8BlockRows), packed, n,
                             out + (r - begin) * ldo, ldo, scratch);
}

template void vnni_gemm<vnni::expand_palettes>(const Matrix&, std::int64_t, std::int64_t,
                                               const std::byte*, std::int64_t, float*, std::int64_t,
                                               std::byte*);
template void vnni_gemm<vbmi::expand_palettes>(const Matrix&, std::int64_t, std::int64_t,
                                               const std::byte*, std::int64_t, float*, std::int64_t,
                                               std::byte*);

}  // namespace anemone::kernels::simd::int8_split
#endif
