// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include <optional>

#include "kernels/simd/amx_tiles.h"
#include "kernels/simd/int8_gemm.h"
#include "kernels/simd/int8_palettes.h"
#include "kernels/simd/int8_split.h"
#include "kernels/simd/int8_split_rows.h"
#include "kernels/simd/int8_split_vectors.h"

namespace anemone::kernels::simd::int8_split {
namespace {

constexpr std::int64_t kRowTileBytes = kInt8BlockRows * 64;  // of one part of a step

std::int64_t steps_of(const Matrix& matrix) {
  return round_up(matrix.k, 64) / 64;
}

// Two row tiles of weights from some step on, as they lie in memory: one part or two.
struct RowTiles {
  const std::byte* high = nullptr;
  const std::byte* low = nullptr;
  std::int64_t stride = 64;                 // from row to row
  std::int64_t step_bytes = kRowTileBytes;  // from step to step
};

// [row tile][row][column].
struct alignas(64) Sums {
  // One part of weights by each part of the columns; or of two parts the product of the high ones,
  // and both mixed ones together. In a narrow block those of the high part of weights by each part
  // of the columns, side by side, and likewise of the low part.
  std::int32_t high[2][16][16];
  std::int32_t low[2][16][16];
};

// Makes the sums of a block of columns floats, a few rows at a time, between the tile products of
// the next block.
class Finish {
 public:
  Finish() = default;
  Finish(const Sums& sums, const RowBlock& block, const float* column_scales, std::int64_t rows,
         bool is_narrow, float* out, std::int64_t ldo)
      : sums_(&sums),
        is_narrow_(is_narrow),
        has_low_(block.has_low()),
        row_scales_(block.scales()),
        column_scales_(_mm512_loadu_ps(column_scales)),
        rows_(rows),
        out_(out),
        ldo_(ldo) {}

  void some(std::int64_t rows) {
    const std::int64_t end = row_ + rows < rows_ ? row_ + rows : rows_;
    for (; row_ < end; ++row_) {
      const std::int64_t tile = row_ / 16;
      const std::int64_t r = row_ % 16;
      const __m512i high = _mm512_load_si512(sums_->high[tile][r]);
      __m512i low = _mm512_load_si512(sums_->low[tile][r]);
      if (is_narrow_) {
        const __m512i mixed = _mm512_castsi256_si512(_mm512_extracti64x4_epi64(high, 1));
        low = has_low_ ? _mm512_add_epi32(mixed, low) : mixed;
      }
      const __m512 both = _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), _mm512_set1_ps(128.0f),
                                          _mm512_cvtepi32_ps(low));
      const __m512 scale = _mm512_mul_ps(column_scales_, _mm512_set1_ps(row_scales_[row_]));
      _mm512_storeu_ps(out_ + row_ * ldo_, _mm512_mul_ps(both, scale));
    }
  }

 private:
  const Sums* sums_ = nullptr;
  bool is_narrow_ = false;
  bool has_low_ = false;
  const float* row_scales_ = nullptr;
  __m512 column_scales_ = _mm512_setzero_ps();
  std::int64_t rows_ = 0;
  float* out_ = nullptr;
  std::int64_t ldo_ = 0;
  std::int64_t row_ = 0;
};

// Steps that are multiplied with all blocks of columns before the next ones: their tiles of weights
// stay in the nearest cache meanwhile, which pays for keeping the sums in memory. With one block
// the tiles are used once, and the sums stay in registers.
constexpr std::int64_t kChunkSteps = 14;
// With few blocks, the weights come from memory so fast that fewer tiles of them have to wait.
constexpr std::int64_t kFewBlocks = 4;
constexpr std::int64_t kFewBlocksChunkSteps = 8;
// Expanded weights of two parts take twice the room; with few blocks both parts, just written, and
// those of the columns fit into the nearest cache.
constexpr std::int64_t kExpandedChunkSteps = 8;
constexpr std::int64_t kFewBlocksExpandedChunkSteps = 4;

std::int64_t max_chunk_steps(const RowBlock& block, std::int64_t blocks, std::int64_t steps) {
  const bool is_few = blocks <= kFewBlocks;
  if (block.in_place() == nullptr)
    return block.has_low() && is_few ? kFewBlocksExpandedChunkSteps : kExpandedChunkSteps;
  if (blocks == 1) return steps;
  return is_few ? kFewBlocksChunkSteps : kChunkSteps;
}

// Rows of so many bytes at most are prefetched. Longer ones the processor itself fetches well
// enough (Granite Rapids), and a block of them is too much to wait in the second-level cache.
constexpr std::int64_t kMostPrefetchedBytes = 6144;

// Steps [begin, end) of one block of columns. Tiles 0 and 1 are sums.high, 2 and 3 sums.low, which
// a narrow block has for low parts of weights only.
//
// _tile_stream_loadd takes 10 cycles where _tile_loadd takes 17 (Granite Rapids, from the nearest
// cache), and leaves less in the cache. So it reads the columns while the weights have to stay for
// the next block, and in a narrow block, which is the last one, the weights: the columns are so few
// bytes that they stay for the next rows.
template <bool kHasLow, bool kIsNarrow>
void multiply_block(const RowTiles& rows, const std::int8_t* high, const std::int8_t* low,
                    std::int64_t begin, std::int64_t end, Sums& sums, Finish& before,
                    Ahead& ahead) {
  constexpr bool kHasLowSums = kHasLow || !kIsNarrow;
  const std::int64_t below = 16 * rows.stride;
  const std::int64_t rows_a_step = (kInt8BlockRows + end - begin - 1) / (end - begin);
  if (begin == 0) {
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (kHasLowSums) {
      _tile_zero(2);
      _tile_zero(3);
    }
  } else {
    _tile_loadd(0, sums.high[0], 64);
    _tile_loadd(1, sums.high[1], 64);
    if constexpr (kHasLowSums) {
      _tile_loadd(2, sums.low[0], 64);
      _tile_loadd(3, sums.low[1], 64);
    }
  }
  for (std::int64_t s = begin; s < end; ++s) {
    ahead.fetch();
    const std::byte* at = rows.high + (s - begin) * rows.step_bytes;
    if constexpr (kIsNarrow) {
      _tile_stream_loadd(4, at, rows.stride);
      _tile_loadd(6, high + s * kTileBytes, 64);
      _tile_dpbssd(0, 4, 6);
      _tile_stream_loadd(5, at + below, rows.stride);
      _tile_dpbssd(1, 5, 6);
    } else {
      _tile_loadd(4, at, rows.stride);
      _tile_stream_loadd(6, high + s * kTileBytes, 64);
      _tile_dpbssd(0, 4, 6);
      _tile_stream_loadd(7, low + s * kTileBytes, 64);
      _tile_dpbssd(2, 4, 7);
      _tile_loadd(5, at + below, rows.stride);
      _tile_dpbssd(1, 5, 6);
      _tile_dpbssd(3, 5, 7);
    }
    if constexpr (kHasLow) {
      const std::byte* low_at = rows.low + (s - begin) * rows.step_bytes;
      _tile_loadd(4, low_at, rows.stride);
      _tile_dpbssd(2, 4, 6);
      _tile_loadd(5, low_at + below, rows.stride);
      _tile_dpbssd(3, 5, 6);
    }
    before.some(rows_a_step);
  }
  _tile_stored(0, sums.high[0], 64);
  _tile_stored(1, sums.high[1], 64);
  if constexpr (kHasLowSums) {
    _tile_stored(2, sums.low[0], 64);
    _tile_stored(3, sums.low[1], 64);
  }
}

// What a call of amx_gemm() works on, in its scratch.
struct Scratch {
  Scratch(const Matrix& matrix, std::byte* at)
      : rows(at),
        high(reinterpret_cast<std::int8_t*>(at + row_scratch_bytes(matrix))),
        low(high + kExpandedChunkSteps * kRowTileBytes),
        sums(reinterpret_cast<Sums*>(low + kExpandedChunkSteps * kRowTileBytes)) {}

  std::byte* rows;  // of a RowBlock
  std::int8_t* high;
  std::int8_t* low;
  Sums* sums;  // of each block of columns
};

// Multiplies rows [begin, begin + rows_count), those of `block`. `finish` does the rest of what the
// rows before left, and is left with the sums of the last block of columns.
void multiply_rows(const RowBlock& block, std::int64_t begin, std::int64_t rows_count,
                   const std::byte* packed, std::int64_t n, float* out, std::int64_t ldo,
                   const Scratch& scratch, Finish& finish) {
  const Matrix& matrix = block.matrix();
  const std::int64_t blocks = blocks_of(n);
  const std::int64_t steps = steps_of(matrix);
  const std::int64_t max_steps = max_chunk_steps(block, blocks, steps);
  const std::int64_t chunks = (steps + max_steps - 1) / max_steps;
  const std::int64_t chunk_steps = (steps + chunks - 1) / chunks;
  // The next rows are asked for evenly: all at a time, they hold up the tiles of columns.
  Ahead ahead =
      matrix.row_bytes() > kMostPrefetchedBytes ? Ahead() : Ahead(matrix, begin, steps * blocks);
  for (std::int64_t first = 0; first < steps; first += chunk_steps) {
    const std::int64_t last = first + chunk_steps < steps ? first + chunk_steps : steps;
    RowTiles rows;
    if (block.in_place() != nullptr) {
      rows = {block.in_place() + first * 64, nullptr, matrix.k, 64};
    } else {
      for (std::int64_t s = first; s < last; ++s)
        block.expand(s, 0, rows_count, scratch.high + (s - first) * kRowTileBytes,
                     scratch.low + (s - first) * kRowTileBytes, vbmi::expand_palettes);
      rows.high = reinterpret_cast<const std::byte*>(scratch.high);
      rows.low = reinterpret_cast<const std::byte*>(scratch.low);
    }
    for (std::int64_t b = 0; b < blocks; ++b) {
      const SplitBlock x(matrix, packed + b * gemm_pack_bytes(matrix));
      const bool is_narrow = n - b * kInt8BlockColumns <= kNarrowColumns;
      const auto multiply =
          is_narrow
              ? (block.has_low() ? multiply_block<true, true> : multiply_block<false, true>)
              : (block.has_low() ? multiply_block<true, false> : multiply_block<false, false>);
      multiply(rows, x.high, x.low, first, last, scratch.sums[b], finish, ahead);
      if (last == steps)
        finish = Finish(scratch.sums[b], block, x.scales, rows_count, is_narrow,
                        out + b * kInt8BlockColumns, ldo);
    }
  }
}

}  // namespace

std::int64_t amx_gemm_scratch_bytes(const Matrix& matrix, std::int64_t n) {
  return row_scratch_bytes(matrix) + 2 * kExpandedChunkSteps * kRowTileBytes +
         blocks_of(n) * static_cast<std::int64_t>(sizeof(Sums));
}

void amx_gemm(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::byte* packed,
              std::int64_t n, float* out, std::int64_t ldo, std::byte* scratch) {
  const amx::Tiles tiles;
  const Scratch memory(matrix, scratch);
  // The one before is kept for its scales, which `finish` still needs.
  std::optional<RowBlock> blocks[2];
  Finish finish;
  for (std::int64_t r = begin; r < end; r += kInt8BlockRows) {
    const std::int64_t count = end - r < kInt8BlockRows ? end - r : kInt8BlockRows;
    std::optional<RowBlock>& block = blocks[r / kInt8BlockRows % 2];
    block.emplace(matrix, r, r + count, false, memory.rows);
    multiply_rows(*block, r, count, packed, n, out + (r - begin) * ldo, ldo, memory, finish);
  }
  finish.some(kInt8BlockRows);
}

}  // namespace anemone::kernels::simd::int8_split
#endif
