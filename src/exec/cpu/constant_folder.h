// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Runs, once and for all functions together, the operations whose operands are all constants, and
// puts their results into PreparedFunction::initial. Equal constexpr operations over the same
// weight bytes are run once. An operation outside constexpr_* that fails or gives much data is left
// for the run; the folded ones are removed from their blocks.
Status fold_constants(const std::vector<std::unique_ptr<PreparedFunction>>& functions,
                      ThreadPool& threads);

}  // namespace anemone::exec
