// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "exec/cpu/constant_folder.h"
#include "exec/cpu/function_plans.h"
#include "exec/cpu/loaded_constants.h"
#include "exec/cpu/shared_resources.h"
#include "exec/executor.h"
#include "exec/profile.h"

namespace anemone::exec {

// A verified program, and the files in which its constants lie.
struct ProgramSource {
  std::shared_ptr<const ir::Program> program;
  std::vector<std::shared_ptr<const MappedFile>> files;

  // kIo when a file was cut: what was made of it may not be used.
  Status check() const;
};

// A verified program whose functions are planned, all of them when it is made or each when it first
// runs. Thread-safe: what a run changes lies in a Frame of its own.
class CpuProgram : public LoadedProgram, public Profiled {
 public:
  // Makes a program of these functions, at least one, with one signature each. kCorrupt where two
  // of them have a state of one name in different shapes. `when_first_run`: LoadOptions.
  static Result<std::shared_ptr<const CpuProgram>> make(
      ProgramSource source, const std::vector<const ir::Function*>& functions,
      std::vector<Signature> signatures, std::string default_function, bool when_first_run,
      std::shared_ptr<SharedResources> shared);

  const std::vector<std::string>& functions() const override { return names_; }
  const std::string& default_function() const override { return default_function_; }
  const Signature* signature(std::string_view function) const override;
  Result<std::unique_ptr<StateStore>> make_state() const override;
  Status run(std::string_view function, const Inputs& inputs, Outputs& outputs,
             StateStore* states) const override;
  Status run_batch(std::string_view function, std::span<const BatchItem> items) const override;
  bool reads_weights_once() const override { return !shared_->is_reference; }

  void for_each(std::size_t count, const std::function<void(std::size_t)>& body) const override;
  std::vector<std::string> mask_inputs(std::string_view function) const override;

  const Profiled* profiled() const override { return this; }
  Result<std::vector<PlanStep>> explain(std::string_view function) const override;
  Result<PlanMemory> explain_memory(std::string_view function) const override;
  void set_timed(bool is_timed) const override;

  // The plan of the last run of a function; before one, of the least shapes that it takes, made now
  // if it was not. kNotFound for an unknown name.
  Result<std::shared_ptr<const ExecutionPlan>> plan(std::string_view function) const;

 private:
  struct Entry {
    const ir::Function* function = nullptr;
    std::shared_ptr<const Signature> signature;
    std::unique_ptr<FunctionPlans> plans = nullptr;  // null until made; then it stays
  };

  CpuProgram(ProgramSource source, std::string default_function,
             std::shared_ptr<SharedResources> shared);
  // The place of a function by name; an empty name is the default function. kNotFound with the
  // names that there are.
  Result<std::size_t> index_of(std::string_view function) const;
  // The plans of one function, made now if they were not.
  Result<FunctionPlans*> plans_of(std::string_view function) const;
  // Makes the plans of entries that have none, together, so that constants they share are evaluated
  // once. Requires mutex_.
  Status make_plans(std::span<Entry> entries) const;
  // One run some of whose caches the function cannot work on in place. `times` may be null.
  Status run_with_copies(const ExecutionPlan& plan, const BatchItem& item, RunTimes* times) const;
  // `times` may be null.
  Status run_together(const ExecutionPlan& plan, std::span<const BatchItem> items,
                      RunTimes* times) const;

  const ProgramSource source_;
  const std::string default_function_;
  const std::shared_ptr<SharedResources> shared_;
  std::vector<std::string> names_;
  std::vector<Feature> states_;  // of all functions together
  mutable std::atomic<bool> is_timed_ = false;
  mutable ConstantFolder folder_;  // outlives the plans
  mutable std::mutex mutex_;       // of what follows
  mutable LoadedConstants constants_;
  mutable std::vector<Entry> entries_;  // their number and signatures never change
};

}  // namespace anemone::exec
