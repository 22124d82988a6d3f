// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

Value* after_earlier(LayerGraph& graph, const std::string& cache, Value* x, std::int64_t kept,
                     const std::string& name) {
  if (x == nullptr) return nullptr;
  const std::int64_t tokens = graph.options().tokens;
  const std::int64_t width = x->type.shape[1];
  // Tokens become the last axis, along which the earlier ones are joined to them.
  Value* columns = graph.reshape(x, {1, 1, width, tokens}, name + "_columns");
  Value* extended = graph.extend_recurrent(cache, columns, width, kept);
  const std::int64_t extent = tokens == kDynamic ? kDynamic : kept + tokens;
  return graph.reshape(extended, artifact::hidden_shape(graph.options().form.layout, width, extent),
                       name + "_extended");
}

Value* conv_over_time(LayerGraph& graph, Value* x, std::int64_t groups, std::int64_t taps,
                      const std::string& weight, Value* bias, const std::string& name) {
  if (x == nullptr) return nullptr;
  const std::int64_t channels = x->type.shape[1];
  const std::int64_t inputs = channels / groups;
  ir::Builder& b = graph.builder();
  Shape kernel = artifact::hidden_shape(graph.options().form.layout, inputs, taps);
  kernel[0] = channels;
  Value* weights = graph.weights().vector(
      b, {{.tensor = weight, .size = channels * inputs * taps, .shape = {channels, inputs, taps}}},
      kernel, name + "_taps");
  std::vector<ir::Builder::Input> arguments = {
      {"x", x}, {"weight", weights}, {"groups", Literal::int32(static_cast<std::int32_t>(groups))}};
  if (bias != nullptr) arguments.push_back({"bias", bias});
  return b.op("conv", std::move(arguments), name + "_over_time");
}

Value* causal_conv(LayerGraph& graph, const std::string& cache, Value* x, std::int64_t taps,
                   const std::string& weight, Value* bias, const std::string& name) {
  if (x == nullptr) return nullptr;
  return conv_over_time(graph, after_earlier(graph, cache, x, taps - 1, name), x->type.shape[1],
                        taps, weight, bias, name);
}

}  // namespace anemone::models
