// SPDX-License-Identifier: Apache-2.0
#include "exec/profile.h"

#include "base/error.h"

namespace anemone::exec {
namespace {

Result<const Profiled*> profiled(const LoadedProgram& program) {
  if (const Profiled* found = program.profiled()) return found;
  return unsupported("this executor does not tell how it runs a program");
}

}  // namespace

void RunTimes::add(const std::shared_ptr<const std::vector<PlanStep>>& steps_run,
                   const std::vector<double>& seconds_run) {
  if (steps == nullptr) {
    steps = steps_run;
    seconds.assign(seconds_run.size(), 0);
  }
  if (steps != steps_run) return;
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] += seconds_run[i];
}

Result<std::vector<PlanStep>> explain(const LoadedProgram& program, std::string_view function) {
  ANEMONE_ASSIGN_OR_RETURN(const Profiled* found, profiled(program));
  return found->explain(function);
}

Result<PlanMemory> explain_memory(const LoadedProgram& program, std::string_view function) {
  ANEMONE_ASSIGN_OR_RETURN(const Profiled* found, profiled(program));
  return found->explain_memory(function);
}

Status set_timed(const LoadedProgram& program, bool is_timed) {
  ANEMONE_ASSIGN_OR_RETURN(const Profiled* found, profiled(program));
  found->set_timed(is_timed);
  return {};
}

void ExpertsOfLayers::apply(PlanStep& step) {
  if (step.active_experts > 0) {
    active_ = step.active_experts;
  } else if (active_ > 0 && active_ < step.experts) {
    step.active_experts = active_;
    step.flops = step.flops / step.experts * active_;
    // A timed run has told.
    if (step.runs == 0) step.weight_bytes = step.weight_bytes / step.experts * active_;
  }
}

}  // namespace anemone::exec
