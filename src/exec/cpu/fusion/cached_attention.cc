// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/cached_attention_op.h"
#include "exec/cpu/fusion/matchers.h"

namespace anemone::exec {
namespace {

// after = before * (1 - reduce_sum(mask, -1)) + mask @ tokens, where before is a state, which
// becomes after: the tokens go to the positions that the one-hot rows of the mask say. `before` may
// also be the first positions of the state, which alone become after: those of a tier.
struct CacheUpdate {
  int state = -1;
  const ir::Type* type = nullptr;  // of the state
  int mask = -1;
  int tokens = -1;
  bool is_prefix = false;  // of the state
  std::vector<PreparedOp*> inner;
};

class AttentionMatch {
 public:
  explicit AttentionMatch(const FusionGraph& graph) : graph_(graph) {}

  // root: [1, heads, T, dim] = reshape(softmax(scores + mask) @ values)
  std::optional<Fusion> match(PreparedOp& root) {
    const Shape& out = graph_.type(root.outputs[0]).shape;
    PreparedOp* mixed = take(FusionGraph::argument(root, "x"), "matmul");
    if (out.size() != 4 || out[0] != 1 || mixed == nullptr || is_transposed(*mixed))
      return std::nullopt;
    CacheUpdate values = match_update(FusionGraph::argument(*mixed, "y"));
    if (values.state < 0) return std::nullopt;
    PreparedOp* grouped_weights = take(FusionGraph::argument(*mixed, "x"), "reshape");
    if (grouped_weights == nullptr) return std::nullopt;
    const int weights = FusionGraph::argument(*grouped_weights, "x");
    int scored = -1;
    if (PreparedOp* softmax = take(weights, "softmax")) {
      if (!is_last_axis(*softmax, 4)) return std::nullopt;
      scored = FusionGraph::argument(*softmax, "x");
    } else {
      scored = match_softmax_with_sinks(weights);
    }
    PreparedOp* masked = scored < 0 ? nullptr : take(scored, "add");
    if (masked == nullptr) return std::nullopt;
    for (const std::string_view side : {"x", "y"}) {
      const int by_head_register = FusionGraph::argument(*masked, side);
      PreparedOp* by_head = graph_.producer(by_head_register, "reshape");
      if (by_head == nullptr) continue;
      PreparedOp* scores = graph_.producer(FusionGraph::argument(*by_head, "x"), "matmul");
      if (scores == nullptr) continue;
      inner_.insert(inner_.end(), {by_head, scores});
      return finish(root, *scores, FusionGraph::other(*masked, by_head_register),
                    std::move(values));
    }
    return std::nullopt;
  }

 private:
  PreparedOp* take(int reg, std::string_view op) {
    PreparedOp* found = graph_.producer(reg, op);
    if (found != nullptr) inner_.push_back(found);
    return found;
  }
  bool is_transposed(const PreparedOp& op) const {
    return graph_.flag(op, "transpose_x") || graph_.flag(op, "transpose_y");
  }
  bool is_last_axis(const PreparedOp& op, std::int64_t rank) const {
    const double axis = graph_.number(op, "axis").value_or(99);
    return axis == -1 || axis == static_cast<double>(rank - 1);
  }

  // e / (sum of e + e^(sinks - top)) with e = e^(scores - top) and top the highest of scores and
  // sinks, a constant [1, heads, 1, 1]. Returns the scores, or -1.
  int match_softmax_with_sinks(int reg) {
    PreparedOp* weights = take(reg, "mul");
    if (weights == nullptr) return -1;
    for (const std::string_view side : {"x", "y"}) {
      const int e = FusionGraph::argument(*weights, side);
      PreparedOp* exp = graph_.producer(e, "exp");
      PreparedOp* inverse = graph_.producer(FusionGraph::other(*weights, e), "inverse");
      if (exp == nullptr || inverse == nullptr ||
          graph_.number(*inverse, "epsilon").value_or(1) != 0)
        continue;
      PreparedOp* below = take(FusionGraph::argument(*exp, "x"), "sub");
      PreparedOp* total = take(FusionGraph::argument(*inverse, "x"), "add");
      if (below == nullptr || total == nullptr) return -1;
      const int scores = FusionGraph::argument(*below, "x");
      const int top = FusionGraph::argument(*below, "y");
      PreparedOp* highest = take(top, "maximum");
      if (highest == nullptr || scores < 0) return -1;
      inner_.insert(inner_.end(), {exp, inverse});
      for (const std::string_view part : {"x", "y"}) {
        const int sinks = FusionGraph::argument(*highest, part);
        if (graph_.constant(sinks) == nullptr ||
            !is_reduced(FusionGraph::other(*highest, sinks), "reduce_max", scores))
          continue;
        return is_total(*total, e, sinks, top) && read_sinks(sinks, scores) ? scores : -1;
      }
      return -1;
    }
    return -1;
  }

  bool is_reduced(int reg, std::string_view op, int from) {
    PreparedOp* reduced = take(reg, op);
    if (reduced == nullptr || FusionGraph::argument(*reduced, "x") != from ||
        !graph_.flag(*reduced, "keep_dims"))
      return false;
    const auto axes = graph_.ints(*reduced, "axes");
    return axes.size() == 1 && (axes[0] == -1 || axes[0] == 3);
  }

  // The sum of e, and e^(sinks - top).
  bool is_total(const PreparedOp& total, int e, int sinks, int top) {
    for (const std::string_view side : {"x", "y"}) {
      const int reg = FusionGraph::argument(total, side);
      PreparedOp* exp = graph_.producer(reg, "exp");
      if (exp == nullptr) continue;
      PreparedOp* below = take(FusionGraph::argument(*exp, "x"), "sub");
      inner_.push_back(exp);
      return below != nullptr && FusionGraph::argument(*below, "x") == sinks &&
             FusionGraph::argument(*below, "y") == top &&
             is_reduced(FusionGraph::other(total, reg), "reduce_sum", e);
    }
    return false;
  }

  bool read_sinks(int reg, int scores) {
    const Shape& shape = graph_.type(scores).shape;
    const TensorView& sinks = *graph_.constant(reg);
    if (shape.size() != 4 || sinks.shape != Shape{1, shape[1], 1, 1}) return false;
    sinks_ = to_floats(sinks);
    return true;
  }

  CacheUpdate match_update(int after) const {
    CacheUpdate out;
    PreparedOp* sum = graph_.producer(after, "add");
    if (sum == nullptr) return out;
    for (const std::string_view side : {"x", "y"}) {
      const int kept_register = FusionGraph::argument(*sum, side);
      PreparedOp* kept = graph_.producer(kept_register, "mul");
      PreparedOp* placed = graph_.producer(FusionGraph::other(*sum, kept_register), "matmul");
      if (kept == nullptr || placed == nullptr || is_transposed(*placed)) continue;
      const int mask = FusionGraph::argument(*placed, "x");
      for (const std::string_view part : {"x", "y"}) {
        const int before = FusionGraph::argument(*kept, part);
        PreparedOp* first = graph_.producer(before, "slice_by_index");
        PreparedOp* read =
            graph_.producer(first == nullptr ? before : FusionGraph::argument(*first, "x"));
        if (read == nullptr || read->kind != PreparedOp::Kind::kReadState) continue;
        if (!keeps_unmasked(FusionGraph::other(*kept, before), mask)) return out;
        PreparedOp* write = graph_.only_write(read->state);
        if (write == nullptr || write < read) return out;
        const int written = FusionGraph::argument(*write, "data");
        if (first != nullptr) {
          PreparedOp* joined = graph_.producer(written, "slice_update");
          if (joined == nullptr || !begins_at_zero(*first) || !begins_at_zero(*joined) ||
              FusionGraph::argument(*joined, "x") != read->outputs[0] ||
              FusionGraph::argument(*joined, "update") != after)
            return out;
          out.inner = {first, joined};
          out.is_prefix = true;
        } else if (written != after) {
          return out;
        }
        out.state = read->state;
        out.type = &read->op->input("input")->type;
        out.mask = mask;
        out.tokens = FusionGraph::argument(*placed, "y");
        out.inner.insert(out.inner.end(), {sum, kept, placed, read, write});
        return out;
      }
    }
    return out;
  }

  // A slice of neighbours from the first element of each axis on: its shape says the rest.
  bool begins_at_zero(const PreparedOp& slice) const {
    const auto are = [](const std::vector<std::int64_t>& values, std::int64_t value) {
      return std::ranges::all_of(values, [value](std::int64_t v) { return v == value; });
    };
    const auto begins = graph_.ints(slice, "begin");
    return begins.size() == 4 && are(begins, 0) && are(graph_.ints(slice, "stride"), 1) &&
           are(graph_.ints(slice, "squeeze_mask"), 0);
  }

  // `reg` is 1 - reduce_sum(mask, -1, keep_dims)
  bool keeps_unmasked(int reg, int mask) const {
    const PreparedOp* keep = graph_.producer(reg, "sub");
    if (keep == nullptr || graph_.number(*keep, "x").value_or(0) != 1) return false;
    const PreparedOp* written = graph_.producer(FusionGraph::argument(*keep, "y"), "reduce_sum");
    if (written == nullptr || FusionGraph::argument(*written, "x") != mask ||
        !graph_.flag(*written, "keep_dims"))
      return false;
    const auto axes = graph_.ints(*written, "axes");
    return axes.size() == 1 && (axes[0] == -1 || axes[0] == 3);
  }

  std::optional<Fusion> finish(PreparedOp& root, PreparedOp& scores, int attention_mask,
                               CacheUpdate values) {
    if (graph_.flag(scores, "transpose_x") || !graph_.flag(scores, "transpose_y"))
      return std::nullopt;
    CacheUpdate keys = match_update(FusionGraph::argument(scores, "y"));
    if (keys.state < 0 || keys.mask != values.mask || keys.state == values.state)
      return std::nullopt;
    PreparedOp* grouped = take(FusionGraph::argument(scores, "x"), "reshape");
    if (grouped == nullptr) return std::nullopt;
    int q = FusionGraph::argument(*grouped, "x");
    float factor = 1;
    if (PreparedOp* scaled = graph_.producer(q, "mul"))
      for (const std::string_view side : {"x", "y"})
        if (const auto constant = graph_.number(*scaled, side)) {
          factor = static_cast<float>(*constant);
          q = FusionGraph::argument(*scaled, side == "x" ? "y" : "x");
          inner_.push_back(scaled);
          break;
        }
    if (!fits(q, attention_mask, keys, values, root)) return std::nullopt;
    Fusion fusion{std::make_shared<CachedAttentionOp>(factor, graph_.type(keys.mask).shape[2],
                                                      keys.type->shape[2], std::move(sinks_)),
                  &root,
                  {q, keys.tokens, values.tokens, keys.mask, attention_mask},
                  {keys.state, values.state},
                  std::move(inner_)};
    for (CacheUpdate* update : {&keys, &values})
      fusion.inner.insert(fusion.inner.end(), update->inner.begin(), update->inner.end());
    return fusion;
  }

  // q [1, H, T, D], tokens [1, KV, T, D], mask [1, 1, S, T], attention mask [1, 1, T, S],
  // states [1, KV, S or more, D], all fp16 and static.
  bool fits(int q, int attention_mask, const CacheUpdate& keys, const CacheUpdate& values,
            const PreparedOp& root) const {
    if (q < 0 || attention_mask < 0) return false;
    // What masks say is found out once per run: they must be the same memory all the while.
    if (graph_.producer(keys.mask) != nullptr || graph_.producer(attention_mask) != nullptr)
      return false;
    for (const int reg : {q, keys.tokens, values.tokens, keys.mask, attention_mask}) {
      const ir::Type& type = graph_.type(reg);
      if (!type.is_tensor() || type.dtype != DType::kFp16 || type.shape.size() != 4 ||
          !is_static(type.shape) || type.shape[0] != 1)
        return false;
    }
    const Shape& query = graph_.type(q).shape;
    const Shape& token = graph_.type(keys.tokens).shape;
    const Shape& write = graph_.type(keys.mask).shape;
    const Shape& mask = graph_.type(attention_mask).shape;
    const std::int64_t positions = write[2];
    // The program may leave it open what it writes, and read what it broadcasts.
    for (const CacheUpdate* update : {&keys, &values}) {
      const Shape& state = update->type->shape;
      if (update->type->dtype != DType::kFp16 || state.size() != 4 || state[2] < positions ||
          (state[2] > positions && !update->is_prefix) ||
          state != Shape({1, token[1], keys.type->shape[2], token[3]}))
        return false;
    }
    if (!sinks_.empty() && static_cast<std::int64_t>(sinks_.size()) != query[1]) return false;
    return graph_.type(root.outputs[0]).shape == query &&
           graph_.type(values.tokens).shape == token && query[1] % token[1] == 0 &&
           query[2] == token[2] && query[3] == token[3] && write[1] == 1 && write[3] == query[2] &&
           mask == Shape({1, 1, query[2], positions});
  }

  const FusionGraph& graph_;
  std::vector<PreparedOp*> inner_;
  std::vector<float> sinks_;  // of each query head, where there are some
};

}  // namespace

std::optional<Fusion> match_cached_attention(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "reshape") return std::nullopt;
  return AttentionMatch(graph).match(root);
}

}  // namespace anemone::exec
