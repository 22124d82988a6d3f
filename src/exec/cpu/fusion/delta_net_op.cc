// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/delta_net_op.h"

#include <algorithm>

#include "exec/cpu/fusion/scratch.h"

namespace anemone::exec {
namespace {

// Elements of states, times tokens, that one thread takes at a time.
constexpr std::int64_t kDeltaNetGrain = 16384;

thread_local Scratch delta_net_scratch;

// Where head (i, j) of [a, b, T, n] begins.
const Half* head_of(const TensorView& tensor, std::int64_t i, std::int64_t j) {
  const Shape& shape = tensor.shape;
  const std::int64_t head = (shape[0] == 1 ? 0 : i) * shape[1] + (shape[1] == 1 ? 0 : j);
  return tensor.as<Half>().data() + head * shape[2] * shape[3];
}

void run_in_chunks(kernels::simd::DeltaNetHead head, std::int64_t begin, std::int64_t end,
                   const kernels::simd::Kernels& kernels, float* scratch) {
  for (std::int64_t left = head.tokens; left > 0; left -= head.tokens) {
    head.tokens = std::min(left, kernels::simd::kDeltaNetChunk);
    kernels.run_delta_net_chunk(head, begin, end, scratch);
    head.queries += head.tokens * head.key_dim;
    head.keys += head.tokens * head.key_dim;
    head.values += head.tokens * head.value_dim;
    head.strengths += head.tokens;
    head.decays += head.tokens;
    head.out += head.tokens * head.value_dim;
  }
}

}  // namespace

Status DeltaNetOp::run(std::span<FusedCall> calls, const FusedContext& context) const {
  const Shape& shape = calls.front().outputs[0].shape;  // [A, B, T, V]
  const std::int64_t heads = shape[0] * shape[1];
  const std::int64_t tokens = shape[2];
  const std::int64_t value_dim = shape[3];
  const bool is_chunked = context.chunks_delta_nets && tokens > 1;
  // A chunk begins with products that all columns of a head need.
  const std::int64_t columns = is_chunked && heads >= context.threads.threads()
                                   ? value_dim
                                   : std::int64_t{kernels::simd::kDeltaNetColumns};
  const std::int64_t scratch_floats = is_chunked ? kernels::simd::delta_net_chunk_scratch(key_dim_)
                                                 : kernels::simd::delta_net_scratch(key_dim_);
  const std::int64_t tiles = (value_dim + columns - 1) / columns;
  const std::int64_t work = key_dim_ * columns * tokens * static_cast<std::int64_t>(calls.size());
  const std::int64_t grain =
      std::max<std::int64_t>(1, kDeltaNetGrain / std::max<std::int64_t>(1, work));
  // A thread takes some columns through all calls, because several may go on from the same state.
  context.threads.parallel_for_runs(
      heads * tiles, grain, [&](std::int64_t first, std::int64_t last) {
        float* scratch = delta_net_scratch.take<float>(scratch_floats);
        for (std::int64_t task = first; task < last; ++task) {
          const std::int64_t h = task / tiles;
          const std::int64_t begin = task % tiles * columns;
          const std::int64_t end = std::min(begin + columns, value_dim);
          for (FusedCall& call : calls) {
            const auto part = [&](Input input) {
              return head_of(*call.inputs[input], h / shape[1], h % shape[1]);
            };
            kernels::simd::DeltaNetHead head;
            head.queries = part(kQueries);
            head.keys = part(kKeys);
            head.values = part(kValues);
            head.strengths = part(kStrengths);
            head.decays = part(kDecays);
            head.state = reinterpret_cast<Half*>(call.states[0].data) + h * key_dim_ * value_dim;
            head.out = call.outputs[0].as<Half>().data() + h * tokens * value_dim;
            head.tokens = tokens;
            head.key_dim = key_dim_;
            head.value_dim = value_dim;
            if (is_chunked)
              run_in_chunks(head, begin, end, context.kernels, scratch);
            else
              context.kernels.run_delta_net(head, begin, end, scratch);
          }
        }
      });
  return {};
}

}  // namespace anemone::exec
