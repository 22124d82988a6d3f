// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Finds PreparedFunction::stretches and is_batchable of a function whose patterns are fused. Reads
// of states move down to what uses them first, so that weights before that are read once for all
// runs of a batch.
void find_stretches(PreparedFunction& function);

}  // namespace anemone::exec
