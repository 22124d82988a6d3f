// SPDX-License-Identifier: Apache-2.0
// Gemma4ForCausalLM: full layers have heads of another size than sliding ones, and may take their
// values from their keys; the last layers attend to the keys and values of earlier ones; each layer
// may add an embedding of its own for the token. Norms are plain, values are normed too, scores are
// not scaled.
#include <algorithm>
#include <cmath>
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
using ir::Value;

constexpr std::int64_t kMaxGemma4HeadDim = 65536;

// The last layer is a full one, whatever the list says.
Result<std::vector<bool>> read_gemma4_sliding(const HfConfig& config, std::int64_t layers) {
  ANEMONE_ASSIGN_OR_RETURN(const auto listed, read_sliding_layers(config, layers));
  std::vector<bool> slides;
  for (std::int64_t i = 0; i < layers; ++i)
    slides.push_back(listed ? (*listed)[static_cast<std::size_t>(i)] : (i + 1) % 6 != 0);
  slides.back() = false;
  return slides;
}

// Sizes of the heads of single layers: a dictionary by index in files of transformers 5.23, two
// keys for all full layers in others.
Status read_gemma4_heads(const HfConfig& config, DecoderConfig& decoder) {
  ANEMONE_ASSIGN_OR_RETURN(const bool values_are_keys, config.boolean("attention_k_eq_v", false));
  Json full = Json::object();
  const Json* by_layer = json_member(config.json(), "per_layer_config");
  if (by_layer == nullptr) {
    full["head_dim"] = config.json().value("global_head_dim", Json(512));
    if (values_are_keys && config.has("num_global_key_value_heads"))
      full["num_key_value_heads"] = config.json()["num_global_key_value_heads"];
  }
  for (std::size_t i = 0; i < decoder.layers.size(); ++i) {
    LayerConfig& layer = decoder.layers[i];
    const bool is_full = layer.window == 0;
    layer.values_are_keys = values_are_keys && is_full;
    Json own = is_full ? full : Json::object();
    if (by_layer != nullptr)
      if (const Json* given = json_member(*by_layer, std::to_string(i))) own = *given;
    if (!own.is_object())
      return parse_error("[{}] expected an object in per_layer_config for layer {}, got {}",
                         config.subject(), i, own.type_name());
    for (const auto& [key, value] : own.items())
      if (key != "head_dim" && key != "num_key_value_heads")
        return unsupported(
            "[{}] expected per_layer_config of head_dim and num_key_value_heads, got \"{}\"",
            config.subject(), key);
    own["model_type"] = config.model_type();
    ANEMONE_ASSIGN_OR_RETURN(const HfConfig sizes,
                             HfConfig::from_json(std::move(own), config.subject()));
    ANEMONE_ASSIGN_OR_RETURN(layer.head_dim, sizes.size("head_dim", decoder.head_dim));
    ANEMONE_ASSIGN_OR_RETURN(layer.num_kv_heads,
                             sizes.size("num_key_value_heads", decoder.num_kv_heads));
    if (layer.head_dim % 2 != 0 || layer.head_dim > kMaxGemma4HeadDim)
      return parse_error("[{}] expected an even head_dim up to {} for layer {}, got {}",
                         config.subject(), kMaxGemma4HeadDim, i, layer.head_dim);
    if (decoder.num_heads % layer.num_kv_heads != 0)
      return parse_error(
          "[{}] expected num_attention_heads ({}) to be a multiple of num_key_value_heads ({})",
          config.subject(), decoder.num_heads, layer.num_kv_heads);
  }
  return {};
}

// The rope of one kind of layer, whose heads all have one size.
Result<artifact::Rope> read_gemma4_rope(const HfConfig& config, const DecoderConfig& decoder,
                                        bool is_full) {
  const std::string kind = is_full ? "full_attention" : "sliding_attention";
  Json parameters = is_full ? Json{{"rope_type", "proportional"},
                                   {"partial_rotary_factor", 0.25},
                                   {"rope_theta", 1000000.0}}
                            : Json{{"rope_type", "default"}, {"rope_theta", 10000.0}};
  if (const Json* all = json_member(config.json(), "rope_parameters")) {
    const Json* own = json_member(*all, kind);
    if (own == nullptr || !own->is_object() || !own->contains("rope_theta") ||
        !own->contains("rope_type"))
      return parse_error("[{}] expected rope_parameters with rope_type and rope_theta for {}",
                         config.subject(), kind);
    parameters = *own;
  }
  std::int64_t head_dim = 0;
  for (const LayerConfig& layer : decoder.layers) {
    if ((layer.window == 0) != is_full) continue;
    if (head_dim != 0 && head_dim != layer.head_dim)
      return unsupported("[{}] expected one head_dim for all layers of {}, got {} and {}",
                         config.subject(), kind, head_dim, layer.head_dim);
    head_dim = layer.head_dim;
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto settings, rope_of_kind(config, std::move(parameters), 10000));
  return rope_frequencies(settings, head_dim, decoder.max_position);
}

// Layers that attend to the keys and values of the last layer of their kind that has some.
Status share_gemma4_keys(const HfConfig& config, DecoderConfig& decoder) {
  ANEMONE_RETURN_IF_ERROR(config.refuse_null("num_kv_shared_layers"));
  ANEMONE_ASSIGN_OR_RETURN(const auto count, config.optional_integer("num_kv_shared_layers"));
  ANEMONE_ASSIGN_OR_RETURN(const bool is_wide, config.boolean("use_double_wide_mlp", false));
  const std::int64_t layers = decoder.num_layers();
  const std::int64_t shared = count.value_or(0);
  if (shared < 0 || shared >= layers)
    return parse_error("[{}] expected num_kv_shared_layers from 0 to {}, got {}", config.subject(),
                       layers - 1, shared);
  for (std::int64_t i = layers - shared; i < layers; ++i) {
    LayerConfig& layer = decoder.layers[static_cast<std::size_t>(i)];
    if (is_wide) layer.intermediate_size = 2 * decoder.intermediate_size;
    std::int64_t owner = layers - shared - 1;
    while (owner >= 0 && (decoder.layer(owner).window == 0) != (layer.window == 0)) --owner;
    if (owner < 0)
      return parse_error("[{}] expected a layer with keys of its own for layer {}, got none",
                         config.subject(), i);
    const LayerConfig& source = decoder.layer(owner);
    if (source.head_dim != layer.head_dim || source.num_kv_heads != layer.num_kv_heads)
      return unsupported("[{}] expected layers {} and {}, which share keys, to have the same heads",
                         config.subject(), owner, i);
    layer.kv_layer = owner;
    const auto known =
        std::ranges::find(decoder.carried, carried_tokens("k", owner), &CarriedValue::name);
    if (known != decoder.carried.end()) {
      known[0].last_use = known[1].last_use = i;
      continue;
    }
    for (const char* cache : {"k", "v"})
      decoder.carried.push_back(
          {carried_tokens(cache, owner), source.num_kv_heads * source.head_dim, owner, i});
  }
  return {};
}

// The embedding that the layers add: its table is of the same vocabulary.
Status read_gemma4_layer_embedding(const HfConfig& config, DecoderConfig& decoder) {
  ANEMONE_RETURN_IF_ERROR(config.refuse_null("hidden_size_per_layer_input"));
  ANEMONE_ASSIGN_OR_RETURN(const auto given,
                           config.optional_integer("hidden_size_per_layer_input"));
  const std::int64_t size = given.value_or(256);
  if (size == 0) return {};
  if (size < 1 || size > kMaxGemma4HeadDim)
    return parse_error("[{}] expected hidden_size_per_layer_input from 0 to {}, got {}",
                       config.subject(), kMaxGemma4HeadDim, size);
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t rows,
                           config.size("vocab_size_per_layer_input", 262144));
  if (rows != decoder.vocab_size)
    return unsupported("[{}] expected vocab_size_per_layer_input {} as vocab_size, got {}",
                       config.subject(), decoder.vocab_size, rows);
  decoder.layer_embedding_size = size;
  return {};
}

// Reads the experts, which every layer has beside its MLP.
Status read_gemma4_experts(const HfConfig& config, DecoderConfig& decoder) {
  ANEMONE_ASSIGN_OR_RETURN(const bool has_experts, config.boolean("enable_moe_block", false));
  if (!has_experts) return {};
  for (const char* key : {"num_experts", "top_k_experts", "moe_intermediate_size"})
    if (!config.has(key))
      return parse_error("[{}] expected {}, which enable_moe_block needs, got none",
                         config.subject(), key);
  ANEMONE_ASSIGN_OR_RETURN(
      decoder.experts,
      read_experts(config, {.active_key = "top_k_experts", .count = 1, .active = 1, .width = 1}));
  decoder.experts.is_normalized = true;
  decoder.experts.is_stacked = true;
  decoder.experts.shared_width = decoder.intermediate_size;
  for (LayerConfig& layer : decoder.layers) layer.has_experts = true;
  return {};
}

Result<DecoderConfig> read_gemma4_config(const HfConfig& config) {
  // For keys that config.json leaves out: the defaults of the class in transformers.
  ANEMONE_ASSIGN_OR_RETURN(DecoderConfig decoder,
                           read_common_config(config, {.vocab_size = 262144,
                                                       .hidden_size = 2304,
                                                       .intermediate_size = 9216,
                                                       .num_layers = 30,
                                                       .num_heads = 8,
                                                       .num_kv_heads = 4,
                                                       .head_dim = 256,
                                                       .null_kv_heads = false,
                                                       .max_position = 131072,
                                                       .activation_key = "hidden_activation",
                                                       .activation = "gelu_pytorch_tanh",
                                                       .has_one_rope = false,
                                                       .tie_word_embeddings = true,
                                                       .bos_id = 2,
                                                       .eos_id = 1}));
  if (config.has("use_bidirectional_attention")) {
    ANEMONE_ASSIGN_OR_RETURN(const auto kind, config.text("use_bidirectional_attention", ""));
    if (kind != "vision")
      return unsupported("[{}] expected use_bidirectional_attention null or vision, got \"{}\"",
                         config.subject(), kind);
  }
  ANEMONE_RETURN_IF_ERROR(read_gemma4_experts(config, decoder));
  ANEMONE_RETURN_IF_ERROR(read_logit_softcap(config, decoder));
  decoder.embedding_scale = std::sqrt(static_cast<double>(decoder.hidden_size));
  decoder.attention_scale = 1;
  decoder.qk_norm = QkNorm::kBeforeRope;
  decoder.has_value_norm = true;
  decoder.tensors.attention_output_norm = "post_attention_layernorm";
  decoder.tensors.mlp_input_norm = "pre_feedforward_layernorm";
  decoder.tensors.mlp_output_norm = "post_feedforward_layernorm";
  ANEMONE_RETURN_IF_ERROR(read_attention_bias(config, decoder));

  ANEMONE_ASSIGN_OR_RETURN(const auto slides, read_gemma4_sliding(config, decoder.num_layers()));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t window, config.size("sliding_window", 512));
  ANEMONE_RETURN_IF_ERROR(set_windows(config, window, slides, decoder));
  ANEMONE_RETURN_IF_ERROR(read_gemma4_heads(config, decoder));
  ANEMONE_ASSIGN_OR_RETURN(auto full, read_gemma4_rope(config, decoder, true));
  decoder.ropes.push_back(std::move(full));
  if (std::ranges::count(slides, true) != 0) {
    ANEMONE_ASSIGN_OR_RETURN(auto sliding, read_gemma4_rope(config, decoder, false));
    sliding.name = "rope_sliding";
    decoder.ropes.push_back(std::move(sliding));
  }
  for (LayerConfig& layer : decoder.layers) layer.rope = layer.window == 0 ? 0 : 1;
  ANEMONE_RETURN_IF_ERROR(share_gemma4_keys(config, decoder));
  ANEMONE_RETURN_IF_ERROR(read_gemma4_layer_embedding(config, decoder));
  return decoder;
}

// What layer `layer` adds for the token, [1, size, T, 1]: with p the projected token embedding,
// (norm(p) + sqrt(size) * own embedding) / sqrt(2). A projection for each layer, so that what a
// weight becomes does not depend on the layers that share a package.
Value* layer_input(LayerGraph& graph, std::int64_t layer) {
  const DecoderConfig& config = graph.config();
  const std::int64_t size = config.layer_embedding_size;
  const std::int64_t count = graph.layers().end - graph.layers().begin;
  const auto name_of = [](std::int64_t index) { return fmt::format("layer_{}_embedding", index); };
  if (layer == graph.layers().begin) {
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(count), size);
    Value* all = graph.layer_embedding();
    const auto parts =
        count == 1 ? std::vector<Value*>{all} : graph.split(all, sizes, 1, "layer_embeddings");
    for (std::int64_t i = 0; i < count; ++i)
      graph.shared(name_of(layer + i)) = parts[static_cast<std::size_t>(i)];
  }
  const std::string name = fmt::format("layer_{}_embedding_input", layer);
  // The scales of the token embedding and of the projection cancel.
  Value* projected =
      graph.project(graph.embedding(),
                    {.name = name,
                     .role = WeightRole::kMlpGateUp,
                     .parts = {{.tensor = "model.per_layer_model_projection.weight",
                                .row_begin = layer * size,
                                .rows = size,
                                .shape = {config.num_layers() * size, config.hidden_size}}},
                     .inputs = config.hidden_size},
                    nullptr);
  Value* normed =
      rms_norm(graph, projected, 1, "model.per_layer_projection_norm.weight", name + "_norm");
  Value* own = graph.scale(graph.shared(name_of(layer)), std::sqrt(static_cast<double>(size)),
                           name + "_own");
  return graph.scale(graph.add(normed, own, name + "_sum"), std::sqrt(0.5), name);
}

// x += norm(norm(mlp(norm(x))) + norm(experts(norm(x)))), where the router has a norm of its own
// and each expert a scale.
Value* add_experts(LayerGraph& graph, std::int64_t layer, Value* hidden) {
  const DecoderConfig& config = graph.config();
  const std::int64_t count = config.experts.count;
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  const std::string name = fmt::format("layer_{}_", layer);
  const auto norm = [&](Value* x, const std::string& tensor) {
    return rms_norm(graph, x, 1, prefix + tensor, name + tensor);
  };
  Value* dense =
      gated_mlp(graph, layer, prefix + "mlp.", norm(hidden, "pre_feedforward_layernorm.weight"));
  Value* routed =
      graph.scale(norm(hidden, "router.scale"),
                  1 / std::sqrt(static_cast<double>(config.hidden_size)), name + "router_input");
  Value* logits = graph.project(routed,
                                {.name = name + "router",
                                 .role = WeightRole::kRouter,
                                 .parts = {{prefix + "router.proj.weight", 0, count}},
                                 .inputs = config.hidden_size},
                                nullptr);
  Value* scales =
      graph.weights().vector(graph.builder(), {{prefix + "router.per_expert_scale", count}},
                             {1, count, 1, 1}, name + "expert_scales");
  Value* weights =
      graph.mul(routing_weights(graph, logits, nullptr, name + "routing"), scales, name + "scaled");
  Value* sparse = mix_experts(graph, layer, prefix,
                              norm(hidden, "pre_feedforward_layernorm_2.weight"), weights);
  sparse = norm(sparse, "post_feedforward_layernorm_2.weight");
  dense = norm(dense, "post_feedforward_layernorm_1.weight");
  Value* sum = graph.add(dense, sparse, name + "mlps");
  return graph.add(hidden, norm(sum, "post_feedforward_layernorm.weight"), name + "mlp_sum");
}

Value* gemma4_layer(LayerGraph& graph, std::int64_t layer, Value* hidden) {
  const DecoderConfig& config = graph.config();
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  const std::string name = fmt::format("layer_{}", layer);
  hidden = add_attention(graph, layer, hidden);
  hidden = config.layer(layer).has_experts ? add_experts(graph, layer, hidden)
                                           : add_mlp(graph, layer, hidden);
  if (config.layer_embedding_size != 0) {
    const std::int64_t size = config.layer_embedding_size;
    Value* gate = graph.project(hidden,
                                {.name = name + "_embedding_gate",
                                 .role = WeightRole::kMlpGateUp,
                                 .parts = {{prefix + "per_layer_input_gate.weight", 0, size}},
                                 .inputs = config.hidden_size},
                                nullptr);
    Value* input = layer_input(graph, layer);
    Value* activated = activate(graph, gate, name + "_embedding_activated");
    Value* gated = graph.mul(activated, input, name + "_embedding_gated");
    Value* added =
        graph.project(gated,
                      {.name = name + "_embedding_projection",
                       .role = WeightRole::kMlpDown,
                       .parts = {{prefix + "per_layer_projection.weight", 0, config.hidden_size}},
                       .inputs = size},
                      nullptr);
    added = rms_norm(graph, added, 1, prefix + "post_per_layer_input_norm.weight",
                     name + "_embedding_norm");
    hidden = graph.add(hidden, added, name + "_embedding_sum");
  }
  Value* scalar = graph.weights().vector(graph.builder(), {{prefix + "layer_scalar", 1}},
                                         {1, 1, 1, 1}, name + "_scalar");
  return graph.mul(hidden, scalar, name + "_scaled");
}

}  // namespace

extern const Architecture kGemma4;
const Architecture kGemma4 = {"gemma4_text", read_gemma4_config, gemma4_layer};

}  // namespace anemone::models
