// SPDX-License-Identifier: Apache-2.0
// The plans of one function: one where its inputs have fixed shapes, else one for each set of
// shapes that it was lately run with. Caches that it appends to in place count as one shape,
// however long they are.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "exec/cpu/constant_folder.h"
#include "exec/cpu/interpreter.h"
#include "exec/cpu/op_times.h"
#include "exec/cpu/prepared_program.h"
#include "exec/cpu/shared_resources.h"
#include "exec/executor.h"
#include "exec/profile.h"

namespace anemone::exec {

// A function planned for one set of input shapes, with the frames that finished runs leave for the
// next ones. Thread-safe.
class ExecutionPlan {
 public:
  ExecutionPlan(PreparedFunction function, std::shared_ptr<MemoryLimit> limit)
      : function_(std::move(function)),
        limit_(std::move(limit)),
        times_(function_.block.ops.size()) {}

  const PreparedFunction& function() const { return function_; }
  OpTimes& times() const { return times_; }
  // The steps of explain(), without times; always the same object.
  std::shared_ptr<const std::vector<PlanStep>> steps() const;
  // A frame for one run, to be given back after it. kOutOfMemory.
  Result<std::unique_ptr<Frame>> take_frame() const;
  void give_frame(std::unique_ptr<Frame> frame) const;

 private:
  const PreparedFunction function_;
  const std::shared_ptr<MemoryLimit> limit_;
  mutable OpTimes times_;
  mutable std::mutex mutex_;                                    // of what follows
  mutable std::shared_ptr<const std::vector<PlanStep>> steps_;  // null until somebody asks
  mutable std::vector<std::unique_ptr<Frame>> idle_frames_;
};

// One per input of a function, in the order of PreparedFunction::inputs.
using InputShapes = std::vector<Shape>;

// Whether the inputs may have different shapes from run to run.
bool has_open_shapes(const PreparedFunction& function);
// The smallest that the inputs may have; an open dimension without limits is one.
InputShapes least_shapes(const PreparedFunction& function);
// A prepared function as if the program declared these shapes. Shares all constants.
PreparedFunction with_shapes(const PreparedFunction& function, const InputShapes& shapes);

// Thread-safe. Runs of one function wait while a plan is made for it, which takes milliseconds.
class FunctionPlans {
 public:
  // A chat takes turns between single tokens, whole chunks and the rest of a prompt; a server has
  // rests of several prompts at a time. More plans would be kept for shapes that do not come back:
  // each holds the memory of its values.
  static constexpr std::size_t kMaxPlans = 8;

  // A function of fixed shapes, planned.
  FunctionPlans(PreparedFunction planned, SharedResources& shared);
  // `open` is prepared only; `first` is the plan for its least shapes. The references outlive this.
  FunctionPlans(PreparedFunction open, PreparedFunction first, ConstantFolder& folder,
                SharedResources& shared);

  const Signature& signature() const { return *signature_; }
  // The plan for the inputs of an item that has passed check_item(). It is made now unless one of
  // the last kMaxPlans plans fits.
  Result<std::shared_ptr<const ExecutionPlan>> find(const BatchItem& item);
  // The plan that was found last; at first that of the least shapes.
  std::shared_ptr<const ExecutionPlan> last() const;
  void reset_times() const;

 private:
  struct Entry {
    InputShapes shapes;
    std::shared_ptr<const ExecutionPlan> plan;  // shared with the runs that use it
  };

  const std::shared_ptr<const Signature> signature_;
  const std::optional<PreparedFunction> open_;
  std::vector<std::size_t> appended_;  // inputs that `first` can append to in place
  ConstantFolder* const folder_ = nullptr;
  SharedResources& shared_;
  mutable std::mutex mutex_;    // guards entries_, which never change without `open_`
  std::vector<Entry> entries_;  // most recently used first; never empty
};

}  // namespace anemone::exec
