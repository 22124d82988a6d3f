// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#define ANEMONE_SIMD_NAMESPACE amx
#define ANEMONE_SIMD_AVX512
#include "kernels/simd/amx_tiles.h"
#include "kernels/simd/attention_amx_softmax.h"
#include "kernels/simd/attention_amx_tiles.h"

namespace anemone::kernels::simd {

namespace avx512 {
extern const Kernels kKernels;
}

namespace amx {
namespace {

// c [32, 32] += a * b over [begin, end) times kDeep; kIsFresh: c is 0 before. Sums 0 and 1 are the
// upper rows, 4 and 5 tiles of a, 6 and 7 of b.
template <bool kIsFresh>
void multiply(const PartRows& a, const TilePairs& b, std::int64_t begin, std::int64_t end, float* c,
              std::int64_t ldc) {
  const auto stride = static_cast<long>(ldc) * 4;
  float* const below = c + 16 * ldc;
  if constexpr (kIsFresh) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, c, stride);
    _tile_loadd(1, c + 16, stride);
    _tile_loadd(2, below, stride);
    _tile_loadd(3, below + 16, stride);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    const std::byte* const upper_left = a.at + i * kRowParts;
    const std::byte* const lower_left = a.row(16) + i * kRowParts;
    const std::byte* const right = b.at + i * b.deep;
    _tile_loadd(4, upper_left + kRowPart, a.stride);
    _tile_loadd(6, right, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, right + b.across, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, lower_left + kRowPart, a.stride);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    _tile_loadd(4, upper_left, a.stride);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, lower_left, a.stride);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    _tile_loadd(6, right + kTile, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, right + b.across + kTile, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, stride);
  _tile_stored(1, c + 16, stride);
  _tile_stored(2, below, stride);
  _tile_stored(3, below + 16, stride);
}

#define ANEMONE_MIX_COLUMN(n)                     \
  _tile_loadd(6, values + n * kPair, 64);         \
  _tile_dpbf16ps(n, 4, 6);                        \
  _tile_loadd(7, values + n * kPair + kTile, 64); \
  _tile_dpbf16ps(n, 5, 6);                        \
  _tile_dpbf16ps(n, 5, 7);

// mixed [16, 16 * kColumns, rows `depth` apart] += weights * values at the positions of a range,
// for the dimensions from d on, as products of 32 rows are. `values` has room for a pair of tiles
// per column.
template <int kColumns>
void mix_columns(const AttentionHead& head, const BlockRange& range, const PartRows& weights,
                 std::int64_t d, std::byte* values, float* mixed, std::int64_t depth) {
  static_assert(kColumns == 2 || kColumns == 4);
  const auto stride = static_cast<long>(depth) * 4;
  settle_memory();
  _tile_loadd(0, mixed, stride);
  _tile_loadd(1, mixed + 16, stride);
  if constexpr (kColumns == 4) {
    _tile_loadd(2, mixed + 32, stride);
    _tile_loadd(3, mixed + 48, stride);
  }
  for (std::int64_t s = range.open(); s < range.close(); s += kDeep) {
    pack_values(head, range, s, d, d + 16 * kColumns, values);
    settle_memory();
    const std::byte* const left = weights.at + s / kDeep * kRowParts;
    _tile_loadd(4, left + kRowPart, weights.stride);
    _tile_loadd(5, left, weights.stride);
    ANEMONE_MIX_COLUMN(0)
    ANEMONE_MIX_COLUMN(1)
    if constexpr (kColumns == 4) {
      ANEMONE_MIX_COLUMN(2)
      ANEMONE_MIX_COLUMN(3)
    }
  }
  _tile_stored(0, mixed, stride);
  _tile_stored(1, mixed + 16, stride);
  if constexpr (kColumns == 4) {
    _tile_stored(2, mixed + 32, stride);
    _tile_stored(3, mixed + 48, stride);
  }
  settle_memory();
}
#undef ANEMONE_MIX_COLUMN

// Sixteen rows as columns.
void transpose_rows(const PartRows& from, std::int64_t chunks, const TilePairs& to) {
  for (std::int64_t i = 0; i < 2 * chunks; ++i) {
    Floats some[16];
    auto* const out = reinterpret_cast<float*>(to.at + i * kTile);
    unroll<16>([&](auto r) __attribute__((always_inline)) {
      some[r] = load(reinterpret_cast<const float*>(from.row(r) + i * kRowPart));
    });
    transpose(some);
    unroll<16>([&](auto r) __attribute__((always_inline)) { store(out + r * 16, some[r]); });
  }
}

#define ANEMONE_SCORE_POSITIONS(n)                                     \
  _tile_loadd(4, left + 16 * n * keys.stride, keys.stride);            \
  _tile_dpbf16ps(n, 4, 6);                                             \
  _tile_dpbf16ps(n, 4, 7);                                             \
  _tile_loadd(5, left + 16 * n * keys.stride + kRowPart, keys.stride); \
  _tile_dpbf16ps(n, 5, 7);

// Scores of up to 16 rows at the positions of a range: scores[r * kPositions + s]. `keys` has room
// for kDeep positions. The same numbers meet in the same order as in multiply().
void score_few(const AttentionHead& head, const BlockRange& range, const PartRows& keys,
               const TilePairs& queries, std::int64_t chunks, std::int64_t rows, float* scores) {
  alignas(64) float by_position[kDeep][16];
  for (std::int64_t s = range.open(); s < range.close(); s += kDeep) {
    const bool is_whole = range.has(s, kDeep) && head.dim % kDeep == 0;
    (is_whole ? pack_key_rows<true> : pack_key_rows<false>)(head, range, s, keys);
    settle_memory();
    _tile_zero(0);
    _tile_zero(1);
    for (std::int64_t i = 0; i < chunks; ++i) {
      const std::byte* const left = keys.at + i * kRowParts;
      const std::byte* const right = queries.at + i * queries.deep;
      _tile_loadd(6, right + kTile, 64);
      _tile_loadd(7, right, 64);
      ANEMONE_SCORE_POSITIONS(0)
      ANEMONE_SCORE_POSITIONS(1)
    }
    _tile_stored(0, by_position[0], 64);
    _tile_stored(1, by_position[16], 64);
    settle_memory();
    for (std::int64_t half = 0; half < kDeep; half += 16) {
      Floats some[16];
      unroll<16>([&](auto i)
                     __attribute__((always_inline)) { some[i] = load(by_position[half + i]); });
      transpose(some);
      float* const at = scores + s + half;
      unroll<16>([&](auto i) __attribute__((always_inline)) {
        if (i < rows) store(at + i * kScoreStride, some[i]);
      });
    }
  }
}
#undef ANEMONE_SCORE_POSITIONS

// mixed [16, depth] += weights * values at the positions of a range. `values` has room for four
// pairs of tiles.
void mix_few(const AttentionHead& head, const BlockRange& range, const PartRows& weights,
             std::byte* values, float* mixed, std::int64_t depth) {
  std::int64_t d = 0;
  for (; d + 64 <= depth; d += 64)
    mix_columns<4>(head, range, weights, d, values, mixed + d, depth);
  if (d < depth) mix_columns<2>(head, range, weights, d, values, mixed + d, depth);
}

// Asks for the keys and values of up to kPositions positions, from `first` to before `end`, in
// `times` parts.
class Ahead {
 public:
  Ahead(const AttentionHead& head, std::int64_t first, std::int64_t end, std::int64_t times) {
    if (first >= end) return;
    keys_ = head.keys + first * head.dim;
    values_ = head.values + first * head.dim;
    count_ = (end - first < kPositions ? end - first : kPositions) * head.dim;
    some_ = round_up((count_ + times - 1) / times, kDeep);
  }
  // One part, into the second-level cache.
  [[gnu::always_inline]] void fetch() {
    const std::int64_t end = at_ + some_ < count_ ? at_ + some_ : count_;
    for (; at_ < end; at_ += kDeep) {
      __builtin_prefetch(keys_ + at_, 0, 2);
      __builtin_prefetch(values_ + at_, 0, 2);
    }
  }

 private:
  const Half* keys_ = nullptr;
  const Half* values_ = nullptr;
  std::int64_t count_ = 0;
  std::int64_t some_ = 0;
  std::int64_t at_ = 0;
};

// The rows of a call: their queries, and their sums so far.
class Rows {
 public:
  // `padded` rows have room, of which `count` are there. Asks for the first keys and values.
  Rows(const AttentionHead& head, const AttentionRow* rows, std::int64_t count, std::int64_t padded,
       Memory& memory)
      : head_(head),
        rows_(rows),
        count_(count),
        depth_(round_up(head.dim, kDeep)),
        queries_{memory.take<std::byte>(padded * depth_ * 4), depth_ * 4},
        mixed_(memory.take<float>(padded * depth_)),
        softmax_(memory.take<RowSoftmax>(count)),
        begin_(rows[0].begin),
        end_(rows[0].end) {
    for (std::int64_t r = 0; r < count; ++r) {
      begin_ = rows[r].begin < begin_ ? rows[r].begin : begin_;
      end_ = rows[r].end > end_ ? rows[r].end : end_;
      softmax_[r].begin(rows[r]);
    }
    for (std::int64_t i = 0; i < padded * depth_; i += 16) store(mixed_ + i, Floats{});
    const std::int64_t block_end = round_up(begin_ + 1, kPositions);
    Ahead first(head, begin_, end_ < block_end ? end_ : block_end, padded);
    for (std::int64_t r = 0; r < padded; ++r) {
      first.fetch();
      pack_query(head, r < count ? rows[r].query : nullptr, queries_.row(r));
    }
  }

  std::int64_t end() const { return end_; }
  std::int64_t depth() const { return depth_; }  // dimensions in whole kDeep
  std::int64_t chunks() const { return depth_ / kDeep; }
  const PartRows& queries() const { return queries_; }
  float* mixed(std::int64_t row) const { return mixed_ + row * depth_; }

  // The blocks that any row attends to positions of.
  template <typename Body>
  void for_each_block(const Body& body) const {
    for (std::int64_t block = begin_ / kPositions * kPositions; block < end_; block += kPositions)
      body(BlockRange{block, begin_ > block ? begin_ - block : 0,
                      end_ - block < kPositions ? end_ - block : kPositions});
  }

  // Replaces the scores [count, kPositions] of rows from `first` on by the parts of their weights.
  template <typename Between>
  void weigh(const BlockRange& range, std::int64_t first, std::int64_t count, float* scores,
             const Between& between) const {
    RowSoftmax* const softmax = softmax_ + first;
    for (std::int64_t i = 0; i < count; ++i) softmax[i].prepare(range, scores + i * kScoreStride);
    for (std::int64_t i = 0; i < count; ++i) {
      softmax[i].weigh(range, scores + i * kScoreStride);
      between();
      if (!softmax[i].is_scaled()) continue;
      const Floats scale = softmax[i].scale();
      float* const sums = mixed(first + i);
      for (std::int64_t d = 0; d < depth_; d += 16) store(sums + d, load(sums + d) * scale);
    }
  }

  // Gives the results. Returns whether there are any that are no numbers.
  bool finish() const {
    bool has_nan = false;
    for (std::int64_t r = 0; r < count_; ++r) {
      const Floats inverse = broadcast(1.0f / softmax_[r].total());
      for (std::int64_t d = 0; d < head_.dim; d += 16) {
        const auto result = (__m512)(load(mixed(r) + d) * inverse);
        has_nan = has_nan || _mm512_cmp_ps_mask(result, result, _CMP_UNORD_Q) != 0;
        const std::int64_t left = head_.dim - d;
        const auto places = static_cast<__mmask16>(left >= 16 ? 0xffff : (1 << left) - 1);
        _mm256_mask_storeu_epi16(rows_[r].out + d, places, _mm512_cvtps_ph(result, 0));
      }
    }
    return has_nan;
  }

 private:
  const AttentionHead& head_;
  const AttentionRow* rows_;
  std::int64_t count_;
  std::int64_t depth_;
  PartRows queries_;
  float* mixed_;  // [padded, depth]
  RowSoftmax* softmax_;
  std::int64_t begin_;
  std::int64_t end_;
};

// Up to 16 rows: keys and values are used once, as they become tiles.
bool attend_few(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                float* scratch) {
  Memory memory(scratch);
  const Rows all(head, rows, count, 16, memory);
  const TilePairs queries{memory.take<std::byte>(all.chunks() * kPair), 0, kPair};
  const PartRows keys{memory.take<std::byte>(kDeep * all.chunks() * kRowParts),
                      all.chunks() * kRowParts};
  std::byte* const values = memory.take<std::byte>(4 * kPair);
  float* const scores = memory.take<float>(16 * kScoreStride);
  const PartRows weights{reinterpret_cast<std::byte*>(scores), kScoreStride * 4};
  transpose_rows(all.queries(), all.chunks(), queries);
  all.for_each_block([&](const BlockRange& range) {
    score_few(head, range, keys, queries, all.chunks(), count, scores);
    all.weigh(range, 0, count, scores, [] {});
    mix_few(head, range, weights, values, all.mixed(0), all.depth());
  });
  return all.finish();
}

// More rows, 32 after the other.
bool attend_many(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
                 float* scratch) {
  Memory memory(scratch);
  const std::int64_t padded = round_up(count, 32);
  const Rows all(head, rows, count, padded, memory);
  const std::int64_t chunks = all.chunks();
  const TilePairs keys{memory.take<std::byte>(kPositions / 16 * chunks * kPair), chunks * kPair,
                       kPair};
  const TilePairs values{memory.take<std::byte>(kPositions / 16 * chunks * kPair), kPair,
                         2 * chunks * kPair};
  // 32 rows stay in the nearest cache while they become weights.
  float* const scores = memory.take<float>(32 * kScoreStride);
  const PartRows weights{reinterpret_cast<std::byte*>(scores), kScoreStride * 4};
  all.for_each_block([&](const BlockRange& range) {
    const std::int64_t open = range.open();
    const std::int64_t close = range.close();
    for (std::int64_t s = open; s < close; s += 16) pack_keys(head, range, s, keys);
    for (std::int64_t s = open; s < close; s += kDeep)
      pack_values(head, range, s, 0, all.depth(), values.at + s / kDeep * values.deep);
    Ahead next(head, range.block + kPositions, all.end(), count);
    for (std::int64_t r = 0; r < padded; r += 32) {
      settle_memory();
      for (std::int64_t s = open; s < close; s += 32)
        multiply<true>({all.queries().row(r), all.queries().stride},
                       {keys.at + s / 16 * keys.across, keys.across, keys.deep}, 0, chunks,
                       scores + s, kScoreStride);
      settle_memory();
      all.weigh(range, r, count - r < 32 ? count - r : 32, scores, [&] { next.fetch(); });
      settle_memory();
      for (std::int64_t d = 0; d < all.depth(); d += 32)
        multiply<false>(weights, {values.at + d / 16 * values.across, values.across, values.deep},
                        open / kDeep, close / kDeep, all.mixed(r) + d, all.depth());
      settle_memory();
    }
  });
  return all.finish();
}

}  // namespace

void attend(const AttentionHead& head, const AttentionRow* rows, std::int64_t count,
            float* scratch) {
  bool has_nan = false;
  {
    const Tiles tiles;
    has_nan = (count <= 16 ? attend_few : attend_many)(head, rows, count, scratch);
  }
  // An infinite key or value makes the rows of all tiles that it is in no numbers, those too that
  // do not attend to it.
  if (has_nan) avx512::kKernels.attend(head, rows, count, scratch);
}

}  // namespace amx
}  // namespace anemone::kernels::simd
#endif
