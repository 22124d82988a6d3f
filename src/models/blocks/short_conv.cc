// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

Value* short_conv(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x) {
  const DecoderConfig& config = graph.config();
  const std::int64_t width = config.hidden_size;
  const std::int64_t tokens = graph.options().tokens;
  const std::int64_t kept = config.conv_taps - 1;
  const std::string name = fmt::format("layer_{}_conv", layer);
  ir::Builder& b = graph.builder();
  const auto bias = [&](const std::string& tensor, std::int64_t size) {
    return config.conv_bias ? graph.weights().vector(b, {{prefix + tensor + ".bias", size}}, {size},
                                                     name + "_" + tensor + "_bias")
                            : nullptr;
  };

  Value* parts = graph.project(x,
                               {.name = name + "_in",
                                .role = WeightRole::kAttentionQkv,
                                .parts = {{prefix + "in_proj.weight", 0, 3 * width}},
                                .inputs = width},
                               bias("in_proj", 3 * width));
  const auto gates = graph.split(parts, {width, width, width}, 1, name + "_parts");
  Value* gated = graph.mul(gates[0], gates[2], name + "_gated");
  // Tokens last, so that those before join them there.
  Value* columns = graph.reshape(gated, {1, 1, width, tokens}, name + "_columns");
  Value* extended = graph.extend_running(fmt::format("conv_cache_{}", layer), columns, width, kept);
  const std::int64_t extent = tokens == kDynamic ? kDynamic : kept + tokens;
  extended = graph.reshape(extended, artifact::hidden_shape(graph.options().layout, width, extent),
                           name + "_extended");
  Shape kernel = artifact::hidden_shape(graph.options().layout, 1, config.conv_taps);
  kernel[0] = width;
  Value* taps = graph.weights().vector(b,
                                       {{.tensor = prefix + "conv.weight",
                                         .size = width * config.conv_taps,
                                         .shape = {width, 1, config.conv_taps}}},
                                       kernel, name + "_taps");
  std::vector<ir::Builder::Input> inputs = {
      {"x", extended},
      {"weight", taps},
      {"groups", Literal::int32(static_cast<std::int32_t>(width))}};
  if (Value* conv_bias = bias("conv", width)) inputs.push_back({"bias", conv_bias});
  Value* weighed = b.op("conv", std::move(inputs), name + "_over_time");
  return graph.project(graph.mul(gates[1], weighed, name + "_product"),
                       {.name = name + "_out",
                        .role = WeightRole::kAttentionOutput,
                        .parts = {{prefix + "out_proj.weight", 0, width}},
                        .inputs = width},
                       bias("out_proj", width));
}

}  // namespace anemone::models
