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

// The instruction multiplies an unsigned byte by a signed one, so a part of the weights is given as
// part + 128; what that adds to a sum is 128 times the sum of the column's parts.
void make_unsigned(const void* from, std::int64_t bytes, std::int8_t* to) {
  const auto* parts = static_cast<const std::byte*>(from);
  for (std::int64_t i = 0; i < bytes; i += kStep)
    _mm512_store_si512(to + i,
                       _mm512_xor_si512(_mm512_loadu_si512(parts + i), _mm512_set1_epi8(-128)));
}

// Calls body(i, r, four) with the parts 4 * i to 4 * i + 3 of each of kCount rows in every lane.
// The load copies them there: a shuffle would take the place of a multiplication. All rows have a
// turn before the next i, because an instruction waits for the one before it in the same sum.
template <int kCount, typename Body>
[[gnu::always_inline]] inline void for_each_four(const std::int8_t* at, const Body& body) {
  unroll<4>([&](auto i) {
    unroll<kCount>([&](auto r) {
      std::int32_t four;
      std::memcpy(&four, at + r * kStep + 4 * i, sizeof(four));
      body(i, r, _mm512_set1_epi32(four));
    });
  });
}

// Unsigned parts of rows of weights from some step on, as [step][row][64]: one part or two.
struct Rows {
  const std::int8_t* high = nullptr;
  const std::int8_t* low = nullptr;
};

// [row][column]. One part of weights by each part of the columns; or of two parts the product of
// the high ones, and both mixed ones together.
struct alignas(64) VnniSums {
  std::int32_t high[kInt8BlockRows][kInt8BlockColumns];
  std::int32_t low[kInt8BlockRows][kInt8BlockColumns];
};

// Adds `steps` steps of a block of columns to the sums of rows [first, first + kRows). Fetches
// ahead if that is given.
template <bool kHasLow>
void add_steps(const Rows& rows, const std::int8_t* high_columns, const std::int8_t* low_columns,
               std::int64_t steps, std::int64_t first, bool begins, VnniSums& sums, Ahead* ahead) {
  __m512i high[kRows];
  __m512i low[kRows];
  unroll<kRows>([&](auto r) {
    high[r] = begins ? _mm512_setzero_si512() : _mm512_load_si512(sums.high[first + r]);
    low[r] = begins ? _mm512_setzero_si512() : _mm512_load_si512(sums.low[first + r]);
  });
  const std::int8_t* high_at = rows.high + first * kStep;
  const std::int8_t* low_at = kHasLow ? rows.low + first * kStep : nullptr;
  for (std::int64_t s = 0; s < steps; ++s) {
    for (std::int64_t k = 0; k < kStep; k += 16) {
      if (ahead != nullptr) ahead->fetch();
      __m512i x_high[4];
      __m512i x_low[4];
      unroll<4>([&](auto i) {
        x_high[i] = _mm512_load_si512(high_columns + (k + 4 * i) * kInt8BlockColumns);
        x_low[i] = _mm512_load_si512(low_columns + (k + 4 * i) * kInt8BlockColumns);
      });
      for_each_four<kRows>(high_at + k, [&](auto i, auto r, __m512i four) {
        high[r] = _mm512_dpbusd_epi32(high[r], four, x_high[i]);
        low[r] = _mm512_dpbusd_epi32(low[r], four, x_low[i]);
      });
      if constexpr (kHasLow)
        for_each_four<kRows>(low_at + k, [&](auto i, auto r, __m512i four) {
          low[r] = _mm512_dpbusd_epi32(low[r], four, x_high[i]);
        });
    }
    high_columns += kTileBytes;
    low_columns += kTileBytes;
    high_at += kRowStepBytes;
    if constexpr (kHasLow) low_at += kRowStepBytes;
  }
  unroll<kRows>([&](auto r) {
    _mm512_store_si512(sums.high[first + r], high[r]);
    _mm512_store_si512(sums.low[first + r], low[r]);
  });
}

// add_steps() for int4 in scale blocks, kBlockRows rows at a time: sums of the scale blocks'
// products, each multiplied with its scale. `offsets`: block_offsets() of the steps.
void add_int4_block_steps(const RowBlock& block, const Rows& rows, const std::int8_t* high_columns,
                          const std::int8_t* low_columns, const std::int32_t* offsets,
                          std::int64_t first_step, std::int64_t steps, std::int64_t first,
                          bool begins, VnniSums& sums, Ahead* ahead) {
  __m512i high[kBlockRows];
  __m512i low[kBlockRows];
  unroll<kBlockRows>([&](auto r) {
    high[r] = begins ? _mm512_setzero_si512() : _mm512_load_si512(sums.high[first + r]);
    low[r] = begins ? _mm512_setzero_si512() : _mm512_load_si512(sums.low[first + r]);
  });
  const std::int8_t* at = rows.high + first * kStep;
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
      for_each_four<kBlockRows>(at + k, [&](auto i, auto r, __m512i four) {
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
void add_int8_block_steps(const RowBlock& block, const Rows& rows, const std::int8_t* high_columns,
                          const std::int8_t* low_columns, const std::int32_t* offsets,
                          std::int64_t first_step, std::int64_t steps, std::int64_t first,
                          bool begins, VnniSums& sums, Ahead* ahead) {
  constexpr std::int64_t kBlocksOfStep = kStep / kDepth;
  __m512i total[kBlockRows];
  const float* factors[kBlockRows];
  unroll<kBlockRows>([&](auto r) {
    total[r] = begins ? _mm512_setzero_si512() : _mm512_load_si512(sums.low[first + r]);
    factors[r] = block.factors(first + r) + first_step * kBlocksOfStep;
  });
  const std::int8_t* at = rows.high + first * kStep;
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
        for_each_four<kBlockRows>(at + k, [&](auto i, auto r, __m512i four) {
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

// What finishes the sums of a block.
struct Scales {
  // `column_sums`: nullptr for sums of scale blocks.
  Scales(const float* row_scales, const float* column_scales, const std::int32_t* column_sums,
         bool has_low)
      : rows(row_scales), columns(_mm512_loadu_ps(column_scales)) {
    if (column_sums == nullptr) {
      columns = _mm512_mul_ps(columns, _mm512_set1_ps(kBlockUnit));
      return;
    }
    const __m512i of_high = _mm512_load_si512(column_sums);
    const __m512i of_low = _mm512_load_si512(column_sums + kInt8BlockColumns);
    high_offsets = _mm512_slli_epi32(of_high, 7);
    low_offsets = _mm512_slli_epi32(has_low ? _mm512_add_epi32(of_low, of_high) : of_low, 7);
  }
  const float* rows;
  __m512 columns;
  // What weights as make_unsigned() gives them add.
  __m512i high_offsets = _mm512_setzero_si512();
  __m512i low_offsets = _mm512_setzero_si512();
};

__m512 floats_of(const std::int32_t* sums, __m512i offsets) {
  return _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_load_si512(sums), offsets));
}

void finish(const VnniSums& sums, const Scales& scales, std::int64_t rows, float* out,
            std::int64_t ldo) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const __m512 high = floats_of(sums.high[r], scales.high_offsets);
    const __m512 low = floats_of(sums.low[r], scales.low_offsets);
    const __m512 both = _mm512_fmadd_ps(high, _mm512_set1_ps(128.0f), low);
    const __m512 scale = _mm512_mul_ps(scales.columns, _mm512_set1_ps(scales.rows[r]));
    _mm512_storeu_ps(out + r * ldo, _mm512_mul_ps(both, scale));
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
  const bool is_int4 = is_int4_block(matrix);
  const auto add_scale_blocks = is_int4                   ? add_int4_block_steps
                                : sum_depth_of_rows == 32 ? add_int8_block_steps<32>
                                                          : add_int8_block_steps<16>;
  const RowBlock block(matrix, begin, end, true, scratch);
  auto* high = reinterpret_cast<std::int8_t*>(scratch + row_scratch_bytes(matrix));
  auto* low = high + kChunkSteps * kRowStepBytes;
  auto* sums = reinterpret_cast<VnniSums*>(low + kChunkSteps * kRowStepBytes);
  const std::int64_t chunks = (steps + kChunkSteps - 1) / kChunkSteps;
  const std::int64_t chunk_steps = (steps + chunks - 1) / chunks;
  Ahead ahead(matrix, begin,
              steps * kStep / 16 * kInt8BlockRows / (has_scale_blocks ? kBlockRows : kRows));
  for (std::int64_t first = 0; first < steps; first += chunk_steps) {
    const std::int64_t count = std::min(chunk_steps, steps - first);
    for (std::int64_t s = 0; s < count; ++s) {
      std::int8_t* const to = high + s * kRowStepBytes;
      if (is_int4) {
        block.expand_shifted(first + s, 0, end - begin, to);
      } else if (block.in_place() != nullptr) {
        // Not by expand(): that would be a second pass over the parts, which counts with few
        // columns.
        for (std::int64_t r = 0; r < kInt8BlockRows; ++r)
          make_unsigned(block.row(r) + (first + s) * kStep, kStep, to + r * kStep);
      } else {
        std::int8_t* const low_to = low + s * kRowStepBytes;
        block.expand(first + s, 0, end - begin, to, low_to, kPalettes);
        make_unsigned(to, kRowStepBytes, to);
        if (block.has_low()) make_unsigned(low_to, kRowStepBytes, low_to);
      }
    }
    const Rows rows = {high, block.has_low() ? low : nullptr};
    for (std::int64_t b = 0; b < blocks_of(n); ++b) {
      const SplitBlock x(matrix, packed + b * gemm_pack_bytes(matrix));
      const std::int8_t* high_columns = x.high + first * kTileBytes;
      const std::int8_t* low_columns = x.low + first * kTileBytes;
      Ahead* const some_ahead = b == 0 ? &ahead : nullptr;
      if (has_scale_blocks) {
        const std::int32_t* offsets =
            x.block_offsets + first * (kStep / sum_depth_of_rows) * 2 * kInt8BlockColumns;
        for (std::int64_t r = 0; r < end - begin; r += kBlockRows)
          add_scale_blocks(block, rows, high_columns, low_columns, offsets, first, count, r,
                           first == 0, sums[b], some_ahead);
      } else {
        for (std::int64_t r = 0; r < end - begin; r += kRows)
          (block.has_low() ? add_steps<true> : add_steps<false>)(rows, high_columns, low_columns,
                                                                 count, r, first == 0, sums[b],
                                                                 some_ahead);
      }
      if (first + count < steps) continue;
      const Scales all(block.scales(), x.scales, has_scale_blocks ? nullptr : x.sums,
                       block.has_low());
      finish(sums[b], all, end - begin, out + b * kInt8BlockColumns, ldo);
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
