// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Value;

namespace {

// x + scale * norm(added), where there is a norm.
Value* add_residual(LayerGraph& graph, Value* x, Value* added, const std::string& norm,
                    const std::string& norm_name, const std::string& name) {
  if (!norm.empty()) added = rms_norm(graph, added, 1, norm + ".weight", norm_name);
  const double scale = graph.config().residual_scale;
  if (scale != 1) added = graph.scale(added, scale, name + "_added");
  return graph.add(x, added, name);
}

}  // namespace

Value* decoder_layer(LayerGraph& graph, std::int64_t layer, Value* hidden) {
  const TensorNames& tensors = graph.config().tensors;
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  const std::string name = fmt::format("layer_{}", layer);
  const auto norm = [&](const std::string& tensor, const std::string& suffix) {
    return tensor.empty() ? hidden
                          : rms_norm(graph, hidden, 1, prefix + tensor + ".weight", name + suffix);
  };
  const auto output_norm = [&](const std::string& tensor) {
    return tensor.empty() ? tensor : prefix + tensor;
  };
  Value* normed = norm(tensors.attention_input_norm, "_input_norm");
  const LayerConfig& kind = graph.config().layers[static_cast<std::size_t>(layer)];
  Value* mixed = kind.is_short_conv ? short_conv(graph, layer, prefix + "conv.", normed)
                                    : attention(graph, layer, prefix + "self_attn.", normed);
  hidden = add_residual(graph, hidden, mixed, output_norm(tensors.attention_output_norm),
                        name + "_attention_output_norm", name + "_attention_sum");
  normed = norm(tensors.mlp_input_norm, "_post_attention_norm");
  Value* expanded = kind.has_experts ? experts(graph, layer, prefix + tensors.mlp, normed)
                                     : gated_mlp(graph, layer, prefix + tensors.mlp, normed);
  return add_residual(graph, hidden, expanded, output_norm(tensors.mlp_output_norm),
                      name + "_mlp_output_norm", name + "_mlp_sum");
}

}  // namespace anemone::models
