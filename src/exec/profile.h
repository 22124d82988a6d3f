// SPDX-License-Identifier: Apache-2.0
// What an executor made of a program: its steps, what each reads and computes, and after timed runs
// how long each takes. Not every executor tells it.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exec/executor.h"

namespace anemone::exec {

// One step of a function as its executor planned it. Costs are those of one run; a dimension
// that depends on data counts as one.
struct PlanStep {
  std::string name;       // "projection", "rms_norm" for fused operations, else the MIL operation
  std::string operation;  // the MIL operation that it ends with, by name
  bool is_fused = false;
  bool is_view = false;  // costs nothing: a view of the same memory

  std::string form;  // of the weights of a matrix product: "int8", "int8-block", "lut4", "fp16"
  // Bytes of the constants that it reads, in the form of the package. A step of experts reads only
  // the active ones: this is the mean of the timed runs, or, before there are any, as many as the
  // tokens may activate.
  std::int64_t weight_bytes = 0;
  std::int64_t state_bytes = 0;  // of states, at most: when all their positions are in use
  std::int64_t flops = 0;        // multiplications and additions of matrix products, at most

  // `experts`: how many experts the layer has; 0 for a step without experts. `active_experts`: how
  // many of them are active per token; 0 if the program does not tell, and then the costs are those
  // of all.
  std::int64_t experts = 0;
  std::int64_t active_experts = 0;

  std::int64_t runs = 0;  // that were timed
  double seconds = 0;     // of all of them together
};

// How much memory the values of a run take.
struct PlanMemory {
  std::int64_t arena_bytes = 0;  // of the one block of memory that they share
  std::int64_t value_bytes = 0;  // of all of them, if each had memory of its own
};

// How long the steps of one run took, or of the runs of one batch together (BatchItem::times).
// Whoever asks for them clears them first: an executor adds.
struct RunTimes {
  // The steps of explain(), in their order, without times of their own; one object for all runs of
  // a plan. Null: the executor does not tell.
  std::shared_ptr<const std::vector<PlanStep>> steps;
  std::vector<double> seconds;  // of each step

  // Adds the times of one run. The times of steps other than those that are there are left out: a
  // batch whose runs have different shapes gives those of its first shapes.
  void add(const std::shared_ptr<const std::vector<PlanStep>>& steps_run,
           const std::vector<double>& seconds_run);
};

// A loaded program that tells how it runs (LoadedProgram::profiled()). Thread-safe.
class Profiled {
 public:
  virtual ~Profiled() = default;
  // The steps of the outermost block, in order. A function whose inputs have open shapes gives the
  // plan of its last run; before a run, that of the least shapes. An empty name is the default
  // function. kNotFound for an unknown one.
  virtual Result<std::vector<PlanStep>> explain(std::string_view function) const = 0;
  // The memory of the plan that explain() gives, with the same errors.
  virtual Result<PlanMemory> explain_memory(std::string_view function) const = 0;
  // Starts to time the steps of every run of the program, from zero, or stops it. A run that is not
  // timed pays one comparison. Runs in flight go on as they began.
  virtual void set_timed(bool is_timed) const = 0;
};

// Profiled::explain() of a loaded program; kUnsupported if it is not Profiled.
Result<std::vector<PlanStep>> explain(const LoadedProgram& program, std::string_view function = "");
Result<PlanMemory> explain_memory(const LoadedProgram& program, std::string_view function = "");
Status set_timed(const LoadedProgram& program, bool is_timed);

// Hands the number of active experts from one program to the next. When a layer is cut into several
// programs, a later one has the experts, but only the one before it, with the router, tells how
// many a token activates.
class ExpertsOfLayers {
 public:
  // Call it for each step in its order; a step that does not tell gets the costs of the active
  // experts.
  void apply(PlanStep& step);

 private:
  std::int64_t active_ = 0;  // of the last step that told
};

}  // namespace anemone::exec
