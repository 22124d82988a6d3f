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

// Where the two row tiles of a step lie, which are one part of weights or two.
struct StepTiles {
  const std::byte* high = nullptr;
  const std::byte* low = nullptr;
};

// [row tile][row][column].
struct alignas(64) Sums {
  // With one part of weights, `high` is its product with the high part of the columns and `low`
  // that with their low part. With two parts, `high` is the product of both high parts and `low`
  // the sum of both mixed products. In a narrow block, `high` has the products of the weights' high
  // part with both parts of the columns, side by side, and `low` those of the weights' low part.
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

// Steps that are multiplied with all of several blocks of columns before the next ones: their tiles
// of weights stay in the nearest cache meanwhile, which pays for keeping the sums in memory.
constexpr std::int64_t kChunkSteps = 14;
// With few blocks, the weights come from memory so fast that fewer tiles of them have to wait.
constexpr std::int64_t kFewBlocks = 4;
constexpr std::int64_t kFewBlocksChunkSteps = 8;
// Expanded weights of two parts take twice the room; with few blocks both parts, just written, and
// those of the columns fit into the nearest cache.
constexpr std::int64_t kExpandedChunkSteps = 8;
constexpr std::int64_t kFewBlocksExpandedChunkSteps = 4;
// With one block the tiles are used once and the sums stay in registers. So many steps are expanded
// at a time, while those before them are multiplied.
constexpr std::int64_t kOnceExpandedSteps = 2;

std::int64_t max_chunk_steps(const RowBlock& block, std::int64_t blocks) {
  const bool is_few = blocks <= kFewBlocks;
  if (block.in_place() == nullptr)
    return block.has_low() && is_few ? kFewBlocksExpandedChunkSteps : kExpandedChunkSteps;
  return is_few ? kFewBlocksChunkSteps : kChunkSteps;
}

// Rows of so many bytes at most are prefetched. Longer ones the processor itself fetches well
// enough (Granite Rapids), and a block of them is too much to wait in the second-level cache.
constexpr std::int64_t kMostPrefetchedBytes = 6144;

// Steps [begin, end) of one block of columns; tiles_of(step) gives the tiles of weights, whose rows
// are `stride` bytes apart. Tiles 0 and 1 are sums.high, 2 and 3 sums.low, which a narrow block has
// for low parts of weights only.
//
// _tile_stream_loadd takes 10 cycles where _tile_loadd takes 17 (Granite Rapids, from the nearest
// cache), and leaves less in the cache. So it reads the columns while the weights have to stay for
// the next block, and in a narrow block, which is the last one, the weights: the columns are so few
// bytes that they stay for the next rows.
template <bool kHasLow, bool kIsNarrow, typename TilesOf>
void multiply_block(const TilesOf& tiles_of, std::int64_t stride, const std::int8_t* high,
                    const std::int8_t* low, std::int64_t begin, std::int64_t end, Sums& sums,
                    Finish& before, Ahead& ahead) {
  constexpr bool kHasLowSums = kHasLow || !kIsNarrow;
  const std::int64_t below = 16 * stride;
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
    const StepTiles tiles = tiles_of(s);
    if constexpr (kIsNarrow) {
      _tile_stream_loadd(4, tiles.high, stride);
      _tile_loadd(6, high + s * kTileBytes, 64);
      _tile_dpbssd(0, 4, 6);
      _tile_stream_loadd(5, tiles.high + below, stride);
      _tile_dpbssd(1, 5, 6);
    } else {
      _tile_loadd(4, tiles.high, stride);
      _tile_stream_loadd(6, high + s * kTileBytes, 64);
      _tile_dpbssd(0, 4, 6);
      _tile_stream_loadd(7, low + s * kTileBytes, 64);
      _tile_dpbssd(2, 4, 7);
      _tile_loadd(5, tiles.high + below, stride);
      _tile_dpbssd(1, 5, 6);
      _tile_dpbssd(3, 5, 7);
    }
    if constexpr (kHasLow) {
      _tile_loadd(4, tiles.low, stride);
      _tile_dpbssd(2, 4, 6);
      _tile_loadd(5, tiles.low + below, stride);
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

  // Those of step `place` of the ones that are expanded.
  StepTiles tiles(std::int64_t place) const {
    return {reinterpret_cast<const std::byte*>(high + place * kRowTileBytes),
            reinterpret_cast<const std::byte*>(low + place * kRowTileBytes)};
  }

  std::byte* rows;  // of a RowBlock
  std::int8_t* high;
  std::int8_t* low;
  Sums* sums;  // of each block of columns
};

// Multiplies the rows of a block, from row `begin` on, with all columns.
class BlockProducts {
 public:
  BlockProducts(const RowBlock& block, std::int64_t begin, std::int64_t rows,
                const std::byte* packed, std::int64_t n, float* out, std::int64_t ldo,
                const Scratch& scratch)
      : block_(block),
        rows_(rows),
        packed_(packed),
        n_(n),
        out_(out),
        ldo_(ldo),
        scratch_(scratch),
        steps_(steps_of(block.matrix())) {
    // The next rows are asked for evenly: all at a time, they hold up the tiles of columns.
    if (block.matrix().row_bytes() <= kMostPrefetchedBytes)
      ahead_ = Ahead(block.matrix(), begin, steps_ * blocks_of(n));
  }

  // `finish` does the rest of what the rows before left, and is left with the sums of the last
  // block of columns.
  void run(Finish& finish) {
    const std::int64_t blocks = blocks_of(n_);
    if (blocks == 1) return run_once(finish);
    const std::int64_t max_steps = max_chunk_steps(block_, blocks);
    const std::int64_t chunks = (steps_ + max_steps - 1) / max_steps;
    const std::int64_t chunk_steps = (steps_ + chunks - 1) / chunks;
    for (std::int64_t first = 0; first < steps_; first += chunk_steps) {
      const std::int64_t last = first + chunk_steps < steps_ ? first + chunk_steps : steps_;
      if (block_.in_place() != nullptr) {
        for (std::int64_t b = 0; b < blocks; ++b) multiply(b, first, last, finish, InPlace(block_));
      } else {
        expand(first, last);
        for (std::int64_t b = 0; b < blocks; ++b)
          multiply(b, first, last, finish,
                   [to = scratch_, first](std::int64_t s) { return to.tiles(s - first); });
      }
    }
  }

 private:
  void run_once(Finish& finish) {
    if (block_.in_place() != nullptr) return multiply(0, 0, steps_, finish, InPlace(block_));
    multiply(0, 0, steps_, finish, [this](std::int64_t s) {
      const std::int64_t place = s % kOnceExpandedSteps;
      if (place == 0) expand(s, s + kOnceExpandedSteps < steps_ ? s + kOnceExpandedSteps : steps_);
      return scratch_.tiles(place);
    });
  }
  // The tiles of rows that are multiplied where they lie.
  struct InPlace {
    explicit InPlace(const RowBlock& block) : rows(block.in_place()) {}
    StepTiles operator()(std::int64_t step) const { return {rows + step * 64, nullptr}; }
    const std::byte* rows;
  };
  void expand(std::int64_t first, std::int64_t last) const {
    for (std::int64_t s = first; s < last; ++s)
      block_.expand(s, 0, rows_, scratch_.high + (s - first) * kRowTileBytes,
                    scratch_.low + (s - first) * kRowTileBytes, vbmi::expand_palettes);
  }
  // Steps [first, last) of a block of columns.
  template <typename TilesOf>
  void multiply(std::int64_t b, std::int64_t first, std::int64_t last, Finish& finish,
                const TilesOf& tiles_of) {
    const SplitBlock x(block_.matrix(), packed_ + b * gemm_pack_bytes(block_.matrix()));
    const bool is_narrow = n_ - b * kInt8BlockColumns <= kNarrowColumns;
    const auto chosen = is_narrow ? (block_.has_low() ? multiply_block<true, true, TilesOf>
                                                      : multiply_block<false, true, TilesOf>)
                                  : (block_.has_low() ? multiply_block<true, false, TilesOf>
                                                      : multiply_block<false, false, TilesOf>);
    const std::int64_t stride = block_.in_place() != nullptr ? block_.matrix().k : 64;
    chosen(tiles_of, stride, x.high, x.low, first, last, scratch_.sums[b], finish, ahead_);
    if (last == steps_)
      finish = Finish(scratch_.sums[b], block_, x.scales, rows_, is_narrow,
                      out_ + b * kInt8BlockColumns, ldo_);
  }

  const RowBlock& block_;
  const std::int64_t rows_;
  const std::byte* const packed_;
  const std::int64_t n_;
  float* const out_;
  const std::int64_t ldo_;
  const Scratch& scratch_;
  const std::int64_t steps_;
  Ahead ahead_;
};

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
    BlockProducts(*block, r, count, packed, n, out + (r - begin) * ldo, ldo, memory).run(finish);
  }
  finish.some(kInt8BlockRows);
}

}  // namespace anemone::kernels::simd::int8_split
#endif
