// SPDX-License-Identifier: Apache-2.0
// What the CPU executor made of a program: its steps, what each reads and computes, and after timed
// runs how long each takes.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exec/executor.h"

namespace anemone::exec {

// One step of a function as the CPU executor planned it. Costs are those of one run; a dimension
// that depends on data counts as one.
struct PlanStep {
  std::string name;       // "projection", "rms_norm" for fused operations, else the MIL operation
  std::string operation;  // the MIL operation that it ends with, by name
  bool is_fused = false;
  bool is_view = false;  // costs nothing: another look at the same memory

  std::string form;  // of the weights of a matrix product: "int8", "lut4", "fp16"
  // Constants that it reads, in the form of the package. Of experts those of the chosen ones: the
  // mean of the timed runs, before that as many as the tokens may choose.
  std::int64_t weight_bytes = 0;
  std::int64_t state_bytes = 0;  // of states, at most: when all their slots are in use
  std::int64_t flops = 0;        // multiplications and additions of matrix products, at most

  // Of a step of experts: how many its layer has; 0: it is another step. And of one that chooses or
  // runs them, how many of them a token chooses; 0 where the program does not tell, and the costs
  // are those of all.
  std::int64_t experts = 0;
  std::int64_t chosen_experts = 0;

  std::int64_t runs = 0;  // that were timed
  double seconds = 0;     // of all of them together
};

// The steps of the outermost block, in order. Where inputs have open shapes it is the plan of the
// last run, before one that of the least shapes. kInvalidArgument for a program of another
// executor, kNotFound for an unknown function.
Result<std::vector<PlanStep>> explain(const LoadedProgram& program, std::string_view function = "");

// Where the values of a run lie.
struct PlanMemory {
  std::int64_t arena_bytes = 0;  // of the one block of memory that they share
  std::int64_t value_bytes = 0;  // of all of them, if each had memory of its own
};
// Of the same plan, with the same errors.
Result<PlanMemory> explain_memory(const LoadedProgram& program, std::string_view function = "");

// What programs that run one after the other do not tell each by itself: a later part of a layer
// has the experts and not how many of them a token chooses, which the part before it has.
class ExpertsOfLayers {
 public:
  // Of each step in its order; gives those that do not tell the costs of the chosen experts.
  void apply(PlanStep& step);

 private:
  std::int64_t chosen_ = 0;  // of the last step that told
};

// From now on the steps of every run of the program are timed, from zero; or no longer. A run that
// is not timed pays one comparison. kInvalidArgument for a program of another executor.
// Thread-safe; runs in flight go on as they began.
Status set_timed(const LoadedProgram& program, bool is_timed);

}  // namespace anemone::exec
