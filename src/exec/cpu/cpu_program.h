// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "exec/cpu/constant_folder.h"
#include "exec/cpu/function_plans.h"
#include "exec/cpu/shared_threads.h"
#include "exec/executor.h"

namespace anemone::exec {

// The place of a function by name; an empty name is the default function. kNotFound with the names
// that there are.
Result<std::size_t> index_of_function(const std::vector<std::string>& names,
                                      const std::string& default_function,
                                      std::string_view function);

// The states of all functions together. kCorrupt where two of them have one of the same name in
// different shapes.
Result<std::vector<Feature>> states_of(const std::vector<Signature>& signatures);

// A verified program, and the files in which its constants lie.
struct ProgramSource {
  std::shared_ptr<const ir::Program> program;
  std::vector<std::shared_ptr<const MappedFile>> files;

  // kIo when a file was cut: what was made of it may not be used.
  Status check() const;
};

// A planned program behind the interface. Thread-safe: what a run changes lies in a Frame of its
// own.
class CpuProgram : public LoadedProgram {
 public:
  // Prepares these functions; one signature each.
  static Result<std::shared_ptr<const CpuProgram>> prepare_and_make(
      ProgramSource source, const std::vector<const ir::Function*>& functions,
      std::vector<Signature> signatures, std::string default_function,
      std::shared_ptr<SharedThreads> threads);

  const std::vector<std::string>& functions() const override { return names_; }
  const std::string& default_function() const override { return default_function_; }
  const Signature* signature(std::string_view function) const override;
  Result<std::unique_ptr<StateStore>> make_state() const override;
  Status run(std::string_view function, const Inputs& inputs, Outputs& outputs,
             StateStore* states) const override;
  Status run_batch(std::string_view function, std::span<const BatchItem> items) const override;

  // Runs that start while it is on add to the times of their plans, which start from zero.
  // Thread-safe.
  void set_timed(bool is_timed) const;

  // The plan of the last run of a function; before one, of the least shapes that it takes.
  // kNotFound for an unknown name.
  Result<std::shared_ptr<const Plan>> plan(std::string_view function) const;

 private:
  CpuProgram(ProgramSource source, std::string default_function,
             std::shared_ptr<SharedThreads> threads);
  Status make_plans(const std::vector<const ir::Function*>& functions,
                    std::vector<Signature> signatures);
  Result<std::size_t> index_of(std::string_view function) const {
    return index_of_function(names_, default_function_, function);
  }
  Status run_together(const Plan& plan, std::span<const BatchItem> items) const;

  const ProgramSource source_;
  const std::string default_function_;
  const std::shared_ptr<SharedThreads> threads_;
  std::vector<std::string> names_;
  std::vector<Feature> states_;  // of all functions together
  mutable std::atomic<bool> is_timed_ = false;
  std::vector<std::shared_ptr<const void>> owners_;  // bytes that constants view
  ConstantFolder folder_;
  std::vector<std::unique_ptr<FunctionPlans>> functions_;
};

}  // namespace anemone::exec
