// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <vector>

#include "base/thread_pool.h"
#include "exec/cpu/constant_folder.h"
#include "exec/cpu/prepared_program.h"
#include "exec/cpu/product_offload.h"

namespace anemone::exec {

// Makes prepared functions runnable, for the types of their inputs: infers the other types, finds
// patterns (`is_fused`: they become fast operations, fusion/fuse.h; otherwise every operation runs
// as it is written), and evaluates operations that only need constants (all constexpr_* among
// them), once for all functions, in parallel on `threads`; then plans the memory of the values.
// `offload` may be null; it is offered the products of fused functions.
Status plan(const std::vector<PreparedFunction*>& functions, bool is_fused, ConstantFolder& folder,
            ThreadPool& threads, ProductOffload* offload = nullptr);

}  // namespace anemone::exec
