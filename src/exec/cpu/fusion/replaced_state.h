// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "exec/cpu/fusion/graph.h"

namespace anemone::exec {

// What a function keeps from step to step, reads once and replaces once: a state, or a cache in
// tensors, which is an input and an output of one type. A fusion that has it writes it in place.
struct ReplacedState {
  int state = -1;                      // a state, or
  std::optional<PreparedCache> cache;  // a cache in tensors
  Shape shape;
  DType dtype = DType::kFp16;
  // The read and the write of a state: the fusion has them among its inner operations.
  std::vector<PreparedOp*> inner;

  // Makes the fusion the one that writes it.
  void add_to(Fusion& fusion) const;
};

// The one that is `before` at the beginning of a run and `after` at its end. `uses`: how often
// operations may take `before` where it is an input; a fusion that is closed has all uses of what a
// state is read as.
std::optional<ReplacedState> match_replaced_state(const FusionGraph& graph, int before, int after,
                                                  int uses = 1);

}  // namespace anemone::exec
