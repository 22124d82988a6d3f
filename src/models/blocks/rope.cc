// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Value;

namespace {

Value* rotate(LayerGraph& graph, const artifact::Rope& rope, Value* x, const std::string& name) {
  const auto half = static_cast<std::int64_t>(rope.inv_freq.size());
  Value* cos = graph.rope_cos(rope);
  Value* sin = graph.rope_sin(rope);
  const auto halves = graph.split(x, {half, half}, -1, name + "_halves");
  Value* first = graph.builder().op("sub",
                                    {{"x", graph.mul(halves[0], cos, name + "_a_cos")},
                                     {"y", graph.mul(halves[1], sin, name + "_b_sin")}},
                                    name + "_first");
  Value* a_sin = graph.mul(halves[0], sin, name + "_a_sin");
  Value* b_cos = graph.mul(halves[1], cos, name + "_b_cos");
  Value* second = graph.add(b_cos, a_sin, name + "_second");
  return graph.join({first, second}, -1, name);
}

}  // namespace

Value* apply_rope(LayerGraph& graph, const artifact::Rope& rope, Value* x,
                  const std::string& name) {
  const auto rotated = static_cast<std::int64_t>(2 * rope.inv_freq.size());
  const std::int64_t passed = (x == nullptr ? rotated : x->type.shape.back()) - rotated;
  if (passed == 0) return rotate(graph, rope, x, name);
  // The parts are rotated apart, so that a fusion sees the pattern of a whole head.
  const auto parts = graph.split(x, {rotated, passed}, -1, name + "_parts");
  return graph.join({rotate(graph, rope, parts[0], name + "_turned"), parts[1]}, -1, name);
}

}  // namespace anemone::models
