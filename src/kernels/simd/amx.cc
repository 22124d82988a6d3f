// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/amx.h"

#include "kernels/simd/amx_digits.h"
#include "kernels/simd/amx_rows.h"

namespace anemone::kernels::simd::amx {
namespace {

constexpr std::int64_t kRowTileBytes = kBlockRows * 64;  // of one digit of a step

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

std::int64_t steps_of(const Matrix& matrix) {
  return round_up(matrix.columns, 64) / 64;
}

// Two row tiles of weights, step by step, as they lie in memory: one digit or two.
struct RowTiles {
  const std::byte* high = nullptr;
  const std::byte* low = nullptr;
  std::int64_t stride = 64;                 // from row to row
  std::int64_t step_bytes = kRowTileBytes;  // from step to step
};

struct alignas(64) Sums {
  // [row tile][row][column]. One digit of weights by each digit of the columns; or of two digits
  // the product of the high ones, and both mixed ones together.
  std::int32_t high[2][16][16];
  std::int32_t low[2][16][16];
};

// Makes the sums of a block of columns floats, a few rows at a time, between the tile products of
// the next block.
class Finish {
 public:
  Finish() = default;
  Finish(const Sums& sums, const float* row_scales, const float* column_scales, std::int64_t rows,
         float* out, std::int64_t ldo)
      : sums_(&sums),
        row_scales_(row_scales),
        column_scales_(_mm512_loadu_ps(column_scales)),
        rows_(rows),
        out_(out),
        ldo_(ldo) {}

  void some(std::int64_t rows) {
    const std::int64_t end = row_ + rows < rows_ ? row_ + rows : rows_;
    for (; row_ < end; ++row_) {
      const std::int64_t tile = row_ / 16;
      const std::int64_t r = row_ % 16;
      const __m512 high = _mm512_cvtepi32_ps(_mm512_load_si512(sums_->high[tile][r]));
      const __m512 low = _mm512_cvtepi32_ps(_mm512_load_si512(sums_->low[tile][r]));
      const __m512 both = _mm512_fmadd_ps(high, _mm512_set1_ps(128.0f), low);
      const __m512 scale = _mm512_mul_ps(column_scales_, _mm512_set1_ps(row_scales_[row_]));
      _mm512_storeu_ps(out_ + row_ * ldo_, _mm512_mul_ps(both, scale));
    }
  }

 private:
  const Sums* sums_ = nullptr;
  const float* row_scales_ = nullptr;
  __m512 column_scales_ = _mm512_setzero_ps();
  std::int64_t rows_ = 0;
  float* out_ = nullptr;
  std::int64_t ldo_ = 0;
  std::int64_t row_ = 0;
};

// Steps that are multiplied with all blocks of columns before the next ones: their tiles of weights
// stay in the nearest cache meanwhile, which pays for keeping the sums in memory.
constexpr std::int64_t kPartSteps = 8;

// Steps [begin, end) of one block of columns. Tiles 0 and 1 are sums.high, 2 and 3 sums.low.
template <bool kHasLow>
void multiply_block(const RowTiles& rows, const std::int8_t* high, const std::int8_t* low,
                    std::int64_t begin, std::int64_t end, Sums& sums, Finish& before) {
  const std::int64_t below = 16 * rows.stride;
  const std::int64_t rows_a_step = (kBlockRows + end - begin - 1) / (end - begin);
  if (begin == 0) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, sums.high[0], 64);
    _tile_loadd(1, sums.high[1], 64);
    _tile_loadd(2, sums.low[0], 64);
    _tile_loadd(3, sums.low[1], 64);
  }
  for (std::int64_t s = begin; s < end; ++s) {
    const std::byte* at = rows.high + s * rows.step_bytes;
    _tile_loadd(4, at, rows.stride);
    _tile_loadd(6, high + s * kTileBytes, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(7, low + s * kTileBytes, 64);
    _tile_dpbssd(2, 4, 7);
    _tile_loadd(5, at + below, rows.stride);
    _tile_dpbssd(1, 5, 6);
    _tile_dpbssd(3, 5, 7);
    if constexpr (kHasLow) {
      const std::byte* low_at = rows.low + s * rows.step_bytes;
      _tile_loadd(4, low_at, rows.stride);
      _tile_dpbssd(2, 4, 6);
      _tile_loadd(5, low_at + below, rows.stride);
      _tile_dpbssd(3, 5, 6);
    }
    before.some(rows_a_step);
  }
  _tile_stored(0, sums.high[0], 64);
  _tile_stored(1, sums.high[1], 64);
  _tile_stored(2, sums.low[0], 64);
  _tile_stored(3, sums.low[1], 64);
}

}  // namespace

Tiles::Tiles() {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = 16;
  }
  // GCC before 13 takes only the first eight bytes for an operand and may drop the other stores.
  asm volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}

Tiles::~Tiles() {
  _tile_release();
}

std::int64_t scratch_bytes(const Matrix& matrix, std::int64_t blocks) {
  return row_scratch_bytes(matrix) + 2 * steps_of(matrix) * kRowTileBytes +
         blocks * static_cast<std::int64_t>(sizeof(Sums));
}

void multiply(const Matrix& matrix, std::int64_t begin, std::int64_t end, const std::int8_t* digits,
              const float* scales, std::int64_t blocks, float* out, std::int64_t ldo,
              std::byte* scratch) {
  const std::int64_t steps = steps_of(matrix);
  const RowBlock block(matrix, begin, end, scratch);
  auto* high = reinterpret_cast<std::int8_t*>(scratch + row_scratch_bytes(matrix));
  auto* low = high + steps * kRowTileBytes;
  auto* sums = reinterpret_cast<Sums*>(low + steps * kRowTileBytes);
  RowTiles rows;
  if (block.in_place() != nullptr) {
    rows = {block.in_place(), nullptr, matrix.columns, 64};
  } else {
    for (std::int64_t s = 0; s < steps; ++s)
      block.expand(s, 0, kBlockRows, high + s * kRowTileBytes, low + s * kRowTileBytes);
    rows.high = reinterpret_cast<const std::byte*>(high);
    rows.low = reinterpret_cast<const std::byte*>(low);
  }
  const std::int64_t parts = (steps + kPartSteps - 1) / kPartSteps;
  const std::int64_t part_steps = (steps + parts - 1) / parts;
  Finish finish;
  for (std::int64_t first = 0; first < steps; first += part_steps) {
    const std::int64_t last = first + part_steps < steps ? first + part_steps : steps;
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int8_t* columns = digits + b * 2 * steps * kTileBytes;
      const std::int8_t* columns_low = columns + steps * kTileBytes;
      if (block.has_low())
        multiply_block<true>(rows, columns, columns_low, first, last, sums[b], finish);
      else
        multiply_block<false>(rows, columns, columns_low, first, last, sums[b], finish);
      if (last == steps)
        finish = Finish(sums[b], block.scales(), scales + b * kBlockColumns, end - begin,
                        out + b * kBlockColumns, ldo);
    }
  }
  finish.some(kBlockRows);
}

namespace {

// [tile][row][column], where columns 0 to 7 are high digits and 8 to 15 low ones.
struct alignas(64) FewSums {
  std::int32_t tiles[4][16][16];
};

// Asks for the rows that come next, which are one run of memory, while these are at work.
class Ahead {
 public:
  Ahead(const Matrix& matrix, std::int64_t begin, std::int64_t steps)
      : at_(matrix.row(begin) + kBlockRows * matrix.row_bytes()),
        last_(matrix.row(matrix.rows - 1) + matrix.row_bytes()),
        lines_((kBlockRows * matrix.row_bytes() + 64 * steps - 1) / (64 * steps)) {}
  // Once a step.
  void fetch() {
    for (std::int64_t line = 0; line < lines_; ++line, at_ += 64)
      if (at_ < last_) _mm_prefetch(reinterpret_cast<const char*>(at_), _MM_HINT_T1);
  }

 private:
  const std::byte* at_;
  const std::byte* last_;
  std::int64_t lines_;
};

// One digit of weights. Two sums a row tile, in turn: one would wait for the product before.
void multiply_one_digit(const Matrix& matrix, const RowBlock& block, std::int64_t begin,
                        const std::int8_t* digits, std::int8_t* expanded) {
  const std::int64_t steps = steps_of(matrix);
  const std::int64_t stride = block.in_place() != nullptr ? matrix.columns : 64;
  Ahead ahead(matrix, begin, steps);
  for (std::int64_t s = 0; s < steps; ++s) {
    ahead.fetch();
    const std::byte* at = nullptr;
    if (block.in_place() != nullptr) {
      at = block.in_place() + s * 64;
    } else {
      std::int8_t* turn = expanded + s % 2 * kRowTileBytes;
      block.expand(s, 0, kBlockRows, turn, nullptr);
      at = reinterpret_cast<const std::byte*>(turn);
    }
    _tile_loadd(6, digits + s * kTileBytes, 64);
    _tile_loadd(4, at, stride);
    _tile_loadd(5, at + 16 * stride, stride);
    if (s % 2 == 0) {
      _tile_dpbssd(0, 4, 6);
      _tile_dpbssd(1, 5, 6);
    } else {
      _tile_dpbssd(2, 4, 6);
      _tile_dpbssd(3, 5, 6);
    }
  }
}

// Two digits of weights: tiles 0 and 1 for the high ones, 2 and 3 for the low ones. Before a row
// tile is multiplied the next one becomes digits, so that its stores are through when it is loaded.
// Two row tiles fill a page, within which loads and stores do not look alike.
void multiply_two_digits(const Matrix& matrix, const RowBlock& block, std::int64_t begin,
                         const std::int8_t* digits, std::int8_t* expanded) {
  const std::int64_t steps = steps_of(matrix);
  Ahead ahead(matrix, begin, steps);
  std::int8_t* const turns[2] = {expanded, expanded + 2 * kTileBytes};
  const auto expand = [&](std::int64_t step, std::int64_t tile) {
    // The block counts its rows from its first tile.
    std::int8_t* high = turns[tile] - tile * kTileBytes;
    if (step < steps) block.expand(step, tile * 16, 16, high, high + kTileBytes);
  };
  expand(0, 0);
  for (std::int64_t s = 0; s < steps; ++s) {
    ahead.fetch();
    expand(s, 1);
    _tile_loadd(6, digits + s * kTileBytes, 64);
    _tile_loadd(4, turns[0], 64);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(5, turns[0] + kTileBytes, 64);
    _tile_dpbssd(2, 5, 6);
    expand(s + 1, 0);
    _tile_loadd(4, turns[1], 64);
    _tile_dpbssd(1, 4, 6);
    _tile_loadd(5, turns[1] + kTileBytes, 64);
    _tile_dpbssd(3, 5, 6);
  }
}

__m512 upper_half(__m512i integers) {
  return _mm512_cvtepi32_ps(_mm512_castsi256_si512(_mm512_extracti64x4_epi64(integers, 1)));
}

}  // namespace

void multiply_few(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                  const std::int8_t* digits, const float* scales, float* out, std::byte* scratch) {
  const RowBlock block(matrix, begin, end, scratch);
  auto* expanded = reinterpret_cast<std::int8_t*>(scratch + row_scratch_bytes(matrix));
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  if (block.has_low())
    multiply_two_digits(matrix, block, begin, digits, expanded);
  else
    multiply_one_digit(matrix, block, begin, digits, expanded);
  FewSums sums;
  _tile_stored(0, sums.tiles[0], 64);
  _tile_stored(1, sums.tiles[1], 64);
  _tile_stored(2, sums.tiles[2], 64);
  _tile_stored(3, sums.tiles[3], 64);
  const __m256 column_scales = _mm256_loadu_ps(scales);
  for (std::int64_t r = 0; r < end - begin; ++r) {
    const __m512i first = _mm512_load_si512(sums.tiles[r / 16][r % 16]);
    const __m512i second = _mm512_load_si512(sums.tiles[2 + r / 16][r % 16]);
    __m512 high;
    __m512 low;
    if (block.has_low()) {
      // high * (high | low), low * (high | low): the mixed ones count together.
      high = _mm512_cvtepi32_ps(first);
      const __m512i mixed = _mm512_add_epi32(_mm512_shuffle_i64x2(first, first, 0x4e), second);
      low = _mm512_cvtepi32_ps(mixed);
    } else {
      const __m512i both = _mm512_add_epi32(first, second);
      high = _mm512_cvtepi32_ps(both);
      low = upper_half(both);
    }
    const __m256 sum = _mm256_fmadd_ps(_mm512_castps512_ps256(high), _mm256_set1_ps(128.0f),
                                       _mm512_castps512_ps256(low));
    const __m256 scale = _mm256_mul_ps(column_scales, _mm256_set1_ps(block.scales()[r]));
    _mm256_storeu_ps(out + r * kFewColumns, _mm256_mul_ps(sum, scale));
  }
}

}  // namespace anemone::kernels::simd::amx
#endif
