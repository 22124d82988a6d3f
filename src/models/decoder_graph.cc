// SPDX-License-Identifier: Apache-2.0
#include "models/decoder_graph.h"

#include <algorithm>
#include <fmt/format.h>

#include "models/blocks/blocks.h"
#include "models/function_cut.h"
#include "ops/registry.h"

namespace anemone::models {
namespace {

ir::Value* build(LayerGraph& graph, const Architecture& architecture) {
  ir::Value* hidden = graph.hidden_input();
  const DecoderConfig& config = graph.config();
  const artifact::LayerSpan& layers = graph.layers();
  if (layers.begin == 0 && config.embedding_scale != 1)
    hidden = graph.scale(hidden, config.embedding_scale, "embedding_scaled");
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
    graph.begin_layer(layer);
    hidden = architecture.build_layer(graph, layer, hidden);
  }
  graph.finish_packed_caches();
  return graph.leave(hidden);
}

std::uint64_t bytes_of(const ir::Literal& literal) {
  return literal.data() == nullptr ? 0 : literal.data()->size_bytes();
}

std::uint64_t constant_bytes(const ir::Op& op) {
  std::uint64_t bytes = 0;
  for (const auto& [name, literal] : op.attributes) bytes += bytes_of(literal);
  for (const auto& [parameter, arguments] : op.inputs)
    for (const ir::Argument& argument : arguments)
      if (const auto* literal = std::get_if<ir::Literal>(&argument)) bytes += bytes_of(*literal);
  return bytes;
}

ir::Value* final_norm(LayerGraph& graph, ir::Value* hidden) {
  return rms_norm(graph, hidden, 1, graph.config().tensors.final_norm + ".weight", "final_norm");
}

// The logits of a range of the vocabulary.
ir::Value* logits_of(LayerGraph& graph, ir::Value* normed, const Projection& projection,
                     const std::string& suffix) {
  const DecoderConfig& config = graph.config();
  const artifact::Form& form = graph.options().form;
  ir::Value* bias = nullptr;
  if (config.head_bias) {
    const Projection::Part& rows = projection.parts.front();
    bias = graph.weights().vector(graph.builder(),
                                  {{.tensor = config.tensors.head + ".bias",
                                    .size = rows.rows,
                                    .shape = {config.num_logits()},
                                    .begin = rows.row_begin}},
                                  {rows.rows}, "head_bias" + suffix);
  }
  ir::Value* logits = graph.project_whole(normed, projection, bias);  // the plan has its ranges
  if (config.logit_softcap != 0) {
    logits = graph.scale(logits, 1 / config.logit_softcap, "logits_shrunk" + suffix);
    logits = graph.builder().op("tanh", {{"x", logits}}, "logits_tanh" + suffix);
    logits = graph.scale(logits, config.logit_softcap, "logits_capped" + suffix);
  }
  if (form.logits != artifact::LogitsLayout::kLast || logits == nullptr) return logits;
  return form.layout == artifact::HiddenLayout::kTokensInHeight
             ? graph.transpose(logits, {0, 3, 2, 1}, "logits_last" + suffix)
             : graph.transpose(logits, {0, 2, 3, 1}, "logits_last" + suffix);
}

// The final norm and the heads after it. `input` names `hidden`; their outputs are added to
// `outputs`.
std::vector<artifact::Head> add_heads(LayerGraph& graph, ir::Value* hidden,
                                      const std::string& input,
                                      std::span<const Projection> projections,
                                      std::vector<ir::Value*>& outputs) {
  ir::Builder& builder = graph.builder();
  const artifact::Form& form = graph.options().form;
  ir::Value* normed = final_norm(graph, hidden);
  if (graph.config().logit_scale != 1)
    normed = graph.scale(normed, graph.config().logit_scale, "final_scaled");
  std::vector<artifact::Head> heads;
  for (const Projection& projection : projections) {
    const std::string suffix =
        projections.size() == 1 ? std::string() : fmt::format("_{}", heads.size());
    artifact::Head& head = heads.emplace_back();
    head.vocab_begin = projection.parts.front().row_begin;
    head.vocab_end = head.vocab_begin + projection.parts.front().rows;
    head.input = input;
    ir::Value* output = logits_of(graph, normed, projection, suffix);
    head.output = "logits" + suffix;
    if (form.has_argmax()) {
      head.output = "highest_logit" + suffix;
      head.argmax = "token" + suffix;
      const std::int32_t axis = form.logits == artifact::LogitsLayout::kLast ? 3 : 1;
      ir::Value* highest = builder.op("reduce_max",
                                      {{"x", output},
                                       {"axes", ir::Literal::int32s({axis})},
                                       {"keep_dims", ir::Literal::boolean(true)}},
                                      "highest" + suffix);
      ir::Value* row = builder.op("reduce_argmax",
                                  {{"x", output},
                                   {"axis", ir::Literal::int32(axis)},
                                   {"keep_dims", ir::Literal::boolean(true)}},
                                  "highest_row" + suffix);
      builder.rename(row, head.argmax);
      output = highest;
      outputs.insert(outputs.end(), {highest, row});
    } else {
      outputs.push_back(output);
    }
    builder.rename(output, head.output);
  }
  return heads;
}

}  // namespace

Result<ShardInterface> build_layers(ir::Program& program, const std::string& function,
                                    const Architecture& architecture, const DecoderConfig& config,
                                    const artifact::LayerSpan& layers, WeightProvider& weights,
                                    const GraphOptions& options,
                                    std::span<const Projection> heads) {
  ir::Builder builder(program, ops::op_registry(), function, options.opset);
  LayerGraph graph(builder, config, weights, options, layers);
  ir::Value* hidden = build(graph, architecture);
  ShardInterface interface;
  interface.ports = graph.ports();
  interface.caches = graph.caches();
  std::vector<ir::Value*> other_outputs = graph.cache_outputs();
  if (const auto& experts = graph.last_experts()) {
    interface.experts = {experts->prefix, "experts_input", "experts_weights"};
    builder.rename(experts->x, interface.experts->input);
    builder.rename(experts->weights, interface.experts->weights);
    other_outputs.insert(other_outputs.end(), {experts->x, experts->weights});
  }
  if (builder.status().ok() && (layers.part_begin != 0 || layers.part_end != 0)) {
    FunctionCut cut(graph);
    hidden = cut.apply(hidden, interface.ports, interface.caches, other_outputs);
  }
  if (hidden != nullptr) {
    const auto entering =
        std::ranges::find(interface.ports, artifact::PortRole::kHidden, &artifact::Port::role);
    const auto input =
        std::ranges::find(builder.function().inputs, entering->name, &ir::Value::name);
    interface.entered = (*input)->type.shape[1] - config.hidden_size;
    interface.carried = hidden->type.shape[1] - config.hidden_size;
  }
  interface.output = "hidden_out";
  builder.rename(hidden, interface.output);
  std::vector<ir::Value*> outputs = {hidden};
  outputs.insert(outputs.end(), other_outputs.begin(), other_outputs.end());
  if (!heads.empty()) interface.heads = add_heads(graph, hidden, interface.output, heads, outputs);
  ANEMONE_RETURN_IF_ERROR(builder.finish(std::move(outputs)));
  return interface;
}

Status build_expert(ir::Program& program, const std::string& function, const DecoderConfig& config,
                    std::int64_t layer, const std::string& prefix, std::int64_t index,
                    WeightProvider& weights, const GraphOptions& options) {
  ir::Builder builder(program, ops::op_registry(), function, options.opset);
  LayerGraph graph(builder, config, weights, options);
  ir::Value* x = builder.input(std::string(artifact::kExpertInput),
                               graph.tensor_type(graph.hidden_shape(config.hidden_size)));
  ir::Value* y = expert(graph, layer, prefix, index, x);
  builder.rename(y, std::string(artifact::kExpertOutput));
  return builder.finish({y});
}

Result<std::vector<PartSize>> part_sizes(const Architecture& architecture,
                                         const DecoderConfig& config, std::int64_t layer,
                                         WeightProvider& weights, const GraphOptions& options) {
  ir::Program program;
  ir::Builder builder(program, ops::op_registry(), "layer", options.opset);
  LayerGraph graph(builder, config, weights, options, {layer, layer + 1});
  ANEMONE_RETURN_IF_ERROR(builder.finish({build(graph, architecture)}));
  std::vector<PartSize> parts(1);
  auto end = graph.part_ends().begin();
  const std::vector<ir::Op*>& ops = builder.function().block->ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (; end != graph.part_ends().end() && end->operations == i; ++end) parts.emplace_back();
    parts.back().bytes += constant_bytes(*ops[i]);
    if (!ops[i]->is_const() && !ops[i]->type.starts_with("constexpr_")) ++parts.back().operations;
  }
  for (; end != graph.part_ends().end(); ++end) parts.emplace_back();
  return parts;
}

Result<std::vector<artifact::Head>> build_heads(ir::Program& program, const std::string& function,
                                                const DecoderConfig& config,
                                                std::span<const Projection> projections,
                                                WeightProvider& weights,
                                                const GraphOptions& options) {
  ir::Builder builder(program, ops::op_registry(), function, options.opset);
  LayerGraph graph(builder, config, weights, options);
  ir::Value* hidden = graph.hidden_input();
  std::vector<ir::Value*> outputs;
  std::vector<artifact::Head> heads =
      add_heads(graph, hidden, graph.ports().front().name, projections, outputs);
  ANEMONE_RETURN_IF_ERROR(builder.finish(std::move(outputs)));
  return heads;
}

Result<artifact::Embed> build_embed(ir::Program& program, const std::string& function,
                                    const DecoderConfig& config, WeightProvider& weights,
                                    const GraphOptions& options) {
  ir::Builder builder(program, ops::op_registry(), function, options.opset);
  LayerGraph graph(builder, config, weights, options);
  ir::Value* normed = final_norm(graph, graph.hidden_input());
  builder.rename(normed, "normed");
  ANEMONE_RETURN_IF_ERROR(builder.finish({normed}));
  return artifact::Embed{.package = {}, .input = graph.ports().front().name, .output = "normed"};
}

}  // namespace anemone::models
