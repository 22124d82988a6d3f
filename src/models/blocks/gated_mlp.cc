// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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
      break;  // clamped_swiglu() computes it from gate and up together
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

Value* product(LayerGraph& graph, Value* gate, Value* up, const std::string& name) {
  if (graph.config().activation == Activation::kClampedSwiglu)
    return clamped_swiglu(graph, gate, up, name);
  return graph.mul(activate(graph, gate, name + "_activated"), up, name + "_product");
}

// Writes an MLP, or the part of it that channels [begin, end) between its products give.
class GatedMlp {
 public:
  GatedMlp(LayerGraph& graph, const std::string& prefix, std::int64_t width)
      : graph_(graph), config_(graph.config()), prefix_(prefix), width_(width) {}

  // Gate and up as one product.
  Projection gate_up(const std::string& name) const {
    return {.name = name + "_gate_up",
            .role = WeightRole::kMlpGateUp,
            .parts = stacked(prefix_, config_.tensors.gate_up, {width_, width_}),
            .inputs = config_.hidden_size};
  }
  bool is_fused(const std::string& name) const {
    return graph_.options().form.has_fused_products() && !graph_.is_slow(gate_up(name));
  }

  Value* fused(Value* x, const std::string& name) const {
    Value* gate_up =
        graph_.project(x, this->gate_up(name),
                       config_.mlp_bias ? bias({gate_bias(0, 0, width_), gate_bias(1, 0, width_)},
                                               2 * width_, name + "_gate_up_bias")
                                        : nullptr);
    Value* own = down_bias(0, name);
    return down(gate_product(graph_, gate_up, width_, name), own, 0, name);
  }

  Value* separate(Value* x, std::int64_t begin, std::int64_t end, const std::string& name) const {
    Value* gate = gate_or_up(x, 0, begin, end, name + "_gate");
    Value* up = gate_or_up(x, 1, begin, end, name + "_up");
    Value* own = down_bias(begin, name);
    return down(product(graph_, gate, up, name), own, begin, name);
  }

 private:
  // `which`: 0 for gate, 1 for up.
  Value* gate_or_up(Value* x, std::size_t which, std::int64_t begin, std::int64_t end,
                    const std::string& name) const {
    Value* own = config_.mlp_bias
                     ? bias({gate_bias(which, begin, end)}, end - begin, name + "_bias")
                     : nullptr;
    return graph_.project(
        x,
        {.name = name,
         .role = WeightRole::kMlpGateUp,
         .parts = {rows_of_stacked(prefix_, config_.tensors.gate_up, {width_, width_},
                                   config_.hidden_size, which, begin, end)},
         .inputs = config_.hidden_size},
        own);
  }

  // The first range adds it, the others have none.
  Value* down_bias(std::int64_t begin, const std::string& name) const {
    if (!config_.mlp_bias || begin != 0) return nullptr;
    return bias({{.tensor = prefix_ + config_.tensors.down + ".bias", .size = config_.hidden_size}},
                config_.hidden_size, name + "_down_bias");
  }
  Value* down(Value* x, Value* bias, std::int64_t begin, const std::string& name) const {
    const std::int64_t inputs = x == nullptr ? 0 : x->type.shape[1];
    Projection projection = {
        .name = name + "_down",
        .role = WeightRole::kMlpDown,
        .parts = {{prefix_ + config_.tensors.down + ".weight", 0, config_.hidden_size}},
        .inputs = inputs};
    if (inputs != width_) {
      projection.input_begin = begin;
      projection.all_inputs = width_;
    }
    return graph_.project(x, projection, bias);
  }

  WeightProvider::Vector gate_bias(std::size_t which, std::int64_t begin, std::int64_t end) const {
    return {.tensor = prefix_ + config_.tensors.gate_up[which] + ".bias",
            .size = end - begin,
            .shape = {width_},
            .begin = begin};
  }
  Value* bias(const std::vector<WeightProvider::Vector>& parts, std::int64_t size,
              const std::string& name) const {
    return graph_.weights().vector(graph_.builder(), parts, {size}, name);
  }

  LayerGraph& graph_;
  const DecoderConfig& config_;
  const std::string& prefix_;
  const std::int64_t width_;
};

// Width of the ranges, as few as possible of at most `most` channels: whole blocks of quantization
// where that is possible.
std::int64_t range_width(std::int64_t width, std::int64_t most) {
  constexpr std::int64_t kBlock = 256;  // the largest that checkpoints have
  const std::int64_t count = (width + most - 1) / most;
  const std::int64_t even = (width + count - 1) / count;
  const std::int64_t rounded = (even + kBlock - 1) / kBlock * kBlock;
  return rounded <= most ? rounded : even;
}

}  // namespace

Value* gate_product(LayerGraph& graph, Value* gate_up, std::int64_t width,
                    const std::string& name) {
  const auto halves = graph.split(gate_up, {width, width}, 1, name + "_halves");
  return product(graph, halves[0], halves[1], name);
}

Value* gated_mlp(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x) {
  constexpr std::int64_t kTokens = 64;
  constexpr std::int64_t kSide = 8;
  const DecoderConfig& config = graph.config();
  const std::int64_t width = config.mlp_width_of(config.layer(layer));
  if (!graph.options().form.has_square_mlps() || graph.options().tokens != kTokens)
    return gated_mlp(graph, layer, prefix, x, width);
  const std::string name = fmt::format("layer_{}_mlp", layer);
  Value* square = graph.reshape(x, {1, config.hidden_size, kSide, kSide}, name + "_square");
  Value* out = gated_mlp(graph, layer, prefix, square, width);
  return graph.reshape(out, graph.hidden_shape(config.hidden_size), name + "_line");
}

Value* gated_mlp(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x,
                 std::int64_t width) {
  const std::string name = fmt::format("layer_{}_mlp", layer);
  const GatedMlp mlp(graph, prefix, width);
  const std::int64_t most = graph.options().max_axis;
  if ((most == 0 || 2 * width <= most) && mlp.is_fused(name)) return mlp.fused(x, name);
  if (most == 0 || width <= most) return mlp.separate(x, 0, width, name);
  const std::int64_t range = range_width(width, most);
  Value* sum = nullptr;
  for (std::int64_t begin = 0; begin < width; begin += range) {
    const std::string own = fmt::format("{}_{}", name, begin / range);
    Value* part = mlp.separate(x, begin, std::min(width, begin + range), own);
    sum = sum == nullptr ? part : graph.add(sum, part, own + "_sum");
  }
  return sum;
}

}  // namespace anemone::models
