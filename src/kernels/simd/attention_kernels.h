// SPDX-License-Identifier: Apache-2.0
// Attention over keys and values of fp16, over the vectors of one instruction set.
#pragma once

#include <cmath>

#include "kernels/simd/kernels.h"
#include "kernels/simd/matrix_kernels.h"
#include "kernels/simd/vector_kernels.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// `sink`: one more score, which counts in the sum but gets no weight; nullptr: none.
inline void softmax(float* scores, std::int64_t count, const float* sink = nullptr) {
  Floats top = broadcast(scores[0]);
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) top = max(top, load(scores + i));
  float most = highest(top);
  for (std::int64_t k = i; k < count; ++k) most = scores[k] > most ? scores[k] : most;
  if (sink != nullptr && *sink > most) most = *sink;
  Floats sums{};
  for (i = 0; i + kWidth <= count; i += kWidth) {
    const Floats e = exp(load(scores + i) - most);
    store(scores + i, e);
    sums += e;
  }
  float total = sum(sums);
  for (; i < count; ++i) total += scores[i] = std::exp(scores[i] - most);
  if (sink != nullptr) total += std::exp(*sink - most);
  const float inverse = 1.0f / total;
  for (i = 0; i + kWidth <= count; i += kWidth) store(scores + i, load(scores + i) * inverse);
  for (; i < count; ++i) scores[i] *= inverse;
}

inline void attend(const AttentionHead& head, const float* q, std::int64_t rows, std::int64_t begin,
                   std::int64_t end, float* out, float* scratch) {
  const std::int64_t dim = head.dim;
  const std::int64_t positions = end - begin;
  float* block = scratch + rows * positions;
  for (std::int64_t s = 0; s < positions; s += kAttendPositions) {
    const std::int64_t count = positions - s < kAttendPositions ? positions - s : kAttendPositions;
    to_floats(head.keys + (begin + s) * dim, block, count * dim);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t k = 0; k < count; ++k)
        scratch[r * positions + s + k] = dot(q + r * dim, block + k * dim, dim);
  }
  for (std::int64_t r = 0; r < rows; ++r)
    softmax(scratch + r * positions, positions, head.sinks == nullptr ? nullptr : head.sinks + r);
  for (std::int64_t i = 0; i < rows * dim; ++i) out[i] = 0;
  for (std::int64_t s = 0; s < positions; s += kAttendPositions) {
    const std::int64_t count = positions - s < kAttendPositions ? positions - s : kAttendPositions;
    to_floats(head.values + (begin + s) * dim, block, count * dim);
    multiply(scratch + s, positions, rows, count, block, dim, dim, out, dim);
  }
}

// The score of a position that the row of a lane does not attend to: lower than any other.
constexpr float kHidden = -1e30f;

inline void hide_positions(const AttentionRuns& runs, std::int64_t first, std::int64_t count,
                           float* scores) {
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t r = 0; r < kAttendRows; ++r)
      if (first + k < runs.begin[r] || first + k >= runs.end[r])
        scores[k * kAttendRows + r] = kHidden;
}

inline void add_bias(const AttentionRuns& runs, std::int64_t first, std::int64_t count,
                     float* scores) {
  float row[kAttendRows];
  for (std::int64_t r = 0; r < kAttendRows; ++r) {
    to_floats(runs.bias[r] + first, row, count);
    for (std::int64_t k = 0; k < count; ++k) scores[k * kAttendRows + r] += row[k];
  }
}

// One more block of scores [count, rows] for the softmax of each lane: `top` and `total` are those
// of the blocks before. Scores become weights, and `mixed` [dim, rows] is scaled to the new top.
inline void add_scores(float* scores, std::int64_t count, float* top, float* total, float* mixed,
                       std::int64_t dim) {
  for (std::int64_t v = 0; v < kAttendRows; v += kWidth) {
    const Floats old_top = load(top + v);
    Floats new_top = old_top;
    for (std::int64_t k = 0; k < count; ++k)
      new_top = max(new_top, load(scores + k * kAttendRows + v));
    Floats sums{};
    for (std::int64_t k = 0; k < count; ++k) {
      float* score = scores + k * kAttendRows + v;
      const Floats e = exp(load(score) - new_top);
      store(score, e);
      sums += e;
    }
    const Floats scale = exp(old_top - new_top);
    store(top + v, new_top);
    store(total + v, fma(load(total + v), scale, sums));
    for (std::int64_t d = 0; d < dim; ++d) {
      float* at = mixed + d * kAttendRows + v;
      store(at, load(at) * scale);
    }
  }
}

inline void attend_many(const AttentionHead& head, const float* q, const AttentionRuns& runs,
                        float* out, float* scratch) {
  const std::int64_t dim = head.dim;
  float* scores = scratch;  // [positions, rows]
  float* block = scores + kAttendRows * kAttendRows;
  std::int64_t begin = runs.begin[0];
  std::int64_t end = runs.end[0];
  std::int64_t open = begin;  // all rows attend to positions [open, close)
  std::int64_t close = end;
  for (std::int64_t r = 1; r < kAttendRows; ++r) {
    begin = runs.begin[r] < begin ? runs.begin[r] : begin;
    end = runs.end[r] > end ? runs.end[r] : end;
    open = runs.begin[r] > open ? runs.begin[r] : open;
    close = runs.end[r] < close ? runs.end[r] : close;
  }
  float top[kAttendRows];
  float total[kAttendRows];
  for (std::int64_t r = 0; r < kAttendRows; ++r) {
    top[r] = head.sinks == nullptr ? kHidden : head.sinks[r];
    total[r] = head.sinks == nullptr ? 0.0f : 1.0f;
  }
  for (std::int64_t i = 0; i < dim * kAttendRows; ++i) out[i] = 0;
  // Blocks begin at multiples of their size, so that a row's result does not depend on the others.
  for (std::int64_t s = begin / kAttendRows * kAttendRows; s < end; s += kAttendRows) {
    const std::int64_t count = end - s < kAttendRows ? end - s : kAttendRows;
    to_floats(head.keys + s * dim, block, count * dim);
    for (std::int64_t i = 0; i < count * kAttendRows; ++i) scores[i] = 0;
    multiply_left({block, dim, 1}, count, dim, q, kAttendRows, kAttendRows, scores, kAttendRows);
    if (runs.bias[0] != nullptr) add_bias(runs, s, count, scores);
    if (s < open || s + count > close) hide_positions(runs, s, count, scores);
    add_scores(scores, count, top, total, out, dim);
    to_floats(head.values + s * dim, block, count * dim);
    multiply_left({block, 1, dim}, dim, count, scores, kAttendRows, kAttendRows, out, kAttendRows);
  }
  for (std::int64_t v = 0; v < kAttendRows; v += kWidth) {
    const Floats inverse = 1.0f / load(total + v);
    for (std::int64_t d = 0; d < dim; ++d) {
      float* at = out + d * kAttendRows + v;
      store(at, load(at) * inverse);
    }
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
