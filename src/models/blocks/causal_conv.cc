// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

Value* causal_conv(LayerGraph& graph, const std::string& cache, Value* x, std::int64_t taps,
                   const std::string& weight, Value* bias, const std::string& name) {
  if (x == nullptr) return nullptr;
  const std::int64_t tokens = graph.options().tokens;
  const std::int64_t width = x->type.shape[1];
  const std::int64_t kept = taps - 1;
  ir::Builder& b = graph.builder();
  // Tokens last, so that those before join them there.
  Value* columns = graph.reshape(x, {1, 1, width, tokens}, name + "_columns");
  Value* extended = graph.extend_running(cache, columns, width, kept);
  const std::int64_t extent = tokens == kDynamic ? kDynamic : kept + tokens;
  extended = graph.reshape(extended, artifact::hidden_shape(graph.options().layout, width, extent),
                           name + "_extended");
  Shape kernel = artifact::hidden_shape(graph.options().layout, 1, taps);
  kernel[0] = width;
  Value* weights = graph.weights().vector(
      b, {{.tensor = weight, .size = width * taps, .shape = {width, 1, taps}}}, kernel,
      name + "_taps");
  std::vector<ir::Builder::Input> inputs = {
      {"x", extended},
      {"weight", weights},
      {"groups", Literal::int32(static_cast<std::int32_t>(width))}};
  if (bias != nullptr) inputs.push_back({"bias", bias});
  return b.op("conv", std::move(inputs), name + "_over_time");
}

}  // namespace anemone::models
