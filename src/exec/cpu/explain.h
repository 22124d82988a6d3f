// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>
#include <vector>

#include "exec/executor.h"

namespace anemone::exec {

// One step of a function as the CPU executor planned it.
struct PlanStep {
  std::string name;       // "projection", "rms_norm" for fused operations, else the MIL operation
  std::string operation;  // the MIL operation that it ends with, by name
  bool is_fused = false;
  bool is_view = false;  // costs nothing: another look at the same memory
};

// The steps of the outermost block, in order. kInvalidArgument for a program of another executor,
// kNotFound for an unknown function.
Result<std::vector<PlanStep>> explain(const LoadedProgram& program, std::string_view function = "");

}  // namespace anemone::exec
