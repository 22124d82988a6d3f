// SPDX-License-Identifier: Apache-2.0
// The caches of a planned function that lie in tensors (PreparedFunction::caches), in the memory of
// the caller where a run binds them, else in copies.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <vector>

#include "exec/cache_binding.h"
#include "exec/cpu/fusion/fused_op.h"
#include "exec/cpu/interpreter.h"
#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// The bindings of an item that passed check_inputs().
struct CacheBindings {
  std::vector<CacheBinding> in_place;  // the function can work on them as they are
  std::vector<CacheBinding> others;    // for run_with_tensors()
};
CacheBindings split_bindings(const PreparedFunction& function, const BatchItem& item);
// Whether the function can work in place on all caches of the item.
bool are_in_place(const PreparedFunction& function, const BatchItem& item);

// The binding for each cache of the function, nullptr for one without; they are those of the item.
std::vector<const CacheBinding*> bindings_of(const PreparedFunction& function,
                                             const BatchItem& item);
// The memory of each cache of the function, where the bindings of bindings_of() are in place. A
// cache that is not bound is copied from its register; `copies` keep what is given back to the
// frame after the run. kOutOfMemory.
Result<std::vector<FusedState>> bind_caches(const PreparedFunction& function,
                                            const std::vector<const CacheBinding*>& bindings,
                                            Frame& frame, std::vector<BufferRef>& copies);

}  // namespace anemone::exec
