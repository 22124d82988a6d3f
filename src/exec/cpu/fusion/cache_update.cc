// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/cache_update.h"

#include <algorithm>
#include <utility>

#include "exec/cpu/fusion/replaced_state.h"

namespace anemone::exec {
namespace {

constexpr int kPositions = 2;  // the axis

// Whether a write mask is for one token.
bool is_one_column(const FusionGraph& graph, int mask) {
  return mask >= 0 && graph.type(mask).is_tensor() && graph.type(mask).shape.size() == 4 &&
         graph.type(mask).shape[3] == 1;
}

// A mask and tokens.
struct Placed {
  PreparedOp* op = nullptr;
  int mask = -1;
  int tokens = -1;
};

// mask @ tokens; or mask * tokens where there is one token, either way round.
std::vector<Placed> placed_tokens(const FusionGraph& graph, int reg) {
  if (PreparedOp* product = graph.producer(reg, "matmul")) {
    if (graph.is_transposed(*product)) return {};
    return {{product, FusionGraph::argument(*product, "x"), FusionGraph::argument(*product, "y")}};
  }
  std::vector<Placed> out;
  if (PreparedOp* product = graph.producer(reg, "mul"))
    for (const std::string_view side : {"x", "y"})
      if (const int mask = FusionGraph::argument(*product, side); is_one_column(graph, mask))
        out.push_back({product, mask, FusionGraph::other(*product, mask)});
  return out;
}

// `reg` is 1 - reduce_sum(mask, -1, keep_dims), or 1 - mask where that has one column.
bool keeps_unmasked(const FusionGraph& graph, int reg, int mask) {
  const PreparedOp* keep = graph.producer(reg, "sub");
  if (keep == nullptr || graph.number(*keep, "x").value_or(0) != 1) return false;
  const int written_register = FusionGraph::argument(*keep, "y");
  if (written_register == mask) return is_one_column(graph, mask);
  const PreparedOp* written = graph.producer(written_register, "reduce_sum");
  if (written == nullptr || FusionGraph::argument(*written, "x") != mask ||
      !graph.flag(*written, "keep_dims"))
    return false;
  const auto axes = graph.ints(*written, "axes");
  return axes.size() == 1 && (axes[0] == -1 || axes[0] == 3);
}

// Whether a slice begins at zero everywhere and leaves nothing out before its end.
bool is_prefix(const FusionGraph& graph, const PreparedOp& slice) {
  const auto are_all = [&](std::string_view parameter, std::int64_t wanted, bool may_be_absent) {
    if (FusionGraph::argument(slice, parameter) < 0) return may_be_absent;
    const auto values = graph.ints(slice, parameter);
    return !values.empty() &&
           std::ranges::all_of(values, [&](std::int64_t value) { return value == wanted; });
  };
  return are_all("begin", 0, false) && are_all("stride", 1, true) &&
         are_all("begin_mask", 0, true) && are_all("end_mask", 0, true) &&
         are_all("squeeze_mask", 0, true);
}

// Two shapes of four dimensions that differ in the number of positions at most.
bool differ_in_positions(const Shape& a, const Shape& b) {
  if (a.size() != 4 || b.size() != 4) return false;
  for (std::size_t i = 0; i < 4; ++i)
    if (i != std::size_t{kPositions} && a[i] != b[i]) return false;
  return true;
}

// The cache of which `before` is the first positions, and the operation that takes them. Where it
// is all of it, `before` itself.
int whole_of(const FusionGraph& graph, int before, CacheUpdate& out) {
  PreparedOp* slice = graph.producer(before, "slice_by_index");
  if (slice == nullptr) return before;
  const int whole = FusionGraph::argument(*slice, "x");
  if (whole < 0 || !is_prefix(graph, *slice) || !graph.type(whole).is_tensor() ||
      !differ_in_positions(graph.type(whole).shape, graph.type(before).shape))
    return before;
  out.inner.push_back(slice);
  return whole;
}

// The cache after the update of its first positions, which are `after`; -1 for other updates.
int whole_after(const FusionGraph& graph, int whole, int before, int after, CacheUpdate& out) {
  if (whole == before) return after;
  for (PreparedOp* user : graph.users(after)) {
    if (!FusionGraph::is_statically_checked(*user) || user->op->type != "slice_update") continue;
    if (FusionGraph::argument(*user, "x") != whole ||
        FusionGraph::argument(*user, "update") != after || !is_prefix(graph, *user))
      continue;
    out.inner.push_back(user);
    return user->outputs[0];
  }
  return -1;
}

// Finds what keeps the cache `whole` from step to step, which is `updated` after this one.
bool find_cache(const FusionGraph& graph, int whole, int updated, CacheUpdate& out) {
  // By what keeps it, and what takes and replaces its first positions.
  const int uses = out.inner.empty() ? 1 : 2;
  auto state = match_replaced_state(graph, whole, updated, uses);
  if (!state) return false;
  out.state = state->state;
  out.cache = std::move(state->cache);
  out.shape = std::move(state->shape);
  out.dtype = state->dtype;
  out.inner.insert(out.inner.end(), state->inner.begin(), state->inner.end());
  return true;
}

std::optional<CacheUpdate> match_blend(const FusionGraph& graph, PreparedOp& sum) {
  const int after = sum.outputs[0];
  for (const std::string_view side : {"x", "y"}) {
    const int kept_register = FusionGraph::argument(sum, side);
    PreparedOp* kept = graph.producer(kept_register, "mul");
    if (kept == nullptr) continue;
    for (const Placed& placed : placed_tokens(graph, FusionGraph::other(sum, kept_register)))
      for (const std::string_view part : {"x", "y"}) {
        const int before = FusionGraph::argument(*kept, part);
        if (before < 0 || !keeps_unmasked(graph, FusionGraph::other(*kept, before), placed.mask))
          continue;
        CacheUpdate out;
        const int whole = whole_of(graph, before, out);
        const int updated = whole_after(graph, whole, before, after, out);
        if (updated < 0 || !find_cache(graph, whole, updated, out)) return std::nullopt;
        out.mask = placed.mask;
        out.tokens = placed.tokens;
        out.inner.insert(out.inner.end(), {&sum, kept, placed.op});
        return out;
      }
  }
  return std::nullopt;
}

std::optional<CacheUpdate> match_append(const FusionGraph& graph, PreparedOp& concat) {
  const auto values = graph.joined_pair(concat, kPositions);
  if (!values) return std::nullopt;
  auto out = match_past_and_step(graph, (*values)[0], (*values)[1]);
  if (out) out->inner.push_back(&concat);
  return out;
}

std::optional<CacheUpdate> match_row(const FusionGraph& graph, int reg, const PreparedOp& root) {
  const auto row = graph.sliced_states().find(reg, root);
  if (!row) return std::nullopt;
  const Feature& feature = *graph.function().states[static_cast<std::size_t>(row->state)];
  const RowUpdate& update = *row->update;
  CacheUpdate out;
  out.state = row->state;
  out.shape = {1};
  out.shape.insert(out.shape.end(), feature.shape.end() - 3, feature.shape.end());
  out.dtype = feature.dtype;
  out.tokens = update.tokens;
  out.at_position = {update.row, update.begin, update.end, row->positions};
  return out;
}

}  // namespace

std::optional<CacheUpdate> match_cache_update(const FusionGraph& graph, int reg,
                                              const PreparedOp& root) {
  if (auto row = match_row(graph, reg, root)) return row;
  if (PreparedOp* sum = graph.producer(reg, "add")) return match_blend(graph, *sum);
  if (PreparedOp* concat = graph.producer(reg, "concat")) return match_append(graph, *concat);
  return std::nullopt;
}

std::optional<CacheUpdate> match_past_and_step(const FusionGraph& graph, int past, int tokens) {
  const auto input = graph.input(past);
  const auto output = graph.output(tokens);
  if (!input || !output) return std::nullopt;
  const ir::Type& before = graph.type(past);
  const ir::Type& step = graph.type(tokens);
  if (!before.is_tensor() || !step.is_tensor() || before.dtype != step.dtype ||
      !is_static(before.shape) || !is_static(step.shape) ||
      !differ_in_positions(before.shape, step.shape))
    return std::nullopt;
  CacheUpdate out;
  out.tokens = tokens;
  out.shape = before.shape;
  out.shape[kPositions] += step.shape[kPositions];
  out.dtype = before.dtype;
  out.cache = PreparedCache{CacheBinding::Kind::kAppend, *input, *output, out.shape, out.dtype};
  return out;
}

}  // namespace anemone::exec
