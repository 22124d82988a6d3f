// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Value;

Value* short_conv(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x) {
  const DecoderConfig& config = graph.config();
  const std::int64_t width = config.hidden_size;
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
  Value* conv = nullptr;
  if (config.conv_bias)
    conv = conv_bias(graph, prefix + "conv.bias", width, width, name + "_conv_bias");
  Value* weighed = causal_conv(graph, fmt::format("conv_cache_{}", layer), gated, config.conv_taps,
                               prefix + "conv.weight", conv, name);
  Value* output_bias = bias("out_proj", width);
  return graph.project(graph.mul(gates[1], weighed, name + "_product"),
                       {.name = name + "_out",
                        .role = WeightRole::kAttentionOutput,
                        .parts = {{prefix + "out_proj.weight", 0, width}},
                        .inputs = width},
                       output_bias);
}

}  // namespace anemone::models
