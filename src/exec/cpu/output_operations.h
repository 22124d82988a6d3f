// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Sets PreparedOp::gives_for_outputs and is_for_outputs of the operations of the outermost block:
// what comes after the last layer that stores keys and values, for example. With layers that attend
// to the keys of earlier ones, which a fused attention stores once more, that is many layers.
void find_operations_for_outputs(PreparedFunction& function);

}  // namespace anemone::exec
