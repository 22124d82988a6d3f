// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>
#include <vector>

#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

namespace {
// Below this the divisor stays fixed, so that eps / divisor^2 remains a finite fp16 number for
// every eps in use (1e-5 / 2^-20 = 10.5).
constexpr double kSmallestDivisor = 0x1p-10;

// x / sqrt(mean(x^2) + eps)
Value* max_scaled(LayerGraph& graph, Value* x, std::int32_t axis, double eps_value,
                  const std::string& name) {
  ir::Builder& b = graph.builder();
  const auto reduce = [&](std::string_view op, Value* value, const std::string& suffix) {
    return b.op(
        op,
        {{"x", value}, {"axes", Literal::int32s({axis})}, {"keep_dims", Literal::boolean(true)}},
        name + suffix);
  };
  Value* largest = reduce("reduce_max", b.op("abs", {{"x", x}}, name + "_abs"), "_largest");
  Value* divisor =
      b.op("maximum", {{"x", largest}, {"y", graph.number(kSmallestDivisor)}}, name + "_divisor");
  Value* inverse =
      b.op("inverse", {{"x", divisor}, {"epsilon", graph.number(0)}}, name + "_inverse");
  Value* scaled = graph.mul(x, inverse, name + "_scaled");
  Value* mean = reduce("reduce_mean", b.op("square", {{"x", scaled}}, name + "_square"), "_mean");
  Value* root_eps = graph.scale(inverse, std::sqrt(eps_value), name + "_root_eps");
  Value* eps = b.op("square", {{"x", root_eps}}, name + "_eps");
  Value* factor = b.op("rsqrt", {{"x", graph.add(mean, eps, name + "_mean_eps")}}, name + "_rsqrt");
  return graph.mul(scaled, factor, name + "_normed");
}

// x / sqrt(mean(x^2) + eps) by a layer norm of x and -x together: their mean is 0, and their
// variance is the mean of x^2.
Value* layer_norm(LayerGraph& graph, Value* x, std::int32_t axis, double eps,
                  const std::string& name) {
  const std::size_t rank = x->type.shape.size();
  const std::int64_t size = x->type.shape[axis < 0 ? rank - static_cast<std::size_t>(-axis)
                                                   : static_cast<std::size_t>(axis)];
  Value* both = graph.join({x, graph.scale(x, -1, name + "_negative")}, axis, name + "_both");
  Value* normed = graph.builder().op(
      "layer_norm",
      {{"x", both}, {"axes", Literal::int32s({axis})}, {"epsilon", graph.number(eps)}},
      name + "_both_normed");
  return graph.split(normed, {size, size}, axis, name + "_normed").front();
}
}  // namespace

Value* rms_norm(LayerGraph& graph, Value* x, std::int32_t axis, const std::string& weight,
                const std::string& name) {
  return rms_norm(graph, x, axis, weight, name,
                  {graph.config().rms_norm_eps, graph.config().norm_offset});
}

Value* rms_norm(LayerGraph& graph, Value* x, std::int32_t axis, const std::string& weight,
                const std::string& name, const NormNumbers& numbers) {
  ir::Builder& b = graph.builder();
  if (x == nullptr) return nullptr;
  Value* normed = graph.options().form.has_layer_norms()
                      ? layer_norm(graph, x, axis, numbers.eps, name)
                      : max_scaled(graph, x, axis, numbers.eps, name);

  const std::size_t rank = x->type.shape.size();
  const std::size_t index =
      axis < 0 ? rank - static_cast<std::size_t>(-axis) : static_cast<std::size_t>(axis);
  Shape shape(rank, 1);
  shape[index] = x->type.shape[index];
  if (weight.empty()) {
    // A weight all the same, so that fusions see the pattern that they know.
    Tensor ones(graph.options().dtype, shape);
    store_floats(std::vector<float>(static_cast<std::size_t>(shape[index]), 1),
                 ones.mutable_view());
    return graph.mul(normed, b.constant(Literal::of(std::move(ones)), name + "_ones"), name);
  }
  Value* gamma =
      graph.weights().vector(b, {{weight, shape[index], numbers.offset}}, shape, name + "_weight");
  return graph.mul(normed, gamma, name);
}

}  // namespace anemone::models
