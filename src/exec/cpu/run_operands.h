// SPDX-License-Identifier: Apache-2.0
// What a run of a planned function works on: the caller's states and inputs go in, the outputs come
// out. (Caches of the caller: bound_caches.h.)
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "exec/cpu/fusion/mask_cache.h"
#include "exec/cpu/interpreter.h"
#include "exec/cpu/memory_limit.h"
#include "exec/cpu/prepared_program.h"
#include "exec/cpu/register.h"
#include "exec/cpu/state_store.h"
#include "exec/executor.h"

namespace anemone::exec {

// The index of each state of a function in the caller's store. kInvalidArgument where the store,
// which may be null, has no such state.
Result<std::vector<std::size_t>> match_states(const PreparedFunction& function,
                                              const CpuStateStore* store);

// Copies states that share their memory with something else, such as a second state that a program
// set to the same value, because fused operations write into them.
Status unshare_states(const PreparedFunction& function, const std::vector<std::size_t>& places,
                      CpuStateStore* store, const std::shared_ptr<MemoryLimit>& limit);

// Puts the inputs of an item that passed check_inputs() into their registers, and its facts into
// `masks`. The item binds the caches that the function works on in place, and no others.
// kInvalidArgument where an input has not the shape of the program, which a package may describe
// more widely than it can run it, or where a fact is none that the function takes.
Status bind_inputs(const PreparedFunction& function, const BatchItem& item, Registers& registers,
                   MaskCache& masks);

// Lets the run write outputs to the tensors that they have from an earlier one, where they can be
// (MemoryPlan::movable_outputs).
void place_outputs(const PreparedFunction& function, Outputs& outputs, Frame& frame);

// Copies outputs that are not where they belong yet, but not those of caches that the run has bound
// (bindings_of()). kOutOfMemory where there is no room for another copy of an output beside the
// values of the run.
Status copy_outputs(const PreparedFunction& function, const Registers& registers,
                    const std::vector<const CacheBinding*>& bindings, MemoryLimit& limit,
                    Outputs& outputs);

}  // namespace anemone::exec
