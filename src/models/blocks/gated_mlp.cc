// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

Value* activate(LayerGraph& graph, Value* x, const std::string& name) {
  ir::Builder& b = graph.builder();
  switch (graph.config().activation) {
    case Activation::kSilu:
      return b.op("silu", {{"x", x}}, name);
    case Activation::kGelu:
      return b.op("gelu", {{"x", x}, {"mode", Literal::text("EXACT")}}, name);
    case Activation::kGeluTanh:
      return b.op("gelu", {{"x", x}, {"mode", Literal::text("TANH_APPROXIMATION")}}, name);
    case Activation::kRelu:
      return b.op("relu", {{"x", x}}, name);
    case Activation::kClampedSwiglu:
      break;  // not of the gate alone
  }
  return nullptr;
}

namespace {

Value* clamped_swiglu(LayerGraph& graph, Value* gate, Value* up, const std::string& name) {
  const DecoderConfig& config = graph.config();
  ir::Builder& b = graph.builder();
  const double limit = config.swiglu_limit;
  gate = b.op("minimum", {{"x", gate}, {"y", graph.number(limit)}}, name + "_gate_clamped");
  up = b.op("clip", {{"x", up}, {"alpha", graph.number(-limit)}, {"beta", graph.number(limit)}},
            name + "_up_clamped");
  Value* sigmoid =
      b.op("sigmoid", {{"x", graph.scale(gate, config.swiglu_alpha, name + "_gate_scaled")}},
           name + "_sigmoid");
  Value* activated = graph.mul(gate, sigmoid, name + "_activated");
  up = b.op("add", {{"x", up}, {"y", graph.number(1)}}, name + "_up_plus_one");
  return graph.mul(activated, up, name + "_product");
}

}  // namespace

Value* gate_product(LayerGraph& graph, Value* gate_up, std::int64_t width,
                    const std::string& name) {
  const auto halves = graph.split(gate_up, {width, width}, 1, name + "_halves");
  if (graph.config().activation == Activation::kClampedSwiglu)
    return clamped_swiglu(graph, halves[0], halves[1], name);
  return graph.mul(activate(graph, halves[0], name + "_activated"), halves[1], name + "_product");
}

Value* gated_mlp(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x) {
  const DecoderConfig& config = graph.config();
  return gated_mlp(graph, layer, prefix, x, config.mlp_width_of(config.layer(layer)));
}

Value* gated_mlp(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x,
                 std::int64_t width) {
  const DecoderConfig& config = graph.config();
  const std::string name = fmt::format("layer_{}_mlp", layer);
  Value* bias = nullptr;
  if (config.mlp_bias)
    bias = graph.weights().vector(graph.builder(),
                                  {{prefix + config.tensors.gate_up[0] + ".bias", width},
                                   {prefix + config.tensors.gate_up[1] + ".bias", width}},
                                  {2 * width}, name + "_gate_up_bias");
  Value* gate_up = graph.project(x,
                                 {.name = name + "_gate_up",
                                  .role = WeightRole::kMlpGateUp,
                                  .parts = stacked(prefix, config.tensors.gate_up, {width, width}),
                                  .inputs = config.hidden_size},
                                 bias);
  Value* down_bias = nullptr;
  if (config.mlp_bias)
    down_bias = graph.weights().vector(
        graph.builder(), {{prefix + config.tensors.down + ".bias", config.hidden_size}},
        {config.hidden_size}, name + "_down_bias");
  return graph.project(
      gate_product(graph, gate_up, width, name),
      {.name = name + "_down",
       .role = WeightRole::kMlpDown,
       .parts = {{prefix + config.tensors.down + ".weight", 0, config.hidden_size}},
       .inputs = width},
      down_bias);
}

}  // namespace anemone::models
