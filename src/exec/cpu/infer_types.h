// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Follows the type rules from the types of the inputs and the constants on: sets
// PreparedFunction::types, PreparedOp::has_static_outputs and PreparedOp::is_statically_checked.
// Integers and scalars that are known then, such as the parts of a shape that the program puts
// together, become constants in PreparedFunction::initial, as sizes may depend on them. A dimension
// that depends on data keeps what the program declares. It never fails: an operation whose rule or
// kernel fails reports it when it runs. A type inside a loop holds in every round. `limit` bounds
// the memory of the values that are known.
void infer_types(PreparedFunction& function, const std::shared_ptr<MemoryLimit>& limit);

}  // namespace anemone::exec
