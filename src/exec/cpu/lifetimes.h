// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Fills PreparedOp::dead_after. A value dies in the block that defines it, after the last operation
// there that uses it, itself or in its inner blocks.
void find_lifetimes(PreparedFunction& function);

}  // namespace anemone::exec
