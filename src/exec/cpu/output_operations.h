// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Sets PreparedOp::gives_for_outputs and is_for_outputs of the operations of the outermost block:
// of a model, what comes after the last keys and values that are stored. Layers that attend to the
// keys of earlier ones store those once more, for which nothing of these layers is computed.
void find_operations_for_outputs(PreparedFunction& function);

}  // namespace anemone::exec
