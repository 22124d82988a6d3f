// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/cached_attention_op.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "exec/cpu/fusion/attention_tasks.h"
#include "exec/cpu/fusion/mask_cache.h"

namespace anemone::exec {
namespace {

constexpr std::size_t kAttentionMask = 3;  // among the inputs
constexpr std::size_t kWriteMask = 4;
constexpr std::size_t kPlaces = 4;  // the first of those of kAtPosition

struct Sizes {
  std::int64_t kv_heads, tokens, dim;
};

Sizes sizes_of(const FusedCall& call) {
  const Shape& keys = call.inputs[1]->shape;
  return {keys[1], keys[2], keys[3]};
}

// Copies the tokens to their positions.
void store_tokens(const Sizes& n, const WriteMask& mask, const Half* tokens,
                  const FusedState& state) {
  const auto row_bytes = static_cast<std::size_t>(n.dim) * sizeof(Half);
  for (std::int64_t t = 0; t < n.tokens; ++t) {
    const std::int64_t position = mask.position_of_token[static_cast<std::size_t>(t)];
    if (position < 0) continue;
    for (std::int64_t h = 0; h < n.kv_heads; ++h) {
      std::byte* to =
          state.data + static_cast<std::size_t>(h * state.positions + position) * row_bytes;
      std::memcpy(to, tokens + (h * n.tokens + t) * n.dim, row_bytes);
    }
  }
}

// Stores the step's tokens as the program says it: state * (1 - sum of the mask's row) + mask @
// tokens, each result rounded to fp16.
void blend_tokens(const Sizes& n, const TensorView& mask, const Half* tokens,
                  const FusedState& state) {
  auto* cache = reinterpret_cast<Half*>(state.data);
  const Half* const rows = mask.as<Half>().data();
  for (std::int64_t s = 0; s < mask.shape[2]; ++s) {
    const Half* row = rows + s * n.tokens;
    float written = 0;
    for (std::int64_t t = 0; t < n.tokens; ++t) written += to_float(row[t]);
    const float kept = to_float(to_half(1 - to_float(to_half(written))));
    for (std::int64_t h = 0; h < n.kv_heads; ++h)
      for (std::int64_t d = 0; d < n.dim; ++d) {
        float placed = 0;
        for (std::int64_t t = 0; t < n.tokens; ++t)
          placed += to_float(row[t]) * to_float(tokens[(h * n.tokens + t) * n.dim + d]);
        Half& element = cache[(h * state.positions + s) * n.dim + d];
        element = to_half(to_float(to_half(to_float(element) * kept)) + to_float(to_half(placed)));
      }
  }
}

// Attention of one query row with any mask.
void attend_row(const kernels::simd::AttentionHead& head, const kernels::simd::AttentionRow& row,
                std::span<const Half> mask) {
  std::vector<float> scores(mask.size());
  std::vector<float> mixed(static_cast<std::size_t>(head.dim));
  float most = row.sink == nullptr ? -INFINITY : *row.sink;
  for (std::size_t s = 0; s < mask.size(); ++s) {
    const Half* const key = head.keys + static_cast<std::int64_t>(s) * head.dim;
    float score = 0;
    for (std::int64_t d = 0; d < head.dim; ++d)
      score += to_float(row.query[d]) * head.factor * to_float(key[d]);
    scores[s] = score + to_float(mask[s]);
    most = std::max(most, scores[s]);
  }
  float total = row.sink == nullptr ? 0 : std::exp(*row.sink - most);
  for (float& score : scores) total += score = std::exp(score - most);
  for (std::size_t s = 0; s < mask.size(); ++s) {
    const Half* const value = head.values + static_cast<std::int64_t>(s) * head.dim;
    for (std::size_t d = 0; d < mixed.size(); ++d)
      mixed[d] += scores[s] / total * to_float(value[d]);
  }
  for (std::size_t d = 0; d < mixed.size(); ++d) row.out[d] = to_half(mixed[d]);
}

// The memory of one call's attention.
struct Operands {
  explicit Operands(const FusedCall& call)
      : n(sizes_of(call)),
        heads(call.inputs[0]->shape[1]),
        group(heads / n.kv_heads),
        positions(call.inputs[kAttentionMask]->shape[3]),
        q(call.inputs[0]->as<Half>().data()),
        keys(call.states[0]),
        values(call.states[1]),
        out(call.outputs[0].as<Half>().data()) {}
  const Half* rows_of(const FusedState& state, std::int64_t kv) const {
    return reinterpret_cast<const Half*>(state.data) + kv * state.positions * n.dim;
  }
  std::int64_t row(std::int64_t h, std::int64_t t) const { return (h * n.tokens + t) * n.dim; }

  Sizes n;
  std::int64_t heads;  // of the queries
  std::int64_t group;  // query heads of a key/value head
  std::int64_t positions;
  const Half* q;
  FusedState keys;
  FusedState values;
  Half* out;
};

}  // namespace

std::optional<MaskFact::Role> CachedAttentionOp::mask_role(std::size_t i) const {
  if (i == kWriteMask && writes_.kind == CacheWrites::Kind::kMask) return MaskFact::Role::kWrite;
  if (i != kAttentionMask) return std::nullopt;
  return writes_.kind == CacheWrites::Kind::kAppend ? MaskFact::Role::kAttentionPastAndStep
                                                    : MaskFact::Role::kAttention;
}

std::vector<std::size_t> CachedAttentionOp::stored_inputs() const {
  switch (writes_.kind) {
    case CacheWrites::Kind::kMask:
      return {1, 2, kWriteMask};
    case CacheWrites::Kind::kAppend:
      return {1, 2, kAttentionMask};
    case CacheWrites::Kind::kAtPosition:
      return {};  // numbers of the operation itself say where
  }
  return {};
}

// The rule of slice_update for the positions, as a slice of Python.
Status CachedAttentionOp::find_targets(const FusedCall& call, MaskCache& masks,
                                       Targets& out) const {
  const TensorView& attention = *call.inputs[kAttentionMask];
  if (writes_.kind == CacheWrites::Kind::kAppend) {
    out.masks.fill(&masks.appended(attention));
    return {};
  }
  if (writes_.kind == CacheWrites::Kind::kMask) {
    out.masks.fill(&masks.write_mask(*call.inputs[kWriteMask]));
    return {};
  }
  const std::int64_t tokens = sizes_of(call).tokens;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t positions = call.states[i].positions;
    const auto position = [&](std::size_t input, std::int64_t element) {
      const std::int64_t at = element_as_int(*call.inputs[kPlaces + 2 * i + input], element);
      return std::clamp<std::int64_t>(at < 0 ? at + positions : at, 0, positions);
    };
    const std::int64_t begin = position(0, writes_.elements[i].begin);
    const std::int64_t end = position(1, writes_.elements[i].end);
    if (end - begin != tokens)
      return corrupt("[slice_update] expected {} of {} positions for as many tokens, got {} to {}",
                     tokens, positions, begin, end);
    WriteMask& own = out.own[i];
    own.is_one_hot = true;
    for (std::int64_t t = 0; t < tokens; ++t)
      own.position_of_token.push_back(t < call.real.of(tokens) ? begin + t : -1);
    out.masks[i] = &own;
  }
  return {};
}

// Whether no call attends to what a later one stores, so that all can store first.
bool CachedAttentionOp::can_store_first(std::span<FusedCall> calls,
                                        std::span<const Targets> targets, MaskCache& masks) const {
  for (std::size_t late = 1; late < calls.size(); ++late) {
    for (std::size_t early = 0; early < late; ++early) {
      if (!calls[early].needs_outputs) continue;  // it attends to nothing
      if (calls[early].states[0].data != calls[late].states[0].data) continue;
      const AttentionMask& mask = masks.attention_mask(*calls[early].inputs[kAttentionMask]);
      for (const WriteMask* write : targets[late].masks) {
        if (!write->is_one_hot || !mask.has_runs) return false;
        for (const std::int64_t position : write->position_of_token)
          if (position >= mask.all.begin && position < mask.all.end) return false;
      }
    }
  }
  return true;
}

void CachedAttentionOp::store(const FusedCall& call, const Targets& targets) const {
  const Sizes n = sizes_of(call);
  for (std::size_t i = 0; i < 2; ++i) {
    const Half* tokens = call.inputs[1 + i]->as<Half>().data();
    if (targets.masks[i]->is_one_hot)
      store_tokens(n, *targets.masks[i], tokens, call.states[i]);
    else
      blend_tokens(n, *call.inputs[kWriteMask], tokens, call.states[i]);
  }
}

Status CachedAttentionOp::run(std::span<FusedCall> calls, const FusedContext& context) const {
  std::vector<Targets> targets(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i)
    ANEMONE_RETURN_IF_ERROR(find_targets(calls[i], context.masks, targets[i]));
  if (!can_store_first(calls, targets, context.masks)) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      store(calls[i], targets[i]);
      attend(calls.subspan(i, 1), context);
    }
    return {};
  }
  for (std::size_t i = 0; i < calls.size(); ++i) store(calls[i], targets[i]);
  attend(calls, context);
  return {};
}

void CachedAttentionOp::attend(std::span<FusedCall> calls, const FusedContext& context) const {
  // The masks are analysed here, before the threads start.
  std::int64_t shared = 0;  // key/value heads of all calls
  std::int64_t most = 0;    // rows of one
  for (const FusedCall& call : calls) {
    if (!call.needs_outputs) continue;
    const Operands o(call);
    shared += o.n.kv_heads;
    most =
        std::max(most, o.group * context.masks.attention_mask(*call.inputs[kAttentionMask]).tokens);
  }
  if (shared == 0) return;
  const std::int64_t together =
      attention_rows_of_task(most, shared, context.threads.threads(), context.kernels);
  const auto parts_of = [&](const FusedCall& call) -> std::int64_t {
    if (!call.needs_outputs) return 0;
    const Operands o(call);
    const AttentionMask& mask = context.masks.attention_mask(*call.inputs[kAttentionMask]);
    return (o.group * mask.tokens + together - 1) / together;
  };
  parallel_for_calls(
      calls, context.threads,
      [&](const FusedCall& call) { return sizes_of(call).kv_heads * parts_of(call); }, 1,
      [&](FusedCall& call, std::int64_t task, std::int64_t) {
        const std::int64_t parts = parts_of(call);
        attend_rows(call, task / parts, task % parts * together, together, context);
      });
  for (const FusedCall& call : calls) {
    if (!call.needs_outputs) continue;
    const Operands o(call);
    const std::int64_t last = context.masks.attention_mask(*call.inputs[kAttentionMask]).tokens - 1;
    for (std::int64_t h = 0; h < o.heads; ++h)
      for (std::int64_t t = last + 1; t < o.n.tokens; ++t)
        std::copy_n(o.out + o.row(h, last), o.n.dim, o.out + o.row(h, t));
  }
}

// The rows of a key/value head are its query heads at each token.
void CachedAttentionOp::attend_rows(const FusedCall& call, std::int64_t kv, std::int64_t begin,
                                    std::int64_t count, const FusedContext& context) const {
  const Operands o(call);
  const AttentionMask& mask = context.masks.attention_mask(*call.inputs[kAttentionMask]);
  const std::int64_t end = std::min(begin + count, o.group * mask.tokens);
  AttentionTask& task = AttentionTask::begin();
  for (std::int64_t at = begin; at < end; ++at) {
    const std::int64_t t = at / o.group;
    const std::int64_t h = kv * o.group + at % o.group;
    const std::int64_t element = o.row(h, t);
    const auto run = mask.has_runs ? mask.run_of_token[static_cast<std::size_t>(t)]
                                   : PositionRange{0, o.positions};
    task.rows.push_back({o.q + element, o.out + element, run.begin, run.end, nullptr,
                         sinks_.empty() ? nullptr : &sinks_[static_cast<std::size_t>(h)]});
  }
  const kernels::simd::AttentionHead head{o.rows_of(o.keys, kv), o.rows_of(o.values, kv), o.n.dim,
                                          factor_, o.group};
  if (mask.has_runs) return task.run(context.kernels, head);
  const Half* const any_mask = call.inputs[kAttentionMask]->as<Half>().data();
  for (std::int64_t at = begin; at < end; ++at)
    attend_row(head, task.rows[static_cast<std::size_t>(at - begin)],
               {any_mask + at / o.group * o.positions, static_cast<std::size_t>(o.positions)});
}

}  // namespace anemone::exec
