// SPDX-License-Identifier: Apache-2.0
// ZayaForCausalLM: queries and keys go through two causal convolutions and are normed to one
// length, half of the values are those of the token before; experts whose router adds what the
// router of the layer before had, with one that does nothing; scales and biases on both sides of
// each residual.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "models/architecture.h"
#include "models/blocks/blocks.h"
#include "models/blocks/config_keys.h"
#include "models/blocks/rope_frequencies.h"

namespace anemone::models {
namespace {

using checkpoint::HfConfig;
using ir::Literal;
using ir::Value;

constexpr const char* kRouterStates = "router_states";
// Epsilon of the norm of a query or key. It matters only for a zero vector, whose result is
// arbitrary; transformers' class takes the smallest step of the type.
constexpr double kLengthEps = 1e-12;

Result<artifact::Rope> read_zaya_rope(const HfConfig& config, const DecoderConfig& decoder,
                                      const std::string& kind, double theta) {
  Json parameters = {
      {"rope_type", "default"}, {"rope_theta", theta}, {"partial_rotary_factor", 0.5}};
  if (const Json* all = json_member(config.json(), "rope_parameters")) {
    const Json* own = json_member(*all, kind);
    if (own == nullptr || !own->is_object() || !own->contains("rope_theta"))
      return parse_error("[{}] expected rope_parameters with a rope_theta for {}", config.subject(),
                         kind);
    parameters = *own;
  }
  ANEMONE_ASSIGN_OR_RETURN(auto settings, rope_of_kind(config, std::move(parameters), theta));
  if (settings.type != "default")
    return unsupported("[{}] expected rope_type default for {}, got \"{}\"", config.subject(), kind,
                       settings.type);
  const auto rotated = static_cast<std::int64_t>(
      static_cast<double>(decoder.head_dim) * std::exchange(settings.partial_rotary_factor, 1.0));
  if (rotated < 2 || rotated % 2 != 0)
    return parse_error(
        "[{}] expected partial_rotary_factor to leave an even number of at least 2 dimensions of "
        "{}, got {}",
        config.subject(), decoder.head_dim, rotated);
  return rope_frequencies(settings, rotated, decoder.max_position);
}

Status read_zaya_layers(const HfConfig& config, DecoderConfig& decoder) {
  ANEMONE_ASSIGN_OR_RETURN(
      const auto kinds, read_layer_kinds(config, decoder.num_layers(), "hybrid", "hybrid_sliding"));
  const std::vector<bool> slides = kinds.value_or(std::vector<bool>(decoder.layers.size(), false));
  bool is_any[2] = {};
  for (std::size_t i = 0; i < slides.size(); ++i) {
    is_any[slides[i]] = true;
    decoder.layers[i].has_experts = true;
  }
  std::optional<std::int64_t> window;
  if (config.has("sliding_window")) {
    ANEMONE_ASSIGN_OR_RETURN(window, config.size("sliding_window"));
  }
  ANEMONE_RETURN_IF_ERROR(set_windows(config, window, slides, decoder));
  if (is_any[0]) {
    ANEMONE_ASSIGN_OR_RETURN(auto rope, read_zaya_rope(config, decoder, "hybrid", 5000000));
    decoder.ropes.push_back(std::move(rope));
  }
  if (is_any[1]) {
    ANEMONE_ASSIGN_OR_RETURN(auto rope, read_zaya_rope(config, decoder, "hybrid_sliding", 10000));
    rope.name = "rope_sliding";
    decoder.ropes.push_back(std::move(rope));
  }
  for (std::size_t i = 0; i < slides.size(); ++i)
    decoder.layers[i].rope = slides[i] ? decoder.ropes.size() - 1 : 0;
  return {};
}

Result<std::int64_t> read_zaya_taps(const HfConfig& config, const char* key) {
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t taps, config.size(key, 2));
  if (taps < 2 || taps > 64)
    return unsupported("[{}] expected {} from 2 to 64, got {}", config.subject(), key, taps);
  return taps;
}

Result<DecoderConfig> read_zaya_config(const HfConfig& config) {
  // Refuses the form from before transformers had the class, with attention and experts as layers
  // of their own.
  if (config.has("num_query_groups"))
    return unsupported(
        "[{}] expected a checkpoint in the form of transformers, got the older one with "
        "num_query_groups (attention and experts in turns): take Zyphra's repository of the same "
        "name without \"-legacy\"",
        config.subject());
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 262272,
                                                       .hidden_size = 2048,
                                                       .intermediate_size = 2048,
                                                       .num_layers = 40,
                                                       .num_heads = 8,
                                                       .num_kv_heads = 2,
                                                       .head_dim = 128,
                                                       .null_kv_heads = false,
                                                       .max_position = 131072,
                                                       .rms_norm_eps = 1e-5,
                                                       .has_one_rope = false,
                                                       .tie_word_embeddings = true,
                                                       .bos_id = 2,
                                                       .eos_id = 106}));
  ANEMONE_ASSIGN_OR_RETURN(const bool has_head_bias, config.boolean("lm_head_bias", false));
  if (has_head_bias)
    return unsupported("[{}] expected lm_head_bias false, got true", config.subject());
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));
  ANEMONE_ASSIGN_OR_RETURN(decoder.conv_taps, read_zaya_taps(config, "cca_time0"));
  ANEMONE_ASSIGN_OR_RETURN(decoder.grouped_conv_taps, read_zaya_taps(config, "cca_time1"));
  ANEMONE_ASSIGN_OR_RETURN(decoder.experts,
                           read_experts(config, {.count = 16, .active = 1, .width = 2048}));
  if (decoder.experts.active != 1)
    return unsupported("[{}] expected num_experts_per_tok 1, got {}", config.subject(),
                       decoder.experts.active);
  decoder.experts.is_stacked = true;
  ANEMONE_ASSIGN_OR_RETURN(decoder.router_width, config.size("router_hidden_size", 256));
  decoder.carried = {{kRouterStates, decoder.router_width, 0, decoder.num_layers() - 1}};
  ANEMONE_RETURN_IF_ERROR(read_zaya_layers(config, decoder));
  return decoder;
}

class ZayaLayer {
 public:
  ZayaLayer(LayerGraph& graph, std::int64_t layer)
      : graph_(graph),
        config_(graph.config()),
        layer_(layer),
        prefix_(fmt::format("model.layers.{}.", layer)),
        name_(fmt::format("layer_{}", layer)) {}

  Value* build(Value* hidden) {
    if (layer_ == 0) hidden = scaled(hidden, "model.input_hidden_states", "embedding");
    Value* normed =
        rms_norm(graph_, hidden, 1, prefix_ + "input_layernorm.weight", name_ + "_input_norm");
    hidden = merge(hidden, attend_to(normed), "post_attention_residual_scale");
    normed = rms_norm(graph_, hidden, 1, prefix_ + "post_attention_layernorm.weight",
                      name_ + "_post_attention_norm");
    Value* mixed = mix_experts(graph_, layer_, prefix_ + "mlp.", normed, route(normed));
    return merge(hidden, mixed, "post_mlp_residual_scale");
  }

 private:
  // A vector along the channels, [1, C, 1, 1].
  Value* vector(const std::string& tensor, std::int64_t channels = 0) {
    if (channels == 0) channels = config_.hidden_size;
    return graph_.weights().vector(graph_.builder(), {{tensor, channels}}, {1, channels, 1, 1},
                                   tensor);
  }

  // Computes (x + bias) * scale with the two vectors of `tensor`.
  Value* scaled(Value* x, const std::string& tensor, const std::string& name) {
    Value* scale = vector(tensor + "_scale");
    Value* shifted = graph_.add(x, vector(tensor + "_bias"), name + "_shifted");
    return graph_.mul(shifted, scale, name + "_scaled");
  }

  // Computes (added + bias) * scale + (hidden + bias) * scale.
  Value* merge(Value* hidden, Value* added, const std::string& tensor) {
    hidden = scaled(hidden, prefix_ + tensor + ".residual", name_);
    added = scaled(added, prefix_ + tensor + ".hidden_states", name_);
    return graph_.add(added, hidden, name_ + "_sum");
  }

  Value* convolve(Value* x, const std::string& tensor, std::int64_t groups, std::int64_t taps) {
    const std::int64_t channels = (config_.num_heads + config_.num_kv_heads) * config_.head_dim;
    Value* bias = conv_bias(graph_, tensor + ".bias", channels, groups, tensor + ".bias");
    return conv_over_time(graph_, x, groups, taps, tensor + ".weight", bias, tensor);
  }

  Value* attend_to(Value* x) {
    const std::int64_t head_dim = config_.head_dim;
    const std::int64_t kv_heads = config_.num_kv_heads;
    const std::int64_t q_width = config_.num_heads * head_dim;
    const std::int64_t kv_width = kv_heads * head_dim;
    const std::int64_t half = kv_width / 2;
    const std::string prefix = prefix_ + "self_attn.";
    const std::string name = name_ + "_attention";
    std::vector<ProjectionOutput> outputs = {{.name = "q", .width = q_width},
                                             {.name = "k", .width = kv_width},
                                             {.name = "v_current", .width = half},
                                             {.name = "v_delayed", .width = half}};
    const std::vector<Projection::Part> weights =
        stacked(prefix + "qkv_proj.", {"q_proj", "k_proj", "v_proj_current", "v_proj_delayed"},
                {q_width, kv_width, half, half});
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].weights = {weights[i]};
    auto parts = project_outputs(graph_, x, outputs, name);
    // The bias of the delayed half comes after the delay: before the first token there is a token
    // of zeros, not nothing.
    parts[3] = delayed(parts[3], half, name + "_v_delayed");
    if (config_.qkv_bias) {
      const char* tensors[] = {"q_proj", "k_proj", "v_proj_current", "v_proj_delayed"};
      const std::int64_t widths[] = {q_width, kv_width, half, half};
      for (std::size_t i = 0; i < 4; ++i)
        parts[i] = graph_.add(
            parts[i], vector(prefix + "qkv_proj." + tensors[i] + ".bias", widths[i]), name + "_in");
    }
    const auto [q, k] = convolved(parts[0], parts[1], prefix + "qkv_proj.", name);
    Value* v = graph_.join({parts[2], parts[3]}, 1, name + "_v");

    // One length for all: the root mean square of a head is 1.
    const artifact::Rope& rope = config_.ropes[config_.layer(layer_).rope];
    Value* queries = rms_norm(graph_, graph_.to_heads(q, config_.num_heads, name + "_q"), -1, {},
                              name + "_q_norm", {.eps = kLengthEps, .offset = 0});
    Value* keys = rms_norm(graph_, graph_.to_heads(k, kv_heads, name + "_k"), -1, {},
                           name + "_k_norm", {.eps = kLengthEps, .offset = 0});
    keys =
        graph_.mul(keys, vector(prefix + "qk_norm.temp", kv_heads), name + "_k_temperature_scaled");
    queries = apply_rope(graph_, rope, queries, name + "_q_rope");
    keys = apply_rope(graph_, rope, keys, name + "_k_rope");
    Value* values = graph_.to_heads(v, kv_heads, name + "_v");
    const std::int64_t window = config_.layer(layer_).window;
    const CachedRows cached_values =
        graph_.update_cache(fmt::format("v_cache_{}", layer_), values, window);
    const CachedRows cached_keys =
        graph_.update_cache(fmt::format("k_cache_{}", layer_), keys, window);
    Value* mixed =
        attend(graph_, config_.layer(layer_), queries, cached_keys, cached_values, nullptr, name);
    return attention_output(graph_, layer_, prefix, mixed);
  }

  // x delayed by a token: that of the token before, zeros before the first.
  Value* delayed(Value* x, std::int64_t channels, const std::string& name) {
    const std::int64_t tokens = graph_.options().tokens;
    Value* columns = graph_.reshape(x, {1, 1, channels, tokens}, name + "_columns");
    Value* extended =
        graph_.extend_recurrent(fmt::format("delay_cache_{}", layer_), columns, channels, 1);
    Value* before = graph_.builder().op("slice_by_index",
                                        {{"x", extended},
                                         {"begin", Literal::int32s({0, 0, 0, 0})},
                                         {"end", Literal::int32s({0, 0, 0, -1})},
                                         {"end_mask", Literal::bools({true, true, true, false})}},
                                        name + "_before");
    return graph_.reshape(before, graph_.hidden_shape(channels), name);
  }

  // Two convolutions over q and k together; each query head adds the mean of itself and its key
  // head, each key head the mean of these over its query heads.
  std::pair<Value*, Value*> convolved(Value* q, Value* k, const std::string& prefix,
                                      const std::string& name) {
    const std::int64_t head_dim = config_.head_dim;
    const std::int64_t kv_heads = config_.num_kv_heads;
    const std::int64_t q_width = config_.num_heads * head_dim;
    const std::int64_t kv_width = kv_heads * head_dim;
    const std::int64_t group = config_.num_heads / kv_heads;
    Value* extended = after_earlier(graph_, fmt::format("conv_cache_{}", layer_),
                                    graph_.join({q, k}, 1, name + "_qk"),
                                    config_.conv_taps + config_.grouped_conv_taps - 2, name);
    Value* mixed = convolve(
        convolve(extended, prefix + "conv_qk_depthwise", q_width + kv_width, config_.conv_taps),
        prefix + "conv_qk_grouped", config_.num_heads + kv_heads, config_.grouped_conv_taps);
    const auto out = graph_.split(mixed, {q_width, kv_width}, 1, name + "_convolved");

    // A head and its tokens are one row, so that key heads broadcast over their groups.
    const std::int64_t row = graph_.rows_of(head_dim);
    Value* by_group = graph_.reshape(q, {1, kv_heads, group, row}, name + "_q_by_group");
    Value* shared = graph_.reshape(k, {1, kv_heads, 1, row}, name + "_k_shared");
    Value* mean = graph_.scale(graph_.add(by_group, shared, name + "_qk_sum"), 0.5, name + "_mean");
    Value* group_mean = graph_.builder().op(
        "reduce_mean",
        {{"x", mean}, {"axes", Literal::int32s({2})}, {"keep_dims", Literal::boolean(true)}},
        name + "_group_mean");
    const auto channels = [&](Value* x, std::int64_t width) {
      return graph_.reshape(x, graph_.hidden_shape(width), name + "_mean_channels");
    };
    return {graph_.add(out[0], channels(mean, q_width), name + "_q_mixed"),
            graph_.add(out[1], channels(group_mean, kv_width), name + "_k_mixed")};
  }

  Value* router_projection(Value* x, const std::string& tensor, std::int64_t rows, bool has_bias) {
    Value* bias = nullptr;
    if (has_bias)
      bias = graph_.weights().vector(graph_.builder(), {{tensor + ".bias", rows}}, {rows},
                                     tensor + ".bias");
    return graph_.project(x,
                          {.name = tensor,
                           .role = WeightRole::kRouter,
                           .parts = {{tensor + ".weight", 0, rows}},
                           .inputs = x == nullptr ? 0 : x->type.shape[1]},
                          bias);
  }

  // The weights of the experts; the one after them does nothing.
  Value* route(Value* x) {
    const std::int64_t width = config_.router_width;
    const std::int64_t count = config_.experts.count;
    const std::string prefix = prefix_ + "mlp.gate.";
    const std::string name = name_ + "_router";
    ir::Builder& b = graph_.builder();
    Value* states = router_projection(x, prefix + "down_proj", width, true);
    if (layer_ != 0)
      states = graph_.add(states,
                          graph_.mul(graph_.shared(kRouterStates),
                                     vector(prefix + "router_states_scale", width), name + "_kept"),
                          name + "_states");
    graph_.shared(kRouterStates) = states;
    Value* y = rms_norm(graph_, states, 1, prefix + "router_mlp.norm.weight", name + "_norm");
    for (const char* layer : {"fc1", "fc2"}) {
      y = router_projection(y, prefix + "router_mlp." + layer, width, true);
      y = b.op("gelu", {{"x", y}, {"mode", Literal::text("EXACT")}}, name + "_" + layer + "_gelu");
    }
    Value* logits = router_projection(y, prefix + "router_mlp.out_proj", count + 1, false);
    // transformers sets the last bias to -1, whatever the file says.
    Value* of_experts = graph_.weights().vector(
        b, {{.tensor = prefix + "balancing_biases", .size = count, .shape = {count + 1}}},
        {1, count, 1, 1}, prefix + "balancing_biases");
    Tensor skip(graph_.options().dtype, {1, 1, 1, 1});
    store_floats(std::vector<float>{-1}, skip.mutable_view());
    Value* biases =
        graph_.join({of_experts, b.constant(Literal::of(std::move(skip)), name + "_skip_bias")}, 1,
                    name + "_biases");
    Value* weights = routing_weights(graph_, logits, biases, name);
    return graph_.split(weights, {count, 1}, 1, name + "_weights")[0];
  }

  LayerGraph& graph_;
  const DecoderConfig& config_;
  const std::int64_t layer_;
  const std::string prefix_;
  const std::string name_;
};

Value* zaya_layer(LayerGraph& graph, std::int64_t layer, Value* hidden) {
  return ZayaLayer(graph, layer).build(hidden);
}

}  // namespace

extern const Architecture kZaya;
const Architecture kZaya = {"zaya", read_zaya_config, zaya_layer};

}  // namespace anemone::models
