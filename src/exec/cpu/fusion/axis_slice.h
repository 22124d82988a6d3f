// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "exec/cpu/fusion/graph.h"

namespace anemone::exec {

// What `op` takes of x: the elements from `begin` on along one axis, as many as its result has, and
// all of the other axes.
struct AxisSlice {
  PreparedOp* op = nullptr;
  int x = -1;
  std::size_t axis = 0;
  std::int64_t begin = 0;
};

// The slice that makes the value; nullopt for other operations, and for slices with steps, of
// several axes, of all of x or of shapes that are not known.
std::optional<AxisSlice> axis_slice(const FusionGraph& graph, int reg);

}  // namespace anemone::exec
