// SPDX-License-Identifier: Apache-2.0
// The softmax of the rows of an attention, whose weights become tiles.
#pragma once

#include "kernels/simd/attention_amx_tiles.h"

namespace anemone::kernels::simd::amx {

// The score of a position that a row does not attend to: lower than any other.
constexpr float kHidden = -1e30f;
// Weights are powers of 2 of scores less a top, which follows the highest score only when that is
// so much higher: sums are scaled seldom, and weights stay far from what floats reach.
constexpr float kSlack = 8;

// The softmax of a row, block after block: its scores, in powers of 2, become weights.
class RowSoftmax {
 public:
  void begin(const AttentionRow& row) {
    row_ = &row;
    top_ = row.sink == nullptr ? kHidden : *row.sink * kLog2E;
    store(totals_, Floats{});
    totals_[0] = row.sink == nullptr ? 0 : 1;
  }

  // Hides the scores of a block at positions that the row does not attend to, adds the bias, and
  // finds the top.
  void prepare(const BlockRange& range, float* scores) {
    begin_ = row_->begin > range.block ? row_->begin - range.block : 0;
    end_ = row_->end - range.block < kPositions ? row_->end - range.block : kPositions;
    old_top_ = top_;
    if (begin_ >= end_) return;
    if (row_->bias != nullptr) add_bias(scores, row_->bias + range.block);
    if (open() != begin_ || close() != end_)
      for (const std::int64_t chunk : {open(), close() - kDeep})
        for (const std::int64_t s : {chunk, chunk + 16}) hide(scores + s, attended(s));
    Floats tops[2] = {load(scores + open()), load(scores + open() + 16)};
    const float* const last = scores + close();
    for (const float* at = scores + open() + kDeep; at < last; at += kDeep) {
      tops[0] = max(tops[0], load(at));
      tops[1] = max(tops[1], load(at + 16));
    }
    const Floats highest_scores = max(tops[0], tops[1]);
    const __m512 limit = _mm512_set1_ps(top_ + kSlack);
    if (_mm512_cmp_ps_mask((__m512)highest_scores, limit, _CMP_GT_OQ) != 0)
      top_ = highest(highest_scores);
  }

  // Replaces them by the parts of their weights, from range.open() to range.close().
  void weigh(const BlockRange& range, float* scores) {
    if (begin_ >= end_) return clear(scores, range.open(), range.close());
    clear(scores, range.open(), open());
    clear(scores, close(), range.close());
    // That of a hidden position is 2^-126, which is nothing.
    const Floats top = broadcast(top_);
    Floats sums[2] = {};
    const float* const last = scores + close();
    for (float* at = scores + open(); at < last; at += kDeep) {
      const Floats a = power_of_2(load(at) - top);
      const Floats b = power_of_2(load(at + 16) - top);
      sums[0] += a;
      sums[1] += b;
      store_parts((__m512i)a, (__m512i)b, reinterpret_cast<std::byte*>(at));
    }
    const Floats totals = is_scaled() ? load(totals_) * scale() : load(totals_);
    store(totals_, totals + (sums[0] + sums[1]));
  }

  // What the sums before the block are to be scaled with.
  bool is_scaled() const { return top_ != old_top_; }
  Floats scale() const { return power_of_2(broadcast(old_top_ - top_)); }

  float total() const { return sum(load(totals_)); }

 private:
  std::int64_t open() const { return begin_ / kDeep * kDeep; }
  std::int64_t close() const { return round_up(end_, kDeep); }
  // Which of 16 positions the row attends to.
  __mmask16 attended(std::int64_t s) const {
    const unsigned from = begin_ > s + 15 ? 0 : begin_ > s ? 0xffffu << (begin_ - s) : 0xffffu;
    const unsigned to = end_ <= s ? 0 : end_ < s + 16 ? (1u << (end_ - s)) - 1 : 0xffffu;
    return static_cast<__mmask16>(from & to);
  }
  void add_bias(float* scores, const Half* bias) const {
    for (std::int64_t s = open(); s < close(); s += 16) {
      const __m512 some = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(attended(s), bias + s));
      store(scores + s, fma((Floats)some, broadcast(kLog2E), load(scores + s)));
    }
  }
  static void hide(float* scores, __mmask16 attended) {
    if (attended == 0xffff) return;
    const __m512 hidden = _mm512_set1_ps(kHidden);
    _mm512_store_ps(scores, _mm512_mask_mov_ps(hidden, attended, (__m512)load(scores)));
  }
  static void clear(float* scores, std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; s += 16) store(scores + s, Floats{});
  }

  alignas(64) float totals_[16];  // of the weights at positions p % 16
  float top_;
  float old_top_;       // before the block
  std::int64_t begin_;  // of the positions of the block that the row attends to
  std::int64_t end_;
  const AttentionRow* row_;
};
static_assert(sizeof(RowSoftmax) == 128);

}  // namespace anemone::kernels::simd::amx
