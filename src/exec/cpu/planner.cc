// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/planner.h"

#include <algorithm>

#include "base/error.h"
#include "exec/cpu/fusion/fuse.h"
#include "exec/cpu/infer_types.h"
#include "exec/cpu/memory_plan.h"

namespace anemone::exec {
namespace {

bool accesses_states(const PreparedBlock& block) {
  return std::ranges::any_of(block.ops, [](const PreparedOp& op) {
    return op.kind == PreparedOp::Kind::kReadState || op.kind == PreparedOp::Kind::kWriteState ||
           std::ranges::any_of(op.blocks, accesses_states);
  });
}

}  // namespace

Status plan(const std::vector<PreparedFunction*>& functions, bool is_fused, ConstantFolder& folder,
            ThreadPool& threads) {
  for (PreparedFunction* function : functions) {
    infer_types(*function, folder.limit());
    if (is_fused) fuse(*function);
    function->is_batchable = !accesses_states(function->block);
  }
  ANEMONE_RETURN_IF_ERROR(folder.fold(functions, threads));
  for (PreparedFunction* function : functions) plan_memory(*function);
  return {};
}

}  // namespace anemone::exec
