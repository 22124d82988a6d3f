// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/axis_slice.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace anemone::exec {

std::optional<AxisSlice> axis_slice(const FusionGraph& graph, int reg) {
  PreparedOp* slice = graph.producer(reg, "slice_by_index");
  if (slice == nullptr) return std::nullopt;
  AxisSlice out{.op = slice, .x = FusionGraph::argument(*slice, "x")};
  if (out.x < 0 || !graph.type(out.x).is_tensor()) return std::nullopt;
  const Shape& from = graph.type(out.x).shape;
  const Shape& to = graph.type(reg).shape;
  const auto is_known = [&](std::string_view parameter) {
    const int value = FusionGraph::argument(*slice, parameter);
    return value < 0 || graph.constant(value) != nullptr;
  };
  const auto begins = graph.ints(*slice, "begin");
  const auto strides = graph.ints(*slice, "stride");
  const auto masks = graph.ints(*slice, "begin_mask");
  if (!is_static(from) || !is_static(to) || from.size() != to.size() ||
      begins.size() != from.size() || !is_known("stride") || !is_known("begin_mask") ||
      std::ranges::any_of(strides, [](std::int64_t step) { return step != 1; }))
    return std::nullopt;
  // With steps of one, a slice of the same size begins at the first element.
  std::size_t shorter = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == to[i]) continue;
    ++shorter;
    out.axis = i;
    out.begin = !masks.empty() && masks[i] != 0 ? 0 : begins[i];
    if (out.begin < 0) out.begin += from[i];
  }
  if (shorter != 1) return std::nullopt;
  return out;
}

}  // namespace anemone::exec
