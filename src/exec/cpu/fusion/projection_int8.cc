// SPDX-License-Identifier: Apache-2.0
// Products in int8 arithmetic: gemv for few tokens, gemm for many.
#include <algorithm>
#include <iterator>
#include <vector>

#include "exec/cpu/fusion/projection_run.h"
#include "exec/cpu/fusion/scratch.h"

namespace anemone::exec {
namespace {

using kernels::simd::Int8Kernels;
using kernels::simd::kInt8BlockColumns;
using kernels::simd::kInt8BlockRows;
using kernels::simd::kInt8GemvColumns;
using kernels::simd::Matrix;

// Bytes of packed activations that stay in the second-level cache while all weights are read.
constexpr std::int64_t kPackedBytes = 1 << 20;

thread_local Scratch int8_scratch;
thread_local Scratch column_scratch;
thread_local Scratch packed_scratch;

// Rows that a thread takes at a time where it is the weights that take the time: whole blocks of
// about kGemvBytes.
std::int64_t rows_per_range(const Matrix& matrix) {
  const std::int64_t rows = std::max<std::int64_t>(1, kGemvBytes / matrix.row_bytes());
  return (rows + kInt8BlockRows - 1) / kInt8BlockRows * kInt8BlockRows;
}

// Whether every token belongs to another text.
bool has_single_tokens(const ProjectionRun& run) {
  return std::ssize(run.segments) == run.tokens;
}

// The inputs of at most kInt8BlockColumns tokens, as the kernels pack them: elements of a column
// are `stride` apart.
struct Columns {
  const Half* x[kInt8BlockColumns] = {};
  std::int64_t stride = 1;
};

// Those of the tokens [first, first + count). Where the tokens of a channel lie side by side, whole
// blocks are packed as they are; of fewer the channels are brought side by side, in memory of this
// thread, which its next call overwrites. All segments have the same x_channel, because only runs
// of equal shapes are batched.
Columns columns_of(const ProjectionRun& run, std::int64_t first, std::int64_t count) {
  Columns columns;
  columns.stride = run.segments.front().x_channel;
  bool is_whole = false;
  for (const ProjectionSegment& s : run.segments) {
    const std::int64_t end = std::min(first + count, s.first + s.tokens);
    for (std::int64_t t = std::max(first, s.first); t < end; ++t)
      columns.x[t - first] = s.x + (t - s.first) * s.x_token;
    is_whole = is_whole || (s.first <= first && end == first + kInt8BlockColumns);
  }
  if (columns.stride == 1 || is_whole) return columns;
  const std::int64_t depth = run.matrix.k;
  auto* to = column_scratch.take<Half>(count * depth);
  for (std::int64_t i = 0; i < count; ++i, to += depth) {
    for (std::int64_t k = 0; k < depth; ++k) to[k] = columns.x[i][k * columns.stride];
    columns.x[i] = to;
  }
  columns.stride = 1;
  return columns;
}

// Stores rows [r0, r0 + rows) of the tokens [first, first + count). `out` is [token][row].
void store_group(const ProjectionRun& run, std::int64_t r0, std::int64_t rows, float* out,
                 std::int64_t first, std::int64_t count) {
  for (const ProjectionSegment& s : run.segments)
    for (std::int64_t t = std::max<std::int64_t>(0, first - s.first);
         t < std::min(s.tokens, first + count - s.first); ++t)
      run.store_token(r0, rows, out + (s.first + t - first) * kInt8BlockRows, s, t);
}

// Multiplies few tokens, as in decoding: the weights are read once.
void multiply_few(const ProjectionRun& run, const Int8Kernels& kernels) {
  const Matrix& matrix = run.matrix;
  const std::int64_t all_groups = (run.tokens + kInt8GemvColumns - 1) / kInt8GemvColumns;
  const auto count_of = [&](std::int64_t group) {
    return std::min(kInt8GemvColumns, run.tokens - group * kInt8GemvColumns);
  };
  const std::int64_t group_bytes = kernels.gemv_pack_bytes(matrix, count_of(0));
  const std::int64_t scratch_bytes = kernels.gemv_scratch_bytes(matrix);
  // Each thread packs the columns for itself: the others would wait for the one that did it for
  // all, and then read them from its cache, where the next product could not overwrite them at
  // once.
  run.context.threads.parallel_for_runs(
      matrix.rows, rows_per_range(matrix),
      [&] {
        auto* packed = packed_scratch.take<std::byte>(all_groups * group_bytes);
        for (std::int64_t group = 0; group < all_groups; ++group) {
          const Columns columns = columns_of(run, group * kInt8GemvColumns, count_of(group));
          kernels.gemv_pack(matrix, columns.x, count_of(group), packed + group * group_bytes);
        }
      },
      [&](std::int64_t begin, std::int64_t end) {
        const auto* packed = packed_scratch.taken<std::byte>();
        auto* scratch = int8_scratch.take<std::byte>(scratch_bytes);
        for (std::int64_t r0 = begin; r0 < end; r0 += kInt8BlockRows) {
          const std::int64_t rows = std::min(end - r0, kInt8BlockRows);
          for (std::int64_t group = 0; group < all_groups; ++group) {
            float out[kInt8GemvColumns * kInt8BlockRows];
            kernels.gemv(matrix, r0, r0 + rows, packed + group * group_bytes, out, kInt8BlockRows,
                         scratch);
            run.subtract_offsets(r0, rows, group * kInt8GemvColumns, count_of(group), out, 1,
                                 kInt8BlockRows);
            store_group(run, r0, rows, out, group * kInt8GemvColumns, count_of(group));
          }
        }
      });
}

// Multiplies many tokens, as in a prefill, in groups whose packed activations take kPackedBytes;
// each group reads the weights once.
void multiply_many(const ProjectionRun& run, const Int8Kernels& kernels) {
  const Matrix& matrix = run.matrix;
  const std::int64_t block_bytes = kernels.gemm_pack_bytes(matrix);
  const std::int64_t all_blocks = (run.tokens + kInt8BlockColumns - 1) / kInt8BlockColumns;
  const std::int64_t most =
      std::min(std::max<std::int64_t>(1, kPackedBytes / block_bytes), all_blocks);
  auto* packed = packed_scratch.take<std::byte>(most * block_bytes);
  const bool is_single = has_single_tokens(run);
  for (std::int64_t first_block = 0; first_block < all_blocks; first_block += most) {
    const std::int64_t blocks = std::min(most, all_blocks - first_block);
    const std::int64_t first = first_block * kInt8BlockColumns;
    const std::int64_t count = std::min(blocks * kInt8BlockColumns, run.tokens - first);
    run.context.threads.parallel_for(blocks, 1, [&](std::int64_t block, std::int64_t) {
      const std::int64_t begin = first + block * kInt8BlockColumns;
      const Columns columns =
          columns_of(run, begin, std::min(kInt8BlockColumns, run.tokens - begin));
      kernels.gemm_pack(matrix, columns.x, columns.stride, packed + block * block_bytes);
    });
    const std::int64_t width = blocks * kInt8BlockColumns;
    const std::int64_t scratch_bytes = kernels.gemm_scratch_bytes(matrix, count);
    const std::int64_t grain = blocks == 1 ? rows_per_range(matrix) : kInt8BlockRows;
    run.context.threads.parallel_for_runs(
        matrix.rows, grain, [&](std::int64_t begin, std::int64_t end) {
          auto* scratch = int8_scratch.take<std::byte>(scratch_bytes +
                                                       width * grain * std::int64_t{sizeof(float)});
          auto* out = reinterpret_cast<float*>(scratch + scratch_bytes);
          kernels.gemm(matrix, begin, end, packed, count, out, width, scratch);
          run.subtract_offsets(begin, end - begin, first, count, out, width, 1);
          if (is_single) return run.store_columns(begin, end - begin, out, width, first, count);
          for (std::int64_t r = begin; r < end; ++r)
            run.store_row(r, out + (r - begin) * width, first, count);
        });
  }
}

}  // namespace

void multiply_integers(const ProjectionRun& run, const Int8Kernels& kernels) {
  // Tokens of one text mostly have their outputs side by side, which gemm() gives.
  std::int64_t few = kernels.gemv_columns(run.matrix);
  if (!has_single_tokens(run)) few = std::min(few, kInt8GemvColumns);
  (run.tokens <= few ? multiply_few : multiply_many)(run, kernels);
}

}  // namespace anemone::exec
