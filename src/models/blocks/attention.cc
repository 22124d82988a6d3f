// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fmt/format.h>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

namespace {

// [1, heads * head_dim, T, 1] -> [1, heads, T, head_dim]
Value* to_heads(LayerGraph& graph, Value* x, std::int64_t heads, const std::string& name) {
  const DecoderConfig& config = graph.config();
  Value* split =
      graph.reshape(x, {1, heads, config.head_dim, graph.options().tokens}, name + "_split");
  return graph.transpose(split, {0, 1, 3, 2}, name + "_heads");
}

// softmax over the last axis of scores [1, heads, T, S].
Value* softmax(LayerGraph& graph, Value* scores, const std::string& name) {
  return graph.builder().op("softmax", {{"x", scores}, {"axis", Literal::int32(-1)}}, name);
}

// The same with one score more in each row, of which no weight is given: sinks [1, heads, 1, 1].
// Written out, because it has no room among the S scores.
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
  Value* total = graph.add(reduce("reduce_sum", weights, "_sum"), exp_below_top(sinks, "_sink"),
                           name + "_total");
  Value* inverse = b.op("inverse", {{"x", total}, {"epsilon", graph.number(0)}}, name + "_inverse");
  return graph.mul(weights, inverse, name);
}

}  // namespace

Value* attention(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x) {
  const DecoderConfig& config = graph.config();
  const LayerConfig& kind = config.layers[static_cast<std::size_t>(layer)];
  const std::int64_t tokens = graph.options().tokens;
  const std::int64_t context = graph.options().context;
  const std::int64_t q_width = config.num_heads * config.head_dim;
  const std::int64_t kv_width = config.num_kv_heads * config.head_dim;
  const std::int64_t group = config.num_heads / config.num_kv_heads;
  const std::string name = fmt::format("layer_{}_attention", layer);
  ir::Builder& b = graph.builder();

  Value* qkv_bias = nullptr;
  if (config.qkv_bias)
    qkv_bias = graph.weights().vector(b,
                                      {{prefix + "q_proj.bias", q_width},
                                       {prefix + "k_proj.bias", kv_width},
                                       {prefix + "v_proj.bias", kv_width}},
                                      {q_width + 2 * kv_width}, name + "_qkv_bias");
  Value* qkv =
      graph.project(x,
                    {.name = name + "_qkv",
                     .role = WeightRole::kAttentionQkv,
                     .parts = stacked(prefix, config.tensors.qkv, {q_width, kv_width, kv_width}),
                     .inputs = config.hidden_size},
                    qkv_bias);
  const auto parts = graph.split(qkv, {q_width, kv_width, kv_width}, 1, name + "_parts");
  Value* q = parts[0];
  Value* k = parts[1];
  const auto norm = [&](QkNorm when, std::int32_t axis) {
    if (config.qk_norm != when) return;
    q = rms_norm(graph, q, axis, prefix + config.tensors.q_norm + ".weight", name + "_q_norm");
    k = rms_norm(graph, k, axis, prefix + config.tensors.k_norm + ".weight", name + "_k_norm");
  };
  norm(QkNorm::kWhole, 1);
  q = to_heads(graph, q, config.num_heads, name + "_q");
  k = to_heads(graph, k, config.num_kv_heads, name + "_k");
  Value* v = to_heads(graph, parts[2], config.num_kv_heads, name + "_v");
  norm(QkNorm::kBeforeRope, -1);
  if (kind.has_rope) {
    q = apply_rope(graph, config.ropes[kind.rope], q, name + "_q_rope");
    k = apply_rope(graph, config.ropes[kind.rope], k, name + "_k_rope");
  }
  norm(QkNorm::kAfterRope, -1);
  // Scaling the queries instead of the scores keeps the products small in fp16.
  const double scale = config.attention_scale != 0
                           ? config.attention_scale
                           : 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  q = graph.scale(q, scale, name + "_q_scaled");

  Value* keys = graph.update_cache(fmt::format("k_cache_{}", layer), k);
  Value* values = graph.update_cache(fmt::format("v_cache_{}", layer), v);

  // One matrix product per key/value head: its group of query heads are rows of the same operand.
  Value* grouped = graph.reshape(q, {1, config.num_kv_heads, graph.rows_of(group), config.head_dim},
                                 name + "_q_grouped");
  Value* scores = b.op("matmul",
                       {{"x", grouped},
                        {"y", keys},
                        {"transpose_x", Literal::boolean(false)},
                        {"transpose_y", Literal::boolean(true)}},
                       name + "_scores");
  scores = graph.reshape(scores, {1, config.num_heads, tokens, context}, name + "_scores_by_head");
  scores = graph.add(scores, graph.attention_mask(kind.window), name + "_masked");
  Value* sinks = nullptr;
  if (!config.tensors.sinks.empty())
    sinks = graph.weights().vector(b, {{prefix + config.tensors.sinks, config.num_heads}},
                                   {1, config.num_heads, 1, 1}, name + "_sinks");
  Value* weights = sinks == nullptr ? softmax(graph, scores, name + "_softmax")
                                    : softmax_with_sinks(graph, scores, sinks, name + "_softmax");
  weights = graph.reshape(weights, {1, config.num_kv_heads, graph.rows_of(group), context},
                          name + "_weights_grouped");
  Value* mixed = b.op("matmul", {{"x", weights}, {"y", values}}, name + "_mixed");
  mixed =
      graph.reshape(mixed, {1, config.num_heads, tokens, config.head_dim}, name + "_mixed_by_head");
  // Channels are [head, dim] for each token: tokens last, then flatten.
  mixed = graph.transpose(mixed, {0, 1, 3, 2}, name + "_mixed_channels");
  mixed = graph.reshape(mixed, graph.hidden_shape(q_width), name + "_mixed_hidden");

  Value* output_bias = nullptr;
  if (config.output_bias)
    output_bias = graph.weights().vector(
        b, {{prefix + config.tensors.attention_output + ".bias", config.hidden_size}},
        {config.hidden_size}, name + "_output_bias");
  return graph.project(
      mixed,
      {.name = name + "_output",
       .role = WeightRole::kAttentionOutput,
       .parts = {{prefix + config.tensors.attention_output + ".weight", 0, config.hidden_size}},
       .inputs = q_width},
      output_bias);
}

}  // namespace anemone::models
