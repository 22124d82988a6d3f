// SPDX-License-Identifier: Apache-2.0
#include "models/decoder_graph.h"

#include "models/blocks/blocks.h"
#include "ops/registry.h"

namespace anemone::models {

Result<ShardInterface> build_layers(ir::Program& program, const std::string& function,
                                    const Architecture& architecture, const DecoderConfig& config,
                                    std::int64_t layer_begin, std::int64_t layer_end,
                                    WeightProvider& weights, const GraphOptions& options) {
  ir::Builder builder(program, ops::op_registry(), function, ir::Opset::kIOS18);
  LayerGraph graph(builder, config, weights, options);
  ir::Value* hidden = graph.hidden_input();
  for (std::int64_t layer = layer_begin; layer < layer_end; ++layer)
    hidden = architecture.build_layer(graph, layer, hidden);
  ShardInterface interface;
  interface.output = "hidden_out";
  builder.rename(hidden, interface.output);
  std::vector<ir::Value*> outputs = {hidden};
  outputs.insert(outputs.end(), graph.cache_outputs().begin(), graph.cache_outputs().end());
  ANEMONE_RETURN_IF_ERROR(builder.finish(std::move(outputs)));
  interface.ports = graph.ports();
  interface.caches = graph.caches();
  return interface;
}

Status build_head(ir::Program& program, const std::string& function, const DecoderConfig& config,
                  const std::string& head_tensor, std::int64_t vocab_begin, std::int64_t vocab_end,
                  WeightProvider& weights, const GraphOptions& options) {
  ir::Builder builder(program, ops::op_registry(), function, ir::Opset::kIOS18);
  LayerGraph graph(builder, config, weights, options);
  ir::Value* normed = rms_norm(graph, graph.hidden_input(), 1, "model.norm.weight", "final_norm");
  ir::Value* logits = graph.project(normed,
                                    {.name = "head",
                                     .role = WeightRole::kHead,
                                     .parts = {{head_tensor, vocab_begin, vocab_end - vocab_begin}},
                                     .inputs = config.hidden_size},
                                    nullptr);
  builder.rename(logits, "logits");
  return builder.finish({logits});
}

}  // namespace anemone::models
