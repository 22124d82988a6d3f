// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/cpu/fusion/axis_slice.h"
#include "exec/cpu/fusion/cache_update.h"
#include "exec/cpu/fusion/cached_attention_op.h"
#include "exec/cpu/fusion/matchers.h"

namespace anemone::exec {
namespace {

class AttentionMatch {
 public:
  AttentionMatch(const FusionGraph& graph, PreparedOp& root) : graph_(graph), root_(root) {}

  // root: [1, heads, T, dim] = reshape(softmax(scores + mask) @ values). The reshapes between heads
  // and groups of heads are not there where each group is one head.
  std::optional<Fusion> match() {
    const Shape& out = graph_.type(root_.outputs[0]).shape;
    if (out.size() != 4 || out[0] != 1) return std::nullopt;
    auto mixed = match_mixed();
    if (!mixed) return std::nullopt;
    const int weights = before_reshape(mixed->other);
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
      auto scores = match_scores(by_head == nullptr ? by_head_register
                                                    : FusionGraph::argument(*by_head, "x"));
      if (!scores) continue;
      if (by_head != nullptr) inner_.push_back(by_head);
      return finish(*std::move(scores), FusionGraph::other(*masked, by_head_register),
                    std::move(mixed->cache));
    }
    return std::nullopt;
  }

 private:
  // The product of something with a cache, or the products with its past and with the step.
  struct Product {
    int other = -1;  // register
    CacheUpdate cache;
    std::vector<PreparedOp*> inner;
  };

  // weights @ values; or weights[.., :S] @ past + weights[.., S:] @ tokens.
  std::optional<Product> match_mixed() {
    PreparedOp* mixed = &root_;
    if (root_.op->type == "reshape") {
      mixed = graph_.producer(FusionGraph::argument(root_, "x"));
      if (mixed == nullptr) return std::nullopt;
      inner_.push_back(mixed);
    }
    if (mixed->op->type == "matmul") {
      auto values = graph_.is_transposed(*mixed)
                        ? std::nullopt
                        : match_cache_update(graph_, FusionGraph::argument(*mixed, "y"), root_);
      if (!values) return std::nullopt;
      return Product{FusionGraph::argument(*mixed, "x"), *std::move(values), {}};
    }
    if (mixed->op->type != "add") return std::nullopt;
    PreparedOp* past = take(FusionGraph::argument(*mixed, "x"), "matmul");
    PreparedOp* step = take(FusionGraph::argument(*mixed, "y"), "matmul");
    if (past == nullptr || step == nullptr || graph_.is_transposed(*past) ||
        graph_.is_transposed(*step))
      return std::nullopt;
    auto values = match_past_and_step(graph_, FusionGraph::argument(*past, "y"),
                                      FusionGraph::argument(*step, "y"));
    if (!values) return std::nullopt;
    const std::int64_t border =
        graph_.type(FusionGraph::argument(*past, "y")).shape[2];  // positions of the past
    const int weights = columns_of(FusionGraph::argument(*past, "x"), 0, border);
    if (weights < 0 ||
        columns_of(FusionGraph::argument(*step, "x"), border, values->shape[2]) != weights)
      return std::nullopt;
    return Product{weights, *std::move(values), {}};
  }

  // What `reg` is the columns [begin, end) of, with all rows; -1 for anything else.
  int columns_of(int reg, std::int64_t begin, std::int64_t end) {
    const auto slice = axis_slice(graph_, reg);
    const Shape& part = graph_.type(reg).shape;
    if (!slice || part.size() != 4 || slice->axis != 3 || slice->begin != begin ||
        part[3] != end - begin)
      return -1;
    inner_.push_back(slice->op);
    return slice->x;
  }

  // q @ keys^T; or concat(q @ past^T, q @ tokens^T) along the columns.
  std::optional<Product> match_scores(int reg) {
    const auto is_with_keys = [&](const PreparedOp* product) {
      return product != nullptr && !graph_.flag(*product, "transpose_x") &&
             graph_.flag(*product, "transpose_y");
    };
    if (PreparedOp* scores = graph_.producer(reg, "matmul")) {
      if (!is_with_keys(scores)) return std::nullopt;
      auto keys = match_cache_update(graph_, FusionGraph::argument(*scores, "y"), root_);
      if (!keys) return std::nullopt;
      return Product{FusionGraph::argument(*scores, "x"), *std::move(keys), {scores}};
    }
    PreparedOp* joined = graph_.producer(reg, "concat");
    const auto values = joined == nullptr ? std::nullopt : graph_.joined_pair(*joined, 3);
    if (!values) return std::nullopt;
    PreparedOp* past = graph_.producer((*values)[0], "matmul");
    PreparedOp* step = graph_.producer((*values)[1], "matmul");
    if (!is_with_keys(past) || !is_with_keys(step) ||
        FusionGraph::argument(*past, "x") != FusionGraph::argument(*step, "x"))
      return std::nullopt;
    auto keys = match_past_and_step(graph_, FusionGraph::argument(*past, "y"),
                                    FusionGraph::argument(*step, "y"));
    if (!keys) return std::nullopt;
    return Product{FusionGraph::argument(*past, "x"), *std::move(keys), {joined, past, step}};
  }

  PreparedOp* take(int reg, std::string_view op) {
    PreparedOp* found = graph_.producer(reg, op);
    if (found != nullptr) inner_.push_back(found);
    return found;
  }
  int before_reshape(int reg) {
    const PreparedOp* reshape = take(reg, "reshape");
    return reshape == nullptr ? reg : FusionGraph::argument(*reshape, "x");
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

  std::optional<Fusion> finish(Product scores, int attention_mask, CacheUpdate values) {
    CacheUpdate& keys = scores.cache;
    if (!keys.is_like(values) || is_same(keys, values)) return std::nullopt;
    inner_.insert(inner_.end(), scores.inner.begin(), scores.inner.end());
    int q = before_reshape(scores.other);
    float factor = 1;
    if (PreparedOp* scaled = graph_.producer(q, "mul"))
      for (const std::string_view side : {"x", "y"})
        if (const auto constant = graph_.number(*scaled, side)) {
          factor = static_cast<float>(*constant);
          q = FusionGraph::argument(*scaled, side == "x" ? "y" : "x");
          inner_.push_back(scaled);
          break;
        }
    if (!fits(q, attention_mask, keys, values)) return std::nullopt;
    CacheWrites writes;
    std::vector<int> inputs = {q, keys.tokens, values.tokens, attention_mask};
    if (keys.mask >= 0) {
      inputs.push_back(keys.mask);
    } else if (keys.at_position) {
      writes.kind = CacheWrites::Kind::kAtPosition;
      for (std::size_t i = 0; i < 2; ++i) {
        const auto& at = *(i == 0 ? keys : values).at_position;
        writes.elements[i] = {at.begin.element, at.end.element};
        inputs.insert(inputs.end(), {at.begin.reg, at.end.reg});
      }
    } else {
      writes.kind = CacheWrites::Kind::kAppend;
    }
    Fusion fusion{std::make_shared<CachedAttentionOp>(factor, std::move(sinks_), writes),
                  &root_,
                  std::move(inputs),
                  {},
                  std::move(inner_)};
    for (CacheUpdate* update : {&keys, &values}) {
      fusion.inner.insert(fusion.inner.end(), update->inner.begin(), update->inner.end());
      if (update->cache)
        fusion.caches.push_back(*std::move(update->cache));
      else
        fusion.states.push_back(
            {update->state, update->at_position ? update->at_position->row : -1});
    }
    return fusion;
  }

  static bool is_same(const CacheUpdate& a, const CacheUpdate& b) {
    return a.cache ? a.cache->input == b.cache->input || a.cache->output == b.cache->output
                   : a.state == b.state && (!a.at_position || !b.at_position ||
                                            a.at_position->row == b.at_position->row);
  }

  // q [1, H, T, D], tokens [1, KV, T, D], write mask [1, 1, S, T], attention mask [1, 1, T, S],
  // caches [1, KV, S or more, D], all fp16 and static. Where tokens are appended, S counts them.
  bool fits(int q, int attention_mask, const CacheUpdate& keys, const CacheUpdate& values) const {
    if (q < 0 || attention_mask < 0) return false;
    // What masks say is found out once per run: they must be the same memory all the while.
    if (graph_.producer(attention_mask) != nullptr) return false;
    if (keys.mask >= 0 && graph_.producer(keys.mask) != nullptr) return false;
    std::vector<int> operands = {q, keys.tokens, values.tokens, attention_mask};
    if (keys.mask >= 0) operands.push_back(keys.mask);
    for (const int reg : operands) {
      const ir::Type& type = graph_.type(reg);
      if (!type.is_tensor() || type.dtype != DType::kFp16 || type.shape.size() != 4 ||
          !is_static(type.shape) || type.shape[0] != 1)
        return false;
    }
    const Shape& query = graph_.type(q).shape;
    const Shape& token = graph_.type(keys.tokens).shape;
    const Shape& mask = graph_.type(attention_mask).shape;
    const std::int64_t positions = mask[3];
    if (keys.mask >= 0 && graph_.type(keys.mask).shape != Shape({1, 1, positions, query[2]}))
      return false;
    // The program may leave it open what it writes, and read what it broadcasts.
    for (const CacheUpdate* update : {&keys, &values}) {
      const Shape& whole = update->shape;
      if (update->dtype != DType::kFp16 || whole.size() != 4 || whole[2] < positions ||
          whole != Shape({1, token[1], whole[2], token[3]}))
        return false;
      if (keys.is_appended() && whole[2] != positions) return false;
      if (update->at_position && update->at_position->read_positions != positions) return false;
    }
    if (!sinks_.empty() && static_cast<std::int64_t>(sinks_.size()) != query[1]) return false;
    return graph_.type(root_.outputs[0]).shape == query &&
           graph_.type(values.tokens).shape == token && query[1] % token[1] == 0 &&
           query[2] == token[2] && query[3] == token[3] &&
           mask == Shape({1, 1, query[2], positions});
  }

  const FusionGraph& graph_;
  PreparedOp& root_;
  std::vector<PreparedOp*> inner_;
  std::vector<float> sinks_;  // of each query head, where there are some
};

std::optional<Fusion> match_any(const FusionGraph& graph, PreparedOp& root) {
  const std::string& type = root.op->type;
  if (type != "reshape" && type != "matmul" && type != "add") return std::nullopt;
  if (root.kind != PreparedOp::Kind::kKernel || !root.is_statically_checked) return std::nullopt;
  return AttentionMatch(graph, root).match();
}

// Whether the operation is part of an attention that can be fused: its root is a few steps away.
bool is_in_attention(const FusionGraph& graph, PreparedOp& op, PreparedOp& part, int steps) {
  if (const auto fusion = match_any(graph, op); fusion && graph.is_closed(*fusion))
    return &op == &part || std::ranges::find(fusion->inner, &part) != fusion->inner.end();
  if (steps == 0) return false;
  return std::ranges::any_of(op.outputs, [&](int reg) {
    return std::ranges::any_of(graph.users(reg), [&](PreparedOp* user) {
      return is_in_attention(graph, *user, part, steps - 1);
    });
  });
}

// Whether each user of the rows before the step is in the fusion or in another one. Layers may
// attend to the cache of another one: each stores the rows of the step, which are the same, before
// it reads. An operation that is not fused would find them among the rows before the step.
bool all_users_fuse(const FusionGraph& graph, const Fusion& fusion) {
  constexpr int kSteps = 10;  // from the product with the keys to the last reshape
  return std::ranges::all_of(fusion.caches, [&](const PreparedCache& cache) {
    if (cache.kind != CacheBinding::Kind::kAppend) return true;
    const int past = graph.function().inputs[cache.input].reg;
    int fused = 0;
    for (PreparedOp* user : graph.users(past))
      if (user->kind == PreparedOp::Kind::kKernel &&
          (std::ranges::find(fusion.inner, user) != fusion.inner.end() ||
           is_in_attention(graph, *user, *user, kSteps)))
        ++fused;
    return fused == graph.use_count(past);
  });
}

}  // namespace

std::optional<Fusion> match_cached_attention(const FusionGraph& graph, PreparedOp& root) {
  auto fusion = match_any(graph, root);
  if (fusion && !all_users_fuse(graph, *fusion)) return std::nullopt;
  return fusion;
}

}  // namespace anemone::exec
