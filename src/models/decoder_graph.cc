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
  LayerGraph graph(builder, config, weights, options, layer_begin, layer_end);
  ir::Value* hidden = graph.hidden_input();
  if (layer_begin == 0 && config.embedding_scale != 1)
    hidden = graph.scale(hidden, config.embedding_scale, "embedding_scaled");
  for (std::int64_t layer = layer_begin; layer < layer_end; ++layer)
    hidden = architecture.build_layer(graph, layer, hidden);
  hidden = graph.leave(hidden);
  ShardInterface interface;
  if (hidden != nullptr) interface.carried = hidden->type.shape[1] - config.hidden_size;
  interface.output = "hidden_out";
  builder.rename(hidden, interface.output);
  std::vector<ir::Value*> outputs = {hidden};
  outputs.insert(outputs.end(), graph.cache_outputs().begin(), graph.cache_outputs().end());
  ANEMONE_RETURN_IF_ERROR(builder.finish(std::move(outputs)));
  interface.ports = graph.ports();
  interface.caches = graph.caches();
  return interface;
}

Result<artifact::Head> build_head(ir::Program& program, const std::string& function,
                                  const DecoderConfig& config, const Projection& projection,
                                  bool is_greedy, WeightProvider& weights,
                                  const GraphOptions& options) {
  ir::Builder builder(program, ops::op_registry(), function, ir::Opset::kIOS18);
  LayerGraph graph(builder, config, weights, options);
  ir::Value* normed =
      rms_norm(graph, graph.hidden_input(), 1, config.tensors.final_norm + ".weight", "final_norm");
  if (config.logit_scale != 1) normed = graph.scale(normed, config.logit_scale, "final_scaled");
  ir::Value* bias = nullptr;
  if (config.head_bias) {
    const Projection::Part& rows = projection.parts.front();
    bias = weights.vector(builder,
                          {{.tensor = config.tensors.head + ".bias",
                            .size = rows.rows,
                            .shape = {config.num_logits()},
                            .begin = rows.row_begin}},
                          {rows.rows}, "head_bias");
  }
  ir::Value* logits = graph.project(normed, projection, bias);
  if (config.logit_softcap != 0) {
    logits = graph.scale(logits, 1 / config.logit_softcap, "logits_shrunk");
    logits = builder.op("tanh", {{"x", logits}}, "logits_tanh");
    logits = graph.scale(logits, config.logit_softcap, "logits_capped");
  }
  artifact::Head head;
  head.vocab_begin = projection.parts.front().row_begin;
  head.vocab_end = head.vocab_begin + projection.parts.front().rows;
  head.input = graph.ports().front().name;
  head.output = "logits";
  std::vector<ir::Value*> outputs = {logits};
  if (is_greedy) {
    head.output = "highest_logit";
    head.argmax = "token";
    outputs = {builder.op("reduce_max",
                          {{"x", logits},
                           {"axes", ir::Literal::int32s({1})},
                           {"keep_dims", ir::Literal::boolean(true)}},
                          "highest"),
               builder.op("reduce_argmax",
                          {{"x", logits},
                           {"axis", ir::Literal::int32(1)},
                           {"keep_dims", ir::Literal::boolean(true)}},
                          "highest_row")};
    builder.rename(outputs[1], head.argmax);
  }
  builder.rename(outputs[0], head.output);
  ANEMONE_RETURN_IF_ERROR(builder.finish(std::move(outputs)));
  return head;
}

}  // namespace anemone::models
