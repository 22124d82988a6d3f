// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "exec/cpu/function_plans.h"
#include "exec/profile.h"

namespace anemone::exec {

// The steps of a plan, with the times of its timed runs.
std::vector<PlanStep> explain(const ExecutionPlan& plan);

}  // namespace anemone::exec
