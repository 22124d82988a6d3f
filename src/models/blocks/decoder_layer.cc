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

// norm(x), where there is a norm.
Value* input_norm(LayerGraph& graph, Value* x, const std::string& tensor, const std::string& prefix,
                  const std::string& name) {
  return tensor.empty() ? x : rms_norm(graph, x, 1, prefix + tensor + ".weight", name);
}

std::string output_norm(const std::string& tensor, const std::string& prefix) {
  return tensor.empty() ? tensor : prefix + tensor;
}

}  // namespace

Value* add_attention(LayerGraph& graph, std::int64_t layer, Value* hidden) {
  const TensorNames& tensors = graph.config().tensors;
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  const std::string name = fmt::format("layer_{}", layer);
  Value* normed =
      input_norm(graph, hidden, tensors.attention_input_norm, prefix, name + "_input_norm");
  const LayerConfig& kind = graph.config().layer(layer);
  Value* mixed = kind.is_short_conv  ? short_conv(graph, layer, prefix + "conv.", normed)
                 : kind.is_delta_net ? delta_net(graph, layer, prefix + "linear_attn.", normed)
                                     : attention(graph, layer, prefix + "self_attn.", normed);
  return add_residual(graph, hidden, mixed, output_norm(tensors.attention_output_norm, prefix),
                      name + "_attention_output_norm", name + "_attention_sum");
}

Value* add_mlp(LayerGraph& graph, std::int64_t layer, Value* hidden) {
  const TensorNames& tensors = graph.config().tensors;
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  const std::string name = fmt::format("layer_{}", layer);
  Value* normed =
      input_norm(graph, hidden, tensors.mlp_input_norm, prefix, name + "_post_attention_norm");
  Value* expanded = graph.config().layer(layer).has_experts
                        ? experts(graph, layer, prefix + tensors.mlp, normed)
                        : gated_mlp(graph, layer, prefix + tensors.mlp, normed);
  return add_residual(graph, hidden, expanded, output_norm(tensors.mlp_output_norm, prefix),
                      name + "_mlp_output_norm", name + "_mlp_sum");
}

Value* decoder_layer(LayerGraph& graph, std::int64_t layer, Value* hidden) {
  return add_mlp(graph, layer, add_attention(graph, layer, hidden));
}

}  // namespace anemone::models
