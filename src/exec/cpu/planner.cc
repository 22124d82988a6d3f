// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/planner.h"

#include <algorithm>

#include "base/error.h"
#include "exec/cpu/fusion/fuse.h"
#include "exec/cpu/fusion/fused_op.h"
#include "exec/cpu/fusion/offload_products.h"
#include "exec/cpu/infer_types.h"
#include "exec/cpu/memory_plan.h"
#include "exec/cpu/output_operations.h"
#include "exec/cpu/state_stretches.h"
#include "exec/cpu/state_updates.h"

namespace anemone::exec {
namespace {

// Sets PreparedInput::mask.
void find_masks(PreparedFunction& function) {
  struct Uses {
    std::optional<MaskFact::Role> role;
    bool has_others = false;
  };
  std::vector<Uses> uses(function.initial.size());
  const auto use_as = [&](int reg, std::optional<MaskFact::Role> role) {
    Uses& all = uses[static_cast<std::size_t>(reg)];
    all.has_others = all.has_others || !role || (all.role && all.role != role);
    all.role = role;
  };
  const auto walk = [&](const PreparedBlock& block, const auto& self) -> void {
    for (const PreparedOp& op : block.ops) {
      for (const Operand& operand : op.operands)
        for (std::size_t i = 0; i < operand.registers.size(); ++i)
          use_as(operand.registers[i],
                 op.kind == PreparedOp::Kind::kFused ? op.fused->mask_role(i) : std::nullopt);
      for (const PreparedBlock& inner : op.blocks) self(inner, self);
    }
    for (const int reg : block.outputs) use_as(reg, std::nullopt);
  };
  walk(function.block, walk);
  for (PreparedInput& input : function.inputs) {
    const Uses& found = uses[static_cast<std::size_t>(input.reg)];
    input.mask = found.has_others ? std::nullopt : found.role;
  }
}

}  // namespace

Status plan(const std::vector<PreparedFunction*>& functions, bool is_fused, ConstantFolder& folder,
            ThreadPool& threads, ProductOffload* offload) {
  for (PreparedFunction* function : functions) {
    infer_types(*function, folder.limit());
    if (is_fused) fuse(*function);
    if (is_fused && offload != nullptr) offload_products(*function, *offload);
    find_masks(*function);
  }
  ANEMONE_RETURN_IF_ERROR(folder.fold(functions, threads));
  for (PreparedFunction* function : functions) {
    if (is_fused) update_states_in_place(*function);
    find_stretches(*function);  // of the operations that are left
    find_operations_for_outputs(*function);
    plan_memory(*function);
  }
  return {};
}

}  // namespace anemone::exec
