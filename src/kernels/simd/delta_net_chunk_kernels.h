// SPDX-License-Identifier: Apache-2.0
// The chunked form of gated delta nets: the tokens of a chunk as products of matrices with the
// state before them. A vector holds columns of the state.
//
// With decays g, keys k, queries q, values v and writing strengths b, token t gives
//   S_t = g_t S_{t-1} + k_t u_t,   u_t = b_t (v_t - k_t g_t S_{t-1}),   out_t = q_t S_t.
// Let D(t, i) be the product of g_{i+1} to g_t. What remains of the state before the chunk, S_0,
// and what the tokens have written, makes
//   u_t   = b_t (v_t - D(t, 0) k_t S_0 - sum over i < t of D(t, i) (k_t k_i) u_i)
//   out_t = D(t, 0) q_t S_0 + sum over i <= t of D(t, i) (q_t k_i) u_i
//   S_n   = D(n, 0) S_0 + sum over i <= n of D(n, i) k_i u_i
// (Yang and others, "Parallelizing Linear Transformers with the Delta Rule over Sequence Length",
// 2024, and "Gated Delta Networks", 2024).
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/simd/delta_net_kernels.h"
#include "kernels/simd/kernels.h"
#include "kernels/simd/shuffles.h"
#include "kernels/simd/unroll.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Rows of products whose sums are in registers at a time.
constexpr int kChunkRows = 8;
static_assert(kDeltaNetChunk % kChunkRows == 0 && kDeltaNetChunk % kWidth == 0);

// out[t] = sum over r of factors[t * rows + r] * column[r] for so many tokens, rounded up to whole
// groups of kChunkRows. column: [rows, kWidth].
inline void multiply_chunk(const float* factors, const float* column, std::int64_t rows,
                           std::int64_t tokens, Floats* out) {
  for (std::int64_t t = 0; t < tokens; t += kChunkRows) {
    Floats sums[kChunkRows] = {};
    const float* const at = factors + t * rows;
    for (std::int64_t r = 0; r < rows; ++r) {
      const Floats x = load(column + r * kWidth);
      unroll<kChunkRows>([&](auto j) __attribute__((always_inline)) {
        sums[j] = fma(broadcast(at[j * rows + r]), x, sums[j]);
      });
    }
    unroll<kChunkRows>([&](auto j) __attribute__((always_inline)) { out[t + j] = sums[j]; });
  }
}

// column = decay * column + keys * written, for keys [rows, kDeltaNetChunk].
inline void write_chunk(const float* keys, const Floats* written, std::int64_t tokens, float decay,
                        std::int64_t rows, float* column) {
  const auto write = [&](auto count, std::int64_t r) __attribute__((always_inline)) {
    Floats sums[count];
    const float* const at = keys + r * kDeltaNetChunk;
    unroll<count>([&](auto j) __attribute__((always_inline)) {
      sums[j] = load(column + (r + j) * kWidth) * broadcast(decay);
    });
    for (std::int64_t i = 0; i < tokens; ++i)
      unroll<count>([&](auto j) __attribute__((always_inline)) {
        sums[j] = fma(broadcast(at[j * kDeltaNetChunk + i]), written[i], sums[j]);
      });
    unroll<count>([&](auto j) __attribute__((always_inline)) {
      store(column + (r + j) * kWidth, sums[j]);
    });
  };
  std::int64_t r = 0;
  for (; r + kChunkRows <= rows; r += kChunkRows)
    write(std::integral_constant<int, kChunkRows>(), r);
  for (; r < rows; ++r) write(std::integral_constant<int, 1>(), r);
}

// What all columns of a head need of a chunk. Matrices of tokens are [of, by].
struct ChunkFactors {
  // `keys`: [kDeltaNetChunk, rows]. `by_row`: becomes the keys as [rows, kDeltaNetChunk], each
  // times what remains of it after the chunk.
  ChunkFactors(const DeltaNetHead& head, const float* queries, const float* keys, float* by_row,
               float* column) {
    const std::int64_t rows = head.key_dim;
    const std::int64_t tokens = head.tokens;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < kDeltaNetChunk; ++i)
        by_row[r * kDeltaNetChunk + i] = keys[i * rows + r];
    for (std::int64_t first = 0; first < kDeltaNetChunk; first += kWidth) {
      for (std::int64_t r = 0; r < rows; ++r)
        store(column + r * kWidth, load(by_row + r * kDeltaNetChunk + first));
      Floats products[kDeltaNetChunk];
      multiply_chunk(keys, column, rows, tokens, products);
      for (std::int64_t t = 0; t < tokens; ++t) store(&of_keys[t][first], products[t]);
      multiply_chunk(queries, column, rows, tokens, products);
      for (std::int64_t t = 0; t < tokens; ++t) store(&of_queries[t][first], products[t]);
    }
    float remains[kDeltaNetChunk];  // D(t, i)
    for (std::int64_t t = 0; t < tokens; ++t) {
      const float decay = to_float(head.decays[t]);
      strengths[t] = to_float(head.strengths[t]);
      decays[t] = t == 0 ? decay : decays[t - 1] * decay;
      for (std::int64_t i = 0; i < t; ++i) remains[i] *= decay;
      remains[t] = 1;
      for (std::int64_t i = 0; i <= t; ++i) {
        of_keys[t][i] *= remains[i];
        of_queries[t][i] *= remains[i];
      }
    }
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < tokens; ++i) by_row[r * kDeltaNetChunk + i] *= remains[i];
  }

  float of_keys[kDeltaNetChunk][kDeltaNetChunk];     // D(t, i) (k_t k_i)
  float of_queries[kDeltaNetChunk][kDeltaNetChunk];  // D(t, i) (q_t k_i)
  float decays[kDeltaNetChunk];                      // D(t, 0)
  float strengths[kDeltaNetChunk];
};

inline void run_delta_net_chunk(const DeltaNetHead& head, std::int64_t begin, std::int64_t end,
                                float* scratch) {
  const std::int64_t rows = head.key_dim;
  const std::int64_t tokens = head.tokens;
  float* const queries = scratch;  // [kDeltaNetChunk, rows], zero beyond the tokens
  float* const keys = queries + kDeltaNetChunk * rows;
  float* const keys_by_row = keys + kDeltaNetChunk * rows;
  float* const column = keys_by_row + kDeltaNetChunk * rows;  // [rows, kWidth]
  to_floats(head.queries, queries, tokens * rows);
  to_floats(head.keys, keys, tokens * rows);
  for (std::int64_t i = tokens * rows; i < kDeltaNetChunk * rows; ++i) queries[i] = keys[i] = 0;
  const ChunkFactors factors(head, queries, keys, keys_by_row, column);
  for (std::int64_t c = begin; c < end; c += kWidth) {
    const std::int64_t count = end - c;
    load_columns(head, c, count, column);
    Floats said[kDeltaNetChunk];
    Floats read[kDeltaNetChunk];
    Floats written[kDeltaNetChunk];
    multiply_chunk(keys, column, rows, tokens, said);
    multiply_chunk(queries, column, rows, tokens, read);
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::int64_t at = t * head.value_dim + c;
      const Floats decay = broadcast(factors.decays[t]);
      Floats news = load_some_halves(head.values + at, count) - decay * said[t];
      Floats sum = decay * read[t];
      for (std::int64_t i = 0; i < t; ++i) {
        news = fma(broadcast(-factors.of_keys[t][i]), written[i], news);
        sum = fma(broadcast(factors.of_queries[t][i]), written[i], sum);
      }
      written[t] = news * broadcast(factors.strengths[t]);
      sum = fma(broadcast(factors.of_queries[t][t]), written[t], sum);
      store_some_halves(head.out + at, sum, count);
    }
    write_chunk(keys_by_row, written, tokens, factors.decays[tokens - 1], rows, column);
    store_columns(head, c, count, column);
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
