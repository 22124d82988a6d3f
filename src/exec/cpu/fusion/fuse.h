// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Replaces patterns of operations by fused ones. A pattern is recognized by what its operations
// compute, not by the names of values. It is left as it is if something outside uses the value of
// an operation that would go away (FusionGraph::is_closed()). This runs before constants are
// folded, so that weights are found in the form of the package. Operations whose results nobody
// uses any more are removed.
void fuse(PreparedFunction& function);

}  // namespace anemone::exec
