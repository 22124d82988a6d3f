// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/cached_attention_op.h"

#include <algorithm>
#include <cmath>

#include "exec/cpu/fusion/mask_cache.h"
#include "exec/cpu/fusion/scratch.h"

namespace anemone::exec {
namespace {

thread_local Scratch attention_scratch;

struct Sizes {
  std::int64_t heads, kv_heads, tokens, dim, slots;
};

Sizes sizes_of(const FusedCall& call) {
  const Shape& q = call.inputs[0]->shape;
  return {q[1], call.inputs[1]->shape[1], q[2], q[3], call.inputs[3]->shape[2]};
}

// Copies the tokens to their slots.
void store_tokens(const Sizes& n, const WriteMask& mask, const Half* tokens, std::byte* state,
                  StateUndo& undo) {
  const auto row_bytes = static_cast<std::size_t>(n.dim) * sizeof(Half);
  for (std::int64_t t = 0; t < n.tokens; ++t) {
    const std::int64_t slot = mask.slot_of_token[static_cast<std::size_t>(t)];
    if (slot < 0) continue;
    for (std::int64_t h = 0; h < n.kv_heads; ++h) {
      std::byte* to = state + static_cast<std::size_t>(h * n.slots + slot) * row_bytes;
      undo.save(to, row_bytes);
      std::memcpy(to, tokens + (h * n.tokens + t) * n.dim, row_bytes);
    }
  }
}

// As the program says it: state * (1 - sum of the mask's row) + mask @ tokens, each result in fp16.
void blend_tokens(const Sizes& n, const Half* mask, const Half* tokens, std::byte* state,
                  StateUndo& undo) {
  auto* cache = reinterpret_cast<Half*>(state);
  undo.save(state, static_cast<std::size_t>(n.kv_heads * n.slots * n.dim) * sizeof(Half));
  for (std::int64_t s = 0; s < n.slots; ++s) {
    const Half* row = mask + s * n.tokens;
    float written = 0;
    for (std::int64_t t = 0; t < n.tokens; ++t) written += to_float(row[t]);
    const float kept = to_float(to_half(1 - to_float(to_half(written))));
    for (std::int64_t h = 0; h < n.kv_heads; ++h)
      for (std::int64_t d = 0; d < n.dim; ++d) {
        float placed = 0;
        for (std::int64_t t = 0; t < n.tokens; ++t)
          placed += to_float(row[t]) * to_float(tokens[(h * n.tokens + t) * n.dim + d]);
        Half& element = cache[(h * n.slots + s) * n.dim + d];
        element = to_half(to_float(to_half(to_float(element) * kept)) + to_float(to_half(placed)));
      }
  }
}

// Attention of one query row with any mask.
void attend_row(const Sizes& n, const float* q, const Half* keys, const Half* values,
                const Half* mask, float* out, float* scores) {
  float most = -INFINITY;
  for (std::int64_t s = 0; s < n.slots; ++s) {
    float score = 0;
    for (std::int64_t d = 0; d < n.dim; ++d) score += q[d] * to_float(keys[s * n.dim + d]);
    scores[s] = score + to_float(mask[s]);
    most = std::max(most, scores[s]);
  }
  float total = 0;
  for (std::int64_t s = 0; s < n.slots; ++s) total += scores[s] = std::exp(scores[s] - most);
  std::fill(out, out + n.dim, 0.0f);
  for (std::int64_t s = 0; s < n.slots; ++s)
    for (std::int64_t d = 0; d < n.dim; ++d)
      out[d] += scores[s] / total * to_float(values[s * n.dim + d]);
}

}  // namespace

Status CachedAttentionOp::run(std::span<FusedCall> calls, const FusedContext& context) const {
  // One after the other: a later call may look at what an earlier one has stored.
  for (FusedCall& call : calls) ANEMONE_RETURN_IF_ERROR(run_one(call, context));
  return {};
}

Status CachedAttentionOp::run_one(FusedCall& call, const FusedContext& context) const {
  const Sizes n = sizes_of(call);
  const WriteMask& write = context.masks.write_mask(*call.inputs[3]);
  for (std::size_t i = 0; i < 2; ++i) {
    const Half* tokens = call.inputs[1 + i]->as<Half>().data();
    if (write.is_one_hot)
      store_tokens(n, write, tokens, call.states[i], context.undo);
    else
      blend_tokens(n, call.inputs[3]->as<Half>().data(), tokens, call.states[i], context.undo);
  }
  const LookMask& look = context.masks.look_mask(*call.inputs[4]);
  const Half* q = call.inputs[0]->as<Half>().data();
  Half* out = call.outputs[0].as<Half>().data();
  const Half* mask = call.inputs[4]->as<Half>().data();
  const auto* keys = reinterpret_cast<const Half*>(call.states[0]);
  const auto* values = reinterpret_cast<const Half*>(call.states[1]);
  const std::int64_t group = n.heads / n.kv_heads;
  // Query heads of a group share keys and values. They are taken together unless there would be
  // too few tasks for the threads.
  const std::int64_t wanted = context.threads.threads();
  const std::int64_t parts = std::clamp<std::int64_t>(
      (wanted + n.kv_heads * n.tokens - 1) / (n.kv_heads * n.tokens), 1, group);
  const std::int64_t part_rows = (group + parts - 1) / parts;
  const std::int64_t tasks = n.kv_heads * n.tokens * parts;
  context.threads.parallel_for(
      tasks, std::max<std::int64_t>(1, tasks / (wanted * 8)),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
          const std::int64_t part = task % parts;
          const std::int64_t t = task / parts % n.tokens;
          const std::int64_t kv = task / parts / n.tokens;
          const std::int64_t first = kv * group + part * part_rows;
          const std::int64_t rows = std::min((kv + 1) * group, first + part_rows) - first;
          if (rows <= 0) continue;
          const std::int64_t scratch_floats = kernels::simd::attend_scratch(rows, n.slots, n.dim);
          float* queries = attention_scratch.take<float>(2 * rows * n.dim + scratch_floats);
          float* mixed = queries + rows * n.dim;
          float* scratch = mixed + rows * n.dim;
          for (std::int64_t r = 0; r < rows; ++r) {
            float* row = queries + r * n.dim;
            context.kernels.to_floats(q + ((first + r) * n.tokens + t) * n.dim, row, n.dim);
            for (std::int64_t d = 0; d < n.dim; ++d) row[d] *= factor_;
          }
          const Half* head_keys = keys + kv * n.slots * n.dim;
          const Half* head_values = values + kv * n.slots * n.dim;
          if (look.has_runs) {
            const LookMask::Run run = look.run_of_token[static_cast<std::size_t>(t)];
            context.kernels.attend({head_keys, head_values, n.dim}, queries, rows, run.begin,
                                   run.end, mixed, scratch);
          } else {
            for (std::int64_t r = 0; r < rows; ++r)
              attend_row(n, queries + r * n.dim, head_keys, head_values, mask + t * n.slots,
                         mixed + r * n.dim, scratch);
          }
          for (std::int64_t r = 0; r < rows; ++r)
            context.kernels.to_halves(mixed + r * n.dim, out + ((first + r) * n.tokens + t) * n.dim,
                                      n.dim);
        }
      });
  return {};
}

}  // namespace anemone::exec
