// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/explain.h"

#include "base/error.h"
#include "exec/cpu/cpu_program.h"

namespace anemone::exec {

Result<std::vector<PlanStep>> explain(const LoadedProgram& program, std::string_view function) {
  const auto* cpu = dynamic_cast<const CpuProgram*>(&program);
  if (cpu == nullptr) return invalid_argument("expected a program of the CPU executor");
  ANEMONE_ASSIGN_OR_RETURN(const PreparedFunction* prepared, cpu->prepared(function));
  std::vector<PlanStep> steps;
  for (const PreparedOp& op : prepared->block.ops) {
    PlanStep& step = steps.emplace_back();
    step.operation = op.op->name;
    step.is_fused = op.kind == PreparedOp::Kind::kFused;
    step.is_view = op.kind == PreparedOp::Kind::kView;
    step.name = step.is_fused ? std::string(op.fused->name()) : op.op->type;
  }
  return steps;
}

}  // namespace anemone::exec
