// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

namespace {

struct Heads {  // [1, heads, T, head_dim]
  Value* q = nullptr;
  Value* k = nullptr;  // of a layer with keys of its own
  Value* v = nullptr;
  Value* gate = nullptr;  // [1, heads * head_dim, T, 1], where there is one
};

// Rows taken from one tensor of [rows, hidden_size], and from its bias.
class Rows {
 public:
  Rows(const DecoderConfig& config, std::string tensor, std::int64_t all)
      : config_(config), tensor_(std::move(tensor)), all_(all) {}
  // Every so many rows from `begin` on.
  void add(std::int64_t begin, std::int64_t rows, std::int64_t step = 1) {
    weights.push_back({.tensor = tensor_ + ".weight",
                       .row_begin = begin,
                       .rows = rows,
                       .row_step = step,
                       .shape = {all_, config_.hidden_size}});
    biases.push_back(
        {.tensor = tensor_ + ".bias", .size = rows, .shape = {all_}, .begin = begin, .step = step});
  }

  std::vector<Projection::Part> weights;
  std::vector<WeightProvider::Vector> biases;

 private:
  const DecoderConfig& config_;
  const std::string tensor_;
  const std::int64_t all_;
};

// The rows of queries, or, from row head_dim of each head on, of their gates: both of one head lie
// together.
Rows gated_rows(const DecoderConfig& config, const std::string& tensor, std::int64_t head_dim,
                std::int64_t first) {
  Rows rows(config, tensor, 2 * config.num_heads * head_dim);
  for (std::int64_t head = 0; head < config.num_heads; ++head)
    rows.add(2 * head * head_dim + first, head_dim);
  return rows;
}

// Rows of pairs that lie side by side, as rows of pairs that lie half a head apart.
Rows paired_rows(const DecoderConfig& config, const std::string& tensor, std::int64_t heads,
                 std::int64_t head_dim) {
  Rows rows(config, tensor, heads * head_dim);
  for (std::int64_t head = 0; head < heads; ++head)
    for (const std::int64_t of_pair : {0, 1}) rows.add(head * head_dim + of_pair, head_dim / 2, 2);
  return rows;
}

// Queries, their gates, keys and values, as far as the layer has them.
std::vector<ProjectionOutput> outputs_of(const DecoderConfig& config, const LayerConfig& kind,
                                         const std::string& prefix) {
  const std::int64_t kv_heads = config.kv_heads_of(kind);
  const std::int64_t head_dim = config.head_dim_of(kind);
  const bool has_keys = kind.kv_layer < 0;
  std::vector<ProjectionOutput> outputs = {{.name = "q", .width = config.num_heads * head_dim}};
  if (has_keys) outputs.push_back({.name = "k", .width = kv_heads * head_dim});
  if (has_keys && !kind.values_are_keys)
    outputs.push_back({.name = "v", .width = kv_heads * head_dim});
  std::vector<std::int64_t> widths;
  for (const ProjectionOutput& output : outputs) widths.push_back(output.width);
  std::vector<std::string> tensors = config.tensors.qkv;
  if (tensors.size() > 1) tensors.resize(widths.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].weights = {
        rows_of_stacked(prefix, tensors, widths, config.hidden_size, i, 0, outputs[i].width)};
    if (config.qkv_bias)
      outputs[i].biases = {{.tensor = prefix + tensors[i] + ".bias", .size = outputs[i].width}};
  }
  const auto replace = [&](ProjectionOutput& output, const Rows& rows) {
    output.weights = rows.weights;
    if (config.qkv_bias) output.biases = rows.biases;
  };
  if (config.rope_is_interleaved) {
    if (has_keys) replace(outputs[1], paired_rows(config, prefix + tensors[1], kv_heads, head_dim));
    replace(outputs[0], paired_rows(config, prefix + tensors[0], config.num_heads, head_dim));
  }
  if (config.has_output_gate) {
    const std::string tensor = prefix + tensors[0];
    replace(outputs[0], gated_rows(config, tensor, head_dim, 0));
    ProjectionOutput gate = {.name = "gate", .width = outputs[0].width};
    replace(gate, gated_rows(config, tensor, head_dim, head_dim));
    outputs.insert(outputs.begin() + 1, std::move(gate));
  }
  return outputs;
}

// Projects, norms and rotates.
Heads project_heads(LayerGraph& graph, const LayerConfig& kind, const std::string& prefix, Value* x,
                    const std::string& name) {
  const DecoderConfig& config = graph.config();
  const std::int64_t kv_heads = config.kv_heads_of(kind);
  const bool has_keys = kind.kv_layer < 0;
  const bool has_values = has_keys && !kind.values_are_keys;
  std::vector<Value*> parts = project_outputs(graph, x, outputs_of(config, kind, prefix), name);
  Heads heads;
  heads.q = parts[0];
  if (config.has_output_gate) {
    heads.gate = parts[1];
    parts.erase(parts.begin() + 1);
  }
  if (has_keys) heads.k = parts[1];
  const auto norm = [&](QkNorm when, std::int32_t axis) {
    if (config.qk_norm != when) return;
    heads.q = rms_norm(graph, heads.q, axis, prefix + config.tensors.q_norm + ".weight",
                       name + "_q_norm");
    if (has_keys)
      heads.k = rms_norm(graph, heads.k, axis, prefix + config.tensors.k_norm + ".weight",
                         name + "_k_norm");
  };
  norm(QkNorm::kWhole, 1);
  heads.q = graph.to_heads(heads.q, config.num_heads, name + "_q");
  if (has_keys) {
    heads.k = graph.to_heads(heads.k, kv_heads, name + "_k");
    heads.v = has_values ? graph.to_heads(parts[2], kv_heads, name + "_v") : heads.k;
    if (config.has_value_norm) heads.v = rms_norm(graph, heads.v, -1, {}, name + "_v_norm");
  }
  norm(QkNorm::kBeforeRope, -1);
  if (kind.has_rope) {
    heads.q = apply_rope(graph, config.ropes[kind.rope], heads.q, name + "_q_rope");
    if (has_keys) heads.k = apply_rope(graph, config.ropes[kind.rope], heads.k, name + "_k_rope");
  }
  norm(QkNorm::kAfterRope, -1);
  return heads;
}

// softmax over the last axis of scores [1, heads, T, S].
Value* softmax(LayerGraph& graph, Value* scores, const std::string& name) {
  return graph.builder().op("softmax", {{"x", scores}, {"axis", Literal::int32(-1)}}, name);
}

// A softmax with one more score in each row, whose weight is dropped: sinks [1, heads, 1, 1]. It is
// written out in operations, because the extra score has no room among the S scores.
Value* softmax_with_sinks(LayerGraph& graph, Value* scores, Value* sinks, const std::string& name) {
  ir::Builder& b = graph.builder();
  const auto reduce = [&](std::string_view op, Value* x, const std::string& suffix) {
    return b.op(op,
                {{"x", x}, {"axes", Literal::int32s({-1})}, {"keep_dims", Literal::boolean(true)}},
                name + suffix);
  };
  Value* top = b.op("maximum", {{"x", reduce("reduce_max", scores, "_highest")}, {"y", sinks}},
                    name + "_top");
  const auto exp_below_top = [&](Value* x, const std::string& suffix) {
    return b.op("exp", {{"x", b.op("sub", {{"x", x}, {"y", top}}, name + suffix)}},
                name + suffix + "_exp");
  };
  Value* weights = exp_below_top(scores, "_below");
  Value* sink = exp_below_top(sinks, "_sink");
  Value* sum = reduce("reduce_sum", weights, "_sum");
  Value* total = graph.add(sum, sink, name + "_total");
  Value* inverse = b.op("inverse", {{"x", total}, {"epsilon", graph.number(0)}}, name + "_inverse");
  return graph.mul(weights, inverse, name);
}

}  // namespace

namespace {

// rows @ keys^T, the scores of the step's tokens after those of the past ones.
Value* score(LayerGraph& graph, Value* rows, const CachedRows& keys, const std::string& name) {
  const auto product = [&](Value* with, const std::string& suffix) {
    return graph.builder().op("matmul",
                              {{"x", rows},
                               {"y", with},
                               {"transpose_x", Literal::boolean(false)},
                               {"transpose_y", Literal::boolean(true)}},
                              name + suffix);
  };
  if (keys.step == nullptr) return product(keys.past, "_scores");
  return graph.join({product(keys.past, "_past_scores"), product(keys.step, "_step_scores")}, -1,
                    name + "_scores");
}

// weights @ values, where weights [1, kv_heads, rows, positions] has the columns of the step's
// tokens after those of the past ones.
Value* mix(LayerGraph& graph, Value* weights, const CachedRows& values, const std::string& name) {
  ir::Builder& b = graph.builder();
  if (values.step == nullptr)
    return b.op("matmul", {{"x", weights}, {"y", values.past}}, name + "_mixed");
  // Where the length of the past is open, the border is counted from the end.
  const std::int64_t past = values.past->type.shape[2];
  const auto border =
      static_cast<std::int32_t>(past == kDynamic ? -values.step->type.shape[2] : past);
  const auto part = [&](bool is_step, const std::string& suffix) {
    Value* columns = b.op("slice_by_index",
                          {{"x", weights},
                           {"begin", Literal::int32s({0, 0, 0, is_step ? border : 0})},
                           {"end", Literal::int32s({0, 0, 0, border})},
                           {"end_mask", Literal::bools({true, true, true, is_step})}},
                          name + suffix);
    // As coremltools infers it: the last element of an open axis is one, while the last few have an
    // open size.
    if (columns != nullptr && is_step && border == -1) columns->type.shape[3] = 1;
    return columns;
  };
  Value* of_past = b.op("matmul", {{"x", part(false, "_past_weights")}, {"y", values.past}},
                        name + "_past_mixed");
  Value* of_step = b.op("matmul", {{"x", part(true, "_step_weights")}, {"y", values.step}},
                        name + "_step_mixed");
  return graph.add(of_past, of_step, name + "_mixed");
}

}  // namespace

Value* attend(LayerGraph& graph, const LayerConfig& kind, Value* q, const CachedRows& keys,
              const CachedRows& values, Value* sinks, const std::string& name) {
  if (q == nullptr || keys.past == nullptr || values.past == nullptr) return nullptr;
  const DecoderConfig& config = graph.config();
  const std::int64_t tokens = graph.options().tokens;
  const std::int64_t heads = q->type.shape[1];
  const std::int64_t head_dim = q->type.shape[3];
  const std::int64_t kv_heads = keys.past->type.shape[1];
  const std::int64_t group = heads / kv_heads;
  // Scaling the queries instead of the scores keeps the products small in fp16.
  const double scale = config.attention_scale != 0 ? config.attention_scale
                                                   : 1.0 / std::sqrt(static_cast<double>(head_dim));
  if (scale != 1) q = graph.scale(q, scale, name + "_q_scaled");
  // One matrix product per key/value head: its group of query heads are rows of the same operand.
  Value* grouped =
      graph.reshape(q, {1, kv_heads, graph.rows_of(group), head_dim}, name + "_q_grouped");
  Value* scores = score(graph, grouped, keys, name);
  if (scores == nullptr) return nullptr;
  const std::int64_t positions = scores->type.shape[3];
  scores = graph.reshape(scores, {1, heads, tokens, positions}, name + "_scores_by_head");
  scores = graph.add(scores, graph.attention_mask(kind.window), name + "_masked");
  Value* weights = sinks == nullptr ? softmax(graph, scores, name + "_softmax")
                                    : softmax_with_sinks(graph, scores, sinks, name + "_softmax");
  weights = graph.reshape(weights, {1, kv_heads, graph.rows_of(group), positions},
                          name + "_weights_grouped");
  Value* mixed = mix(graph, weights, values, name);
  mixed = graph.reshape(mixed, {1, heads, tokens, head_dim}, name + "_mixed_by_head");
  return graph.from_heads(mixed, name + "_mixed");
}

Value* attention(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x) {
  const DecoderConfig& config = graph.config();
  const LayerConfig& kind = config.layer(layer);
  const std::string name = fmt::format("layer_{}_attention", layer);
  ir::Builder& b = graph.builder();
  const Heads heads = project_heads(graph, kind, prefix, x, name);
  const std::int64_t owner = kind.kv_layer < 0 ? layer : kind.kv_layer;
  const auto cached = [&](std::string_view kind_of_cache, Value* tokens) {
    const std::string cache = fmt::format("{}_cache_{}", kind_of_cache, owner);
    const std::string carried = carried_tokens(kind_of_cache, owner);
    if (tokens == nullptr)
      return graph.cache_of_other_layer(cache, carried, config.kv_heads_of(kind), kind.window);
    if (graph.leaves(carried)) graph.shared(carried) = graph.from_heads(tokens, carried);
    return graph.update_cache(cache, tokens, kind.window);
  };
  const CachedRows keys = cached("k", heads.k);
  const CachedRows values = cached("v", heads.v);
  Value* sinks = nullptr;
  if (!config.tensors.sinks.empty())
    sinks = graph.weights().vector(b, {{prefix + config.tensors.sinks, config.num_heads}},
                                   {1, config.num_heads, 1, 1}, name + "_sinks");
  Value* mixed = attend(graph, kind, heads.q, keys, values, sinks, name);
  if (heads.gate != nullptr)
    mixed = graph.mul(mixed, b.op("sigmoid", {{"x", heads.gate}}, name + "_gate"), name + "_gated");

  return attention_output(graph, layer, prefix, mixed);
}

Value* attention_output(LayerGraph& graph, std::int64_t layer, const std::string& prefix,
                        Value* mixed) {
  const DecoderConfig& config = graph.config();
  const std::string tensor = prefix + config.tensors.attention_output;
  const std::string name = fmt::format("layer_{}_attention_output", layer);
  Value* bias = nullptr;
  if (config.output_bias)
    bias = graph.weights().vector(graph.builder(), {{tensor + ".bias", config.hidden_size}},
                                  {config.hidden_size}, name + "_bias");
  return graph.project(mixed,
                       {.name = name,
                        .role = WeightRole::kAttentionOutput,
                        .parts = {{tensor + ".weight", 0, config.hidden_size}},
                        .inputs = config.num_heads * config.head_dim_of(config.layer(layer))},
                       bias);
}

std::string carried_tokens(std::string_view cache, std::int64_t layer) {
  return fmt::format("{}_tokens_{}", cache, layer);
}

}  // namespace anemone::models
