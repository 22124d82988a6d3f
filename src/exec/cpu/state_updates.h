// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Lets each slice_update or scatter of what was just read of a state, whose result is written back
// to it, work in the memory of the state (PreparedOp::Kind::kUpdateState): nothing else of the
// state is copied. Others, whose old value somebody still needs, stay as they are. For functions
// whose patterns are fused.
void update_states_in_place(PreparedFunction& function);

}  // namespace anemone::exec
