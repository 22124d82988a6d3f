// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fmt/format.h>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

namespace {

// Added to the sum of squares of a query or key before it is scaled to length 1; from transformers'
// l2norm.
constexpr double kLengthSquareEps = 1e-6;

// log(1 + exp(x)) as the form says.
Value* softplus(LayerGraph& graph, Value* x, const std::string& name) {
  ir::Builder& b = graph.builder();
  if (graph.options().form.softplus == artifact::SoftplusForm::kOperation)
    return b.op("softplus", {{"x", x}}, name);
  Value* below = graph.scale(b.op("abs", {{"x", x}}, name + "_abs"), -1, name + "_below");
  Value* over_one =
      b.op("add", {{"x", b.op("exp", {{"x", below}}, name + "_exp")}, {"y", graph.number(1)}},
           name + "_over_one");
  Value* rest = b.op("log", {{"x", over_one}, {"epsilon", graph.number(0)}}, name + "_rest");
  return graph.add(b.op("relu", {{"x", x}}, name + "_relu"), rest, name);
}

class DeltaNet {
 public:
  DeltaNet(LayerGraph& graph, std::int64_t layer, std::string prefix)
      : graph_(graph),
        config_(graph.config().delta_net),
        layer_(layer),
        prefix_(std::move(prefix)),
        name_(fmt::format("layer_{}_linear", layer)) {}

  Value* build(Value* x) {
    const DecoderConfig& decoder = graph_.config();
    const std::int64_t hidden = decoder.hidden_size;
    const std::int64_t v_width = value_width();
    const std::int64_t mixed_width = 2 * key_width() + v_width;
    Value* projected = graph_.project(x,
                                      {.name = name_ + "_in",
                                       .role = WeightRole::kAttentionQkv,
                                       .parts = input_parts(),
                                       .inputs = hidden},
                                      nullptr);
    // The gates are small and as decisive as a router, so recipes treat them as one.
    Value* gates = graph_.project(x,
                                  {.name = name_ + "_gates",
                                   .role = WeightRole::kRouter,
                                   .parts = gate_parts(),
                                   .inputs = hidden},
                                  nullptr);
    const auto in = graph_.split(projected, {mixed_width, v_width}, 1, name_ + "_parts");
    Value* mixed = causal_conv(graph_, fmt::format("conv_cache_{}", layer_), in[0], config_.taps,
                               prefix_ + "conv1d.weight", nullptr, name_ + "_conv");
    mixed = activate(graph_, mixed, name_ + "_conv_activated");
    const auto qkv =
        graph_.split(mixed, {key_width(), key_width(), v_width}, 1, name_ + "_convolved");
    Value* v = by_group(graph_.to_heads(qkv[2], config_.value_heads, name_ + "_v"), "_v");
    Value* k = unit_heads(qkv[1], "_k", 1 / std::sqrt(static_cast<double>(config_.key_dim)));
    Value* q = unit_heads(qkv[0], "_q", 1.0 / static_cast<double>(config_.key_dim));
    Value* out = recur(q, k, v, gates);
    out = graph_.reshape(out, {1, config_.value_heads, graph_.options().tokens, config_.value_dim},
                         name_ + "_read");
    out = rms_norm(graph_, out, -1, prefix_ + "norm.weight", name_ + "_norm",
                   {.eps = decoder.rms_norm_eps, .offset = 0});
    Value* gate = graph_.builder().op("silu", {{"x", in[1]}}, name_ + "_gate");
    return graph_.project(
        graph_.mul(graph_.from_heads(out, name_ + "_out"), gate, name_ + "_gated"),
        {.name = name_ + "_output",
         .role = WeightRole::kAttentionOutput,
         .parts = {{prefix_ + "out_proj.weight", 0, hidden}},
         .inputs = v_width},
        nullptr);
  }

 private:
  std::int64_t key_width() const { return config_.key_heads * config_.key_dim; }
  std::int64_t value_width() const { return config_.value_heads * config_.value_dim; }
  std::int64_t group() const { return config_.value_heads / config_.key_heads; }

  // The shape [key_heads, per_key, ...], or [per_key, key_heads, ...] if value heads are tiled.
  Shape by_heads(std::int64_t per_key, std::int64_t tokens, std::int64_t size) const {
    if (config_.is_tiled) return {per_key, config_.key_heads, tokens, size};
    return {config_.key_heads, per_key, tokens, size};
  }

  // Whether one tensor has all parts of a projection; a converted file has `own` and others
  // instead.
  bool has_one_tensor(const char* own) const {
    return config_.is_interleaved && !graph_.weights().has(prefix_ + own);
  }

  // Parts of the projection for queries, keys, values and output gates. If one tensor has all of
  // them, they are grouped by key head.
  std::vector<Projection::Part> input_parts() const {
    if (!has_one_tensor("in_proj_qkv.weight"))
      return {{prefix_ + "in_proj_qkv.weight", 0, 2 * key_width() + value_width()},
              {prefix_ + "in_proj_z.weight", 0, value_width()}};
    const std::int64_t dim = config_.key_dim;
    const std::int64_t values = group() * config_.value_dim;
    return by_key_head("in_proj_qkvz.weight", {dim, dim, values, values});
  }

  // The writing strength and the decay of each value head.
  std::vector<Projection::Part> gate_parts() const {
    if (!has_one_tensor("in_proj_b.weight"))
      return {{prefix_ + "in_proj_b.weight", 0, config_.value_heads},
              {prefix_ + "in_proj_a.weight", 0, config_.value_heads}};
    return by_key_head("in_proj_ba.weight", {group(), group()});
  }

  std::vector<Projection::Part> by_key_head(const std::string& tensor,
                                            const std::vector<std::int64_t>& sizes) const {
    std::int64_t stride = 0;
    for (const std::int64_t size : sizes) stride += size;
    std::vector<Projection::Part> parts;
    std::int64_t begin = 0;
    for (const std::int64_t size : sizes) {
      for (std::int64_t head = 0; head < config_.key_heads; ++head)
        parts.push_back({.tensor = prefix_ + tensor,
                         .row_begin = head * stride + begin,
                         .rows = size,
                         .shape = {config_.key_heads * stride, graph_.config().hidden_size}});
      begin += size;
    }
    return parts;
  }

  // Heads of length `scale` * sqrt(key_dim), [key_heads, 1, T, key_dim] by_heads().
  Value* unit_heads(Value* x, const std::string& what, double scale) {
    Value* heads = rms_norm(
        graph_, graph_.to_heads(x, config_.key_heads, name_ + what), -1, {}, name_ + what + "_unit",
        {.eps = kLengthSquareEps / static_cast<double>(config_.key_dim), .offset = 0});
    return graph_.reshape(graph_.scale(heads, scale, name_ + what + "_scaled"),
                          by_heads(1, graph_.options().tokens, config_.key_dim),
                          name_ + what + "_by_group");
  }

  // A tensor with n numbers per value head, as [key_heads, value heads per key head, T, n]
  // by_heads().
  Value* by_group(Value* x, const std::string& what) {
    if (x == nullptr) return nullptr;
    const std::int64_t tokens = graph_.options().tokens;
    const std::int64_t size = element_count(x->type.shape) / (config_.value_heads * tokens);
    return graph_.reshape(x, by_heads(group(), tokens, size), name_ + what + "_by_group");
  }

  // The state of a head maps keys to values. A token lets it decay, writes what its value has
  // beyond what the state says for its key, and reads it with its query:
  //   S = decay * S;  S += key * strength * (value - key S);  out = query S
  // One token after the other, whatever the number of tokens of the step, so that every form of a
  // prompt gives the same bits.
  Value* recur(Value* q, Value* k, Value* v, Value* gates) {
    const std::int64_t tokens = graph_.options().tokens;
    const std::int64_t heads = config_.value_heads;
    ir::Builder& b = graph_.builder();
    const auto gate_parts = graph_.split(gates, {heads, heads}, 1, name_ + "_gate_parts");
    Value* strength = by_group(b.op("sigmoid", {{"x", gate_parts[0]}}, name_ + "_sigmoid"), "_b");
    const auto vector = [&](const char* tensor) {
      return graph_.weights().vector(b, {{prefix_ + tensor, heads}}, {1, heads, 1, 1},
                                     name_ + "_" + tensor);
    };
    Value* step =
        softplus(graph_, graph_.add(gate_parts[1], vector("dt_bias"), name_ + "_a_biased"),
                 name_ + "_softplus");
    Value* rate = b.op("exp", {{"x", vector("A_log")}}, name_ + "_rate");
    Value* log_decay = by_group(
        graph_.scale(graph_.mul(step, rate, name_ + "_step"), -1, name_ + "_log_decay"), "_a");
    // A token of padding changes nothing: no decay, no writing.
    if (tokens != 1) {
      Value* real = graph_.real_tokens(config_.taps - 1);
      log_decay = graph_.mul(log_decay, real, name_ + "_real_decay");
      strength = graph_.mul(strength, real, name_ + "_real_strength");
    }
    Value* decay = b.op("exp", {{"x", log_decay}}, name_ + "_decay");

    const std::string cache = fmt::format("delta_cache_{}", layer_);
    Value* state =
        graph_.read_recurrent(cache, by_heads(group(), config_.key_dim, config_.value_dim));
    const auto each = [&](Value* x, const std::string& what) {
      if (tokens == 1) return std::vector<Value*>{x};
      return graph_.split(x, std::vector<std::int64_t>(static_cast<std::size_t>(tokens), 1), 2,
                          name_ + what + "_each");
    };
    const auto queries = each(q, "_q");
    const auto keys = each(k, "_k");
    const auto values = each(v, "_v");
    const auto strengths = each(strength, "_b");
    const auto decays = each(decay, "_a");
    std::vector<Value*> out;
    for (std::size_t t = 0; t < static_cast<std::size_t>(tokens); ++t) {
      const std::string name = fmt::format("{}_{}", name_, t);
      state = graph_.mul(state, decays[t], name + "_decayed");
      Value* said = b.op("matmul", {{"x", keys[t]}, {"y", state}}, name + "_said");
      Value* news = b.op("sub", {{"x", values[t]}, {"y", said}}, name + "_news");
      news = graph_.mul(news, strengths[t], name + "_written");
      Value* column =
          graph_.reshape(keys[t], by_heads(1, config_.key_dim, 1), name + "_key_column");
      state = graph_.add(state, graph_.mul(column, news, name + "_outer"), name + "_state");
      out.push_back(b.op("matmul", {{"x", queries[t]}, {"y", state}}, name + "_read"));
    }
    graph_.write_recurrent(cache, state);
    return tokens == 1 ? out[0] : graph_.join(out, 2, name_ + "_reads");
  }

  LayerGraph& graph_;
  const DeltaNetConfig& config_;
  const std::int64_t layer_;
  const std::string prefix_;
  const std::string name_;
};

}  // namespace

Value* delta_net(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x) {
  return DeltaNet(graph, layer, prefix).build(x);
}

}  // namespace anemone::models
