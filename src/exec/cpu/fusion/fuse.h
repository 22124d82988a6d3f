// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Replaces patterns of operations by fused ones, for what the program is: names do not matter. A
// value that others read keeps the operation that makes it. Constants are not folded yet, so
// that weights are found in the form that the package has; what only a fused operation needed is
// taken away.
void fuse(PreparedFunction& function);

}  // namespace anemone::exec
