// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/cached_attention_op.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "exec/cpu/fusion/attention_block.h"
#include "exec/cpu/fusion/mask_cache.h"

namespace anemone::exec {
namespace {

thread_local Scratch attention_scratch;

constexpr std::size_t kAttentionMask = 3;  // among the inputs
constexpr std::size_t kWriteMask = 4;
constexpr std::size_t kPlaces = 4;  // the first of those of kAtPosition

struct Sizes {
  std::int64_t heads, kv_heads, tokens, dim, positions;
};

Sizes sizes_of(const FusedCall& call) {
  const Shape& q = call.inputs[0]->shape;
  return {q[1], call.inputs[1]->shape[1], q[2], q[3], call.inputs[kAttentionMask]->shape[3]};
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
void blend_tokens(const Sizes& n, const Half* mask, const Half* tokens, const FusedState& state) {
  auto* cache = reinterpret_cast<Half*>(state.data);
  for (std::int64_t s = 0; s < n.positions; ++s) {
    const Half* row = mask + s * n.tokens;
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
void attend_row(const Sizes& n, const float* q, const Half* keys, const Half* values,
                const Half* mask, const float* sink, float* out, float* scores) {
  float most = sink == nullptr ? -INFINITY : *sink;
  for (std::int64_t s = 0; s < n.positions; ++s) {
    float score = 0;
    for (std::int64_t d = 0; d < n.dim; ++d) score += q[d] * to_float(keys[s * n.dim + d]);
    scores[s] = score + to_float(mask[s]);
    most = std::max(most, scores[s]);
  }
  float total = sink == nullptr ? 0 : std::exp(*sink - most);
  for (std::int64_t s = 0; s < n.positions; ++s) total += scores[s] = std::exp(scores[s] - most);
  std::fill(out, out + n.dim, 0.0f);
  for (std::int64_t s = 0; s < n.positions; ++s)
    for (std::int64_t d = 0; d < n.dim; ++d)
      out[d] += scores[s] / total * to_float(values[s * n.dim + d]);
}

// The memory of one call's attention.
struct Operands {
  explicit Operands(const FusedCall& call)
      : n(sizes_of(call)),
        group(n.heads / n.kv_heads),
        q(call.inputs[0]->as<Half>().data()),
        keys(call.states[0]),
        values(call.states[1]),
        out(call.outputs[0].as<Half>().data()) {}
  kernels::simd::AttentionHead head(std::int64_t kv) const {
    return {rows_of(keys, kv), rows_of(values, kv), n.dim};
  }
  const Half* rows_of(const FusedState& state, std::int64_t kv) const {
    return reinterpret_cast<const Half*>(state.data) + kv * state.positions * n.dim;
  }
  std::int64_t row(std::int64_t h, std::int64_t t) const { return (h * n.tokens + t) * n.dim; }

  Sizes n;
  std::int64_t group;  // query heads of a key/value head
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
      blend_tokens(n, call.inputs[kWriteMask]->as<Half>().data(), tokens, call.states[i]);
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
  bool have_runs = true;
  for (const FusedCall& call : calls)
    have_runs = have_runs && context.masks.attention_mask(*call.inputs[kAttentionMask]).has_runs;
  const Operands first(calls[0]);
  const Sizes& n = first.n;
  if (have_runs && n.tokens * first.group >= kernels::simd::kAttendRows / 2)
    return attend_many(calls, context);
  // Query heads of a group share keys and values. They are taken together unless there would be
  // too few tasks for the threads.
  const auto count = static_cast<std::int64_t>(calls.size());
  const std::int64_t wanted = context.threads.threads();
  const std::int64_t shared = count * n.kv_heads * n.tokens;
  const std::int64_t parts =
      std::clamp<std::int64_t>((wanted + shared - 1) / shared, 1, first.group);
  const std::int64_t part_rows = (first.group + parts - 1) / parts;
  const std::int64_t tasks = n.kv_heads * n.tokens * parts;
  parallel_for_calls(
      calls, context.threads, [&](const FusedCall&) { return tasks; },
      std::max<std::int64_t>(1, count * tasks / (wanted * 8)),
      [&](FusedCall& call, std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
          const std::int64_t kv = task / parts / n.tokens;
          const std::int64_t head = kv * first.group + task % parts * part_rows;
          const std::int64_t rows = std::min((kv + 1) * first.group, head + part_rows) - head;
          if (rows > 0) attend_heads(call, task / parts % n.tokens, kv, head, rows, context);
        }
      });
}

// One token of some heads.
void CachedAttentionOp::attend_heads(const FusedCall& call, std::int64_t t, std::int64_t kv,
                                     std::int64_t head, std::int64_t rows,
                                     const FusedContext& context) const {
  const Operands o(call);
  const Sizes& n = o.n;
  const AttentionMask& runs = context.masks.attention_mask(*call.inputs[kAttentionMask]);
  const auto run = runs.has_runs ? runs.run_of_token[static_cast<std::size_t>(t)]
                                 : PositionRange{0, n.positions};
  float* queries = attention_scratch.take<float>(
      2 * rows * n.dim + std::max(run.end - run.begin, kernels::simd::attend_scratch(rows, n.dim)));
  float* mixed = queries + rows * n.dim;
  float* scratch = mixed + rows * n.dim;
  for (std::int64_t r = 0; r < rows; ++r) {
    float* row = queries + r * n.dim;
    context.kernels.to_floats(o.q + o.row(head + r, t), row, n.dim);
    for (std::int64_t d = 0; d < n.dim; ++d) row[d] *= factor_;
  }
  if (runs.has_runs) {
    kernels::simd::AttentionHead one = o.head(kv);
    one.sinks = sink(head);
    context.kernels.attend(one, queries, rows, run.begin, run.end, mixed, scratch);
  } else {
    const Half* mask = call.inputs[kAttentionMask]->as<Half>().data() + t * n.positions;
    for (std::int64_t r = 0; r < rows; ++r)
      attend_row(n, queries + r * n.dim, o.head(kv).keys, o.head(kv).values, mask, sink(head + r),
                 mixed + r * n.dim, scratch);
  }
  for (std::int64_t r = 0; r < rows; ++r)
    context.kernels.to_halves(mixed + r * n.dim, o.out + o.row(head + r, t), n.dim);
}

// Many tokens: the rows of a key/value head are its query heads at each token, in blocks. Tokens
// that fill the run up take what the last one has.
void CachedAttentionOp::attend_many(std::span<FusedCall> calls, const FusedContext& context) const {
  using kernels::simd::kAttendRows;
  const Operands first(calls[0]);
  const auto tokens_of = [&](const FusedCall& call) {
    return context.masks.attention_mask(*call.inputs[kAttentionMask]).tokens;
  };
  const auto blocks_of = [&](const FusedCall& call) {
    return (first.group * tokens_of(call) + kAttendRows - 1) / kAttendRows;
  };
  parallel_for_calls(
      calls, context.threads,
      [&](const FusedCall& call) { return first.n.kv_heads * blocks_of(call); }, 1,
      [&](FusedCall& call, std::int64_t task, std::int64_t) {
        const Operands o(call);
        const std::int64_t blocks = blocks_of(call);
        const std::int64_t head_rows = o.group * tokens_of(call);
        const std::int64_t kv = task / blocks;
        const std::int64_t begin = task % blocks * kAttendRows;
        const std::int64_t rows = std::min(kAttendRows, head_rows - begin);
        const auto row_at = [&](std::int64_t at) {
          return o.row(kv * o.group + at % o.group, at / o.group);
        };
        const AttentionMask& mask = context.masks.attention_mask(*call.inputs[kAttentionMask]);
        AttentionBlock block(context.kernels, attention_scratch, o.n.dim, rows);
        float sinks[kAttendRows];
        for (std::int64_t r = 0; r < block.rows(); ++r) {
          // Rows that make up the number are like the last one.
          const std::int64_t at = begin + std::min(r, rows - 1);
          const AttentionMask::Run run = mask.run_of_token[static_cast<std::size_t>(at / o.group)];
          block.runs.begin[r] = run.begin;
          block.runs.end[r] = run.end;
          block.set_query(r, o.q + row_at(at), factor_);
          if (!sinks_.empty()) sinks[r] = *sink(kv * o.group + at % o.group);
        }
        kernels::simd::AttentionHead head = o.head(kv);
        if (!sinks_.empty()) head.sinks = sinks;
        block.attend(head);
        for (std::int64_t r = 0; r < rows; ++r) block.take(r, o.out + row_at(begin + r));
      });
  for (const FusedCall& call : calls) {
    const Operands o(call);
    const std::int64_t last = tokens_of(call) - 1;
    for (std::int64_t h = 0; h < o.n.heads; ++h)
      for (std::int64_t t = last + 1; t < o.n.tokens; ++t)
        std::copy_n(o.out + o.row(h, last), o.n.dim, o.out + o.row(h, t));
  }
}

}  // namespace anemone::exec
