// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/projection_op.h"

#include <algorithm>

#include "exec/cpu/fusion/projection_run.h"

namespace anemone::exec {
namespace {

// Rows whose padding one thread clears at a time.
constexpr std::int64_t kClearedRows = 512;

}  // namespace

Shape ProjectionOp::output_shape(const std::vector<const TensorView*>& inputs) const {
  Shape shape = inputs[0]->shape;
  shape[is_channel_major_ ? 1 : shape.size() - 1] = matrix_.rows;
  return shape;
}

Cost ProjectionOp::cost(const Shape& output, std::span<const Shape> /*states*/) const {
  return {weight_bytes(), 2 * matrix_.k * element_count(output), matrix_.form_name()};
}

std::int64_t ProjectionOp::weight_bytes() const {
  return matrix_.size_bytes() + (bias_ == nullptr ? 0 : matrix_.rows * std::int64_t{sizeof(Half)});
}

std::vector<ProjectionSegment> ProjectionOp::segments_of(std::span<FusedCall> calls) const {
  std::vector<ProjectionSegment> segments;
  segments.reserve(calls.size());
  std::int64_t first = 0;
  for (FusedCall& call : calls) {
    ProjectionSegment& s = segments.emplace_back();
    s.x = call.inputs[0]->as<Half>().data();
    s.y = call.outputs[0].as<Half>().data();
    const std::int64_t columns = columns_of(call);
    s.tokens = call.real.of(columns);
    s.first = first;
    first += s.tokens;
    (is_channel_major_ ? s.x_channel : s.x_token) = is_channel_major_ ? columns : matrix_.k;
    (is_channel_major_ ? s.y_channel : s.y_token) = is_channel_major_ ? columns : matrix_.rows;
  }
  return segments;
}

// Later operations find zeros for the padding, not what another run left in the memory.
void ProjectionOp::clear_padding(std::span<FusedCall> calls, const FusedContext& context) const {
  for (FusedCall& call : calls) {
    const std::int64_t columns = columns_of(call);
    const std::int64_t count = call.real.of(columns);
    if (count == columns) continue;
    Half* y = call.outputs[0].as<Half>().data();
    if (!is_channel_major_) {
      std::fill(y + count * matrix_.rows, y + columns * matrix_.rows, Half{});
      continue;
    }
    context.threads.parallel_for(
        matrix_.rows, kClearedRows, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r)
            std::fill(y + r * columns + count, y + (r + 1) * columns, Half{});
        });
  }
}

Status ProjectionOp::run(std::span<FusedCall> calls, const FusedContext& context) const {
  clear_padding(calls, context);
  const std::vector<ProjectionSegment> segments = segments_of(calls);
  if (!run_elsewhere(segments)) multiply(segments, context);
  return {};
}

// After one of them failed the CPU computes all again, which it does together.
bool ProjectionOp::run_elsewhere(std::span<const ProjectionSegment> segments) const {
  return taken_ != nullptr && std::ranges::all_of(segments, [&](const ProjectionSegment& s) {
           return s.tokens == 0 || taken_->run({s.x, s.x_channel, s.x_token}, s.tokens,
                                               {s.y, s.y_channel, s.y_token});
         });
}

void ProjectionOp::multiply(std::span<const Token> tokens, const FusedContext& context) const {
  std::vector<ProjectionSegment> segments;
  for (const Token& token : tokens)
    segments.push_back({.x = token.x,
                        .y = token.y,
                        .tokens = 1,
                        .first = static_cast<std::int64_t>(segments.size())});
  multiply(segments, context);
}

// The matrix alone decides how it is multiplied, so that a token gives the same bits in any
// company.
void ProjectionOp::multiply(std::span<const ProjectionSegment> segments,
                            const FusedContext& context) const {
  const std::int64_t tokens = segments.back().first + segments.back().tokens;
  if (tokens == 0) return;
  const kernels::simd::Int8Kernels* int8 = context.kernels.int8;
  kernels::simd::Matrix matrix = matrix_;
  ProjectionRun run{matrix, bias_, segments, tokens, context};
  std::vector<float> block_sums;
  if (matrix.offsets != nullptr) run.set_block_sums(block_sums);
  if (int8 == nullptr || !int8->takes(matrix)) return multiply_floats(run);
  set_row_stats(matrix, tokens, context);
  multiply_integers(run, *int8);
}

void ProjectionOp::set_row_stats(kernels::simd::Matrix& matrix, std::int64_t tokens,
                                 const FusedContext& context) const {
  const kernels::simd::Int8Kernels& int8 = *context.kernels.int8;
  const std::int64_t bytes = int8.row_stats_bytes(matrix, tokens);
  if (bytes == 0) return;
  std::call_once(row_stats_->once, [&] {
    row_stats_->bytes =
        std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    const std::int64_t grain = std::max<std::int64_t>(1, kGemvBytes / matrix.row_bytes());
    context.threads.parallel_for_runs(
        matrix.rows, grain, [&](std::int64_t begin, std::int64_t end) {
          int8.compute_row_stats(matrix_, begin, end, row_stats_->bytes.get());
        });
  });
  matrix.row_stats = row_stats_->bytes.get();
}

}  // namespace anemone::exec
