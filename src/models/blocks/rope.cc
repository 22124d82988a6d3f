// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/blocks.h"

namespace anemone::models {

using ir::Literal;
using ir::Value;

Value* apply_rope(LayerGraph& graph, Value* x, const std::string& name) {
  const std::int64_t half = graph.config().head_dim / 2;
  Value* cos = graph.rope_cos();
  Value* sin = graph.rope_sin();
  const auto halves = graph.split(x, {half, half}, -1, name + "_halves");
  Value* first = graph.builder().op("sub",
                                    {{"x", graph.mul(halves[0], cos, name + "_a_cos")},
                                     {"y", graph.mul(halves[1], sin, name + "_b_sin")}},
                                    name + "_first");
  Value* second = graph.add(graph.mul(halves[1], cos, name + "_b_cos"),
                            graph.mul(halves[0], sin, name + "_a_sin"), name + "_second");
  return graph.builder().op("concat",
                            {{"values", std::vector<Value*>{first, second}},
                             {"axis", Literal::int32(-1)},
                             {"interleave", Literal::boolean(false)}},
                            name);
}

}  // namespace anemone::models
