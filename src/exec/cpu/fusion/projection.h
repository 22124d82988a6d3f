// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "exec/cpu/fusion/graph.h"
#include "kernels/simd/matrix.h"

namespace anemone::exec {

// An operation that multiplies by a constant matrix: its input and what ProjectionOp takes.
struct ProjectionParts {
  int x = -1;
  kernels::simd::Matrix matrix;
  const Half* bias = nullptr;
  bool is_channel_major = false;
};
// `may_be_open`: also one that is not statically checked, whose number of tokens depends on data.
std::optional<ProjectionParts> projection_of(const FusionGraph& graph, const PreparedOp& op,
                                             bool may_be_open = false);

}  // namespace anemone::exec
