// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Value;

namespace {

// Several outputs one after the other as one.
ProjectionOutput joined(const std::vector<ProjectionOutput>& outputs) {
  ProjectionOutput all = {.name = "qkv"};
  for (const ProjectionOutput& each : outputs) {
    all.width += each.width;
    all.weights.insert(all.weights.end(), each.weights.begin(), each.weights.end());
    all.biases.insert(all.biases.end(), each.biases.begin(), each.biases.end());
  }
  return all;
}

Projection projection_of(LayerGraph& graph, const ProjectionOutput& output,
                         const std::string& name) {
  return {.name = name + "_" + output.name,
          .role = WeightRole::kAttentionQkv,
          .parts = output.weights,
          .inputs = graph.config().hidden_size};
}

Value* project(LayerGraph& graph, Value* x, const ProjectionOutput& output,
               const std::string& name) {
  const Projection projection = projection_of(graph, output, name);
  Value* bias = nullptr;
  if (!output.biases.empty())
    bias = graph.weights().vector(graph.builder(), output.biases, {output.width},
                                  projection.name + "_bias");
  return graph.project(x, projection, bias);
}

}  // namespace

std::vector<Value*> project_outputs(LayerGraph& graph, Value* x,
                                    const std::vector<ProjectionOutput>& outputs,
                                    const std::string& name) {
  const ProjectionOutput all = joined(outputs);
  const bool is_fused =
      graph.options().form.has_fused_products() && !graph.is_slow(projection_of(graph, all, name));
  if (outputs.size() == 1 || is_fused) {
    Value* qkv = project(graph, x, all, name);
    if (outputs.size() == 1) return {qkv};
    std::vector<std::int64_t> widths;
    for (const ProjectionOutput& output : outputs) widths.push_back(output.width);
    return graph.split(qkv, widths, 1, name + "_parts");
  }
  std::vector<Value*> values;
  for (const ProjectionOutput& output : outputs) values.push_back(project(graph, x, output, name));
  return values;
}

}  // namespace anemone::models
