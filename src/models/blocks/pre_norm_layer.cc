// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Value;

Value* pre_norm_layer(LayerGraph& graph, std::int64_t layer, Value* hidden) {
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  const std::string name = fmt::format("layer_{}", layer);
  Value* normed =
      rms_norm(graph, hidden, 1, prefix + "input_layernorm.weight", name + "_input_norm");
  hidden = graph.add(hidden, attention(graph, layer, prefix + "self_attn.", normed),
                     name + "_attention_sum");
  normed = rms_norm(graph, hidden, 1, prefix + "post_attention_layernorm.weight",
                    name + "_post_attention_norm");
  return graph.add(hidden, gated_mlp(graph, layer, prefix + "mlp.", normed), name + "_mlp_sum");
}

}  // namespace anemone::models
