// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/fusion/graph.h"

namespace anemone::exec {

// Groups of elementwise fp16 operations over tensors of one fixed shape, of which only the last
// one's result is used elsewhere, become one pass over memory each; operations on their own, too.
// Leaves a sum of two equal shapes on its own alone: match_add() has the better kernel.
void fuse_chains(FusionGraph& graph);

}  // namespace anemone::exec
