// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

namespace {

// Stands for the logit of an expert that is not active, or is added to it: far below every logit,
// and still finite when the largest number of fp16 is subtracted.
constexpr double kNotActive = -3e4;

// Whether each expert is among the `active` of the highest scores; of equal scores the first count
// higher. [1, experts, T, 1] of booleans. An expert is counted against every other, because the
// chip sorts nothing.
Value* is_active(LayerGraph& graph, Value* scores, const std::string& name) {
  ir::Builder& b = graph.builder();
  const ExpertsConfig& config = graph.config().experts;
  const std::int64_t count = scores->type.shape[1];
  Value* own = graph.reshape(scores, {1, count, graph.options().tokens, 1}, name + "_own");
  Value* other = graph.transpose(own, {0, 3, 2, 1}, name + "_other");
  const auto compare = [&](std::string_view op, const std::string& suffix) {
    Value* is_so = b.op(op, {{"x", other}, {"y", own}}, name + suffix);
    return b.op(
        "cast",
        {{"x", is_so}, {"dtype", Literal::text(std::string(dtype_name(graph.options().dtype)))}},
        name + suffix + "_count");
  };
  Value* earlier = graph.earlier(count);
  Value* tied_before = graph.mul(compare("equal", "_tied"), earlier, name + "_tied_before");
  Value* rank = b.op("reduce_sum",
                     {{"x", graph.add(compare("greater", "_beaten"), tied_before, name + "_ahead")},
                      {"axes", Literal::int32s({-1})},
                      {"keep_dims", Literal::boolean(true)}},
                     name + "_rank");
  Value* active =
      b.op("less", {{"x", rank}, {"y", graph.number(static_cast<double>(config.active))}},
           name + "_is_chosen");
  return graph.reshape(active, graph.hidden_shape(count), name + "_chosen");
}

// `scores` of the active experts. Those of the others become 0; in logits, far below every other.
// In arithmetic a finite score becomes exactly the same, and a logit one that a softmax makes 0, as
// it does with kNotActive.
Value* of_active(LayerGraph& graph, Value* active, Value* scores, bool are_logits,
                 const std::string& name) {
  ir::Builder& b = graph.builder();
  if (graph.options().form.routing == artifact::RoutingForm::kSelect)
    return b.op("select",
                {{"cond", active}, {"a", scores}, {"b", graph.number(are_logits ? kNotActive : 0)}},
                name);
  const std::string dtype(dtype_name(graph.options().dtype));
  Value* mask = b.op("cast", {{"x", active}, {"dtype", Literal::text(dtype)}}, name + "_mask");
  if (!are_logits) return graph.mul(scores, mask, name);
  Value* raised = graph.scale(mask, -kNotActive, name + "_raised");
  Value* penalty = b.op("add", {{"x", raised}, {"y", graph.number(kNotActive)}}, name + "_penalty");
  return graph.add(scores, penalty, name);
}

// One projection of an expert: its tensors in a file that has them by expert, and the one that
// stacks those of all experts.
struct ExpertTensors {
  std::vector<std::string> own;  // "model.layers.0.mlp.experts.3.gate_proj"
  std::string stack;             // "model.layers.0.mlp.experts.gate_up_proj"
  bool is_stacked = false;
};

ExpertTensors tensors_of(LayerGraph& graph, const std::string& prefix, std::int64_t expert,
                         const std::vector<std::string>& names, std::string_view stack) {
  const models::WeightProvider& weights = graph.weights();
  ExpertTensors out;
  for (const std::string& name : names)
    out.own.push_back(fmt::format("{}experts.{}.{}", prefix, expert, name));
  out.stack = fmt::format("{}experts.{}", prefix, stack);
  out.is_stacked = graph.config().experts.is_stacked ? !weights.has(out.own.front() + ".weight")
                                                     : weights.has(out.stack);
  return out;
}

std::vector<Projection::Part> parts_of(LayerGraph& graph, const ExpertTensors& tensors,
                                       std::int64_t expert, std::int64_t rows,
                                       std::int64_t inputs) {
  const ExpertsConfig& config = graph.config().experts;
  std::vector<Projection::Part> out;
  if (!tensors.is_stacked) {
    for (const std::string& own : tensors.own) out.push_back({own + ".weight", 0, rows});
    return out;
  }
  Projection::Part part = {.tensor = tensors.stack, .rows = rows, .matrix = expert};
  part.is_transposed = config.is_transposed;
  if (graph.weights().has(tensors.stack + "_blocks")) {  // quantized: always by rows
    part.tensor += "_blocks";
    part.is_transposed = false;
  }
  const auto parts = static_cast<std::int64_t>(tensors.own.size());
  part.shape = part.is_transposed ? Shape{config.count, inputs, parts * rows}
                                  : Shape{config.count, parts * rows, inputs};
  for (std::int64_t i = 0; i < parts; ++i) {
    Projection::Part& each = out.emplace_back(part);
    each.row_begin = config.is_interleaved ? i : i * rows;
    each.row_step = config.is_interleaved ? parts : 1;
  }
  return out;
}

Value* bias_of(LayerGraph& graph, const ExpertTensors& tensors, std::int64_t expert,
               std::int64_t rows, const std::string& name) {
  const ExpertsConfig& config = graph.config().experts;
  if (!config.has_bias) return nullptr;
  const auto parts = static_cast<std::int64_t>(tensors.own.size());
  std::vector<WeightProvider::Vector> vectors;
  for (std::int64_t i = 0; i < parts; ++i) {
    if (!tensors.is_stacked) {
      vectors.push_back({tensors.own[static_cast<std::size_t>(i)] + ".bias", rows});
      continue;
    }
    vectors.push_back({.tensor = tensors.stack + "_bias",
                       .size = rows,
                       .shape = {config.count, parts * rows},
                       .begin = expert * parts * rows + (config.is_interleaved ? i : i * rows),
                       .step = config.is_interleaved ? parts : 1});
  }
  return graph.weights().vector(graph.builder(), vectors, {parts * rows}, name);
}

}  // namespace

Value* expert(LayerGraph& graph, std::int64_t layer, const std::string& prefix, std::int64_t index,
              Value* x) {
  const ExpertsConfig& config = graph.config().experts;
  const std::string name = fmt::format("layer_{}_experts_{}", layer, index);
  const auto project = [&](Value* inputs, WeightRole role, const ExpertTensors& tensors,
                           std::int64_t rows, const std::string& own) {
    const std::int64_t columns = inputs == nullptr ? 0 : inputs->type.shape[1];
    // In one operation each: executors run the active experts alone where they find them so.
    return graph.project_whole(inputs,
                               {.name = own,
                                .role = role,
                                .parts = parts_of(graph, tensors, index, rows, columns),
                                .inputs = columns},
                               bias_of(graph, tensors, index, rows, own + "_bias"));
  };
  Value* gate_up = project(x, WeightRole::kMlpGateUp,
                           tensors_of(graph, prefix, index, config.gate_up, "gate_up_proj"),
                           config.width, name + "_gate_up");
  return project(gate_product(graph, gate_up, config.width, name), WeightRole::kMlpDown,
                 tensors_of(graph, prefix, index, {config.down}, "down_proj"),
                 graph.config().hidden_size, name + "_down");
}

Value* routing_weights(LayerGraph& graph, Value* logits, Value* selection_bias,
                       const std::string& name) {
  const ExpertsConfig& config = graph.config().experts;
  ir::Builder& b = graph.builder();
  const auto softmax = [&](Value* x) {
    return b.op("softmax", {{"x", x}, {"axis", Literal::int32(1)}}, name + "_softmax");
  };
  const bool is_softmax = config.score == ExpertsConfig::Score::kSoftmax;
  // Sigmoid and softmax keep the order of the logits, and logits are farther apart in fp16: those
  // are compared.
  Value* scores = nullptr;
  if (!is_softmax) scores = b.op("sigmoid", {{"x", logits}}, name + "_sigmoid");
  Value* compared = logits;
  if (selection_bias != nullptr) {
    if (is_softmax) scores = softmax(logits);
    compared = graph.add(scores, selection_bias, name + "_biased");
  }
  if (compared == nullptr) return nullptr;
  Value* active = is_active(graph, compared, name);
  Value* weights = nullptr;
  if (is_softmax && config.is_normalized) {
    // A softmax over the active experts alone is one over all, divided by their sum.
    weights = softmax(of_active(graph, active, logits, true, name + "_only_chosen"));
  } else {
    if (scores == nullptr) scores = softmax(logits);
    weights = of_active(graph, active, scores, false, name + "_only_chosen");
    if (config.is_normalized) {
      Value* sum = b.op(
          "reduce_sum",
          {{"x", weights}, {"axes", Literal::int32s({1})}, {"keep_dims", Literal::boolean(true)}},
          name + "_sum");
      weights =
          graph.mul(weights,
                    b.op("inverse", {{"x", sum}, {"epsilon", graph.number(config.sum_epsilon)}},
                         name + "_inverse_sum"),
                    name + "_normalized");
    }
  }
  return config.scale == 1 ? weights : graph.scale(weights, config.scale, name + "_scaled");
}

Value* experts(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x) {
  const DecoderConfig& decoder = graph.config();
  const ExpertsConfig& config = decoder.experts;
  const std::string name = fmt::format("layer_{}_experts", layer);
  const std::string router = prefix + config.router;
  ir::Builder& b = graph.builder();
  Value* bias = nullptr;
  if (config.router_bias)
    bias = graph.weights().vector(b, {{router + ".bias", config.count}}, {config.count},
                                  name + "_router_bias");
  Value* logits = graph.project(x,
                                {.name = name + "_router",
                                 .role = WeightRole::kRouter,
                                 .parts = {{router + ".weight", 0, config.count}},
                                 .inputs = decoder.hidden_size},
                                bias);
  Value* selection_bias = nullptr;
  if (!config.selection_bias.empty())
    selection_bias = graph.weights().vector(b, {{prefix + config.selection_bias, config.count}},
                                            {1, config.count, 1, 1}, name + "_selection_bias");
  Value* mixed = mix_experts(graph, layer, prefix, x,
                             routing_weights(graph, logits, selection_bias, name + "_routing"));
  if (config.shared.empty()) return mixed;
  Value* shared = gated_mlp(graph, layer, prefix + config.shared + ".", x, config.shared_width);
  Value* gate = graph.project(x,
                              {.name = name + "_shared_gate",
                               .role = WeightRole::kRouter,
                               .parts = {{prefix + config.shared_gate + ".weight", 0, 1}},
                               .inputs = decoder.hidden_size},
                              nullptr);
  gate = b.op("sigmoid", {{"x", gate}}, name + "_shared_sigmoid");
  return graph.add(mixed, graph.mul(shared, gate, name + "_shared_gated"), name + "_with_shared");
}

Value* mix_experts(LayerGraph& graph, std::int64_t layer, const std::string& prefix, Value* x,
                   Value* weights) {
  const ExpertsConfig& config = graph.config().experts;
  const std::string name = fmt::format("layer_{}_experts", layer);
  if (graph.options().form.has_expert_packs()) return graph.experts_apart(prefix, x, weights);
  graph.end_part();
  const auto by_expert =
      graph.split(weights, std::vector<std::int64_t>(static_cast<std::size_t>(config.count), 1), 1,
                  name + "_weights");
  Value* sum = nullptr;
  for (std::int64_t e = 0; e < config.count; ++e) {
    const std::string one = fmt::format("{}_{}", name, e);
    Value* y = graph.is_in_shard() ? expert(graph, layer, prefix, e, x) : x;
    Value* weighed = graph.mul(y, by_expert[static_cast<std::size_t>(e)], one + "_weighed");
    sum = e == 0 ? weighed : graph.add(sum, weighed, one + "_sum");
    graph.end_part();
  }
  return sum;
}

}  // namespace anemone::models
