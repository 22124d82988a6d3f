// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "exec/cpu/cpu_program.h"
#include "exec/executor.h"
#include "ir/program.h"

namespace anemone::exec {

// A verified program whose functions are prepared when they first run, each by itself
// (LoadOptions::when_first_run). Thread-safe.
class LazyProgram : public LoadedProgram {
 public:
  // One signature per function, in their order; at least one.
  static Result<std::shared_ptr<const LazyProgram>> make(
      ProgramSource source, const std::vector<const ir::Function*>& functions,
      std::vector<Signature> signatures, std::string default_function,
      std::shared_ptr<SharedResources> shared);

  const std::vector<std::string>& functions() const override { return names_; }
  const std::string& default_function() const override { return default_function_; }
  const Signature* signature(std::string_view function) const override;
  Result<std::unique_ptr<StateStore>> make_state() const override;
  Status run(std::string_view function, const Inputs& inputs, Outputs& outputs,
             StateStore* states) const override;
  Status run_batch(std::string_view function, std::span<const BatchItem> items) const override;

  // The program of one function, prepared now if it was not. kNotFound for an unknown name.
  Result<const CpuProgram*> prepared(std::string_view function) const;
  // Applies to functions that are prepared later, too.
  void set_timed(bool is_timed) const;

 private:
  struct Entry {
    const ir::Function* function = nullptr;
    Signature signature;
    std::shared_ptr<const CpuProgram> program;  // null until it first runs; then it stays
  };

  LazyProgram(ProgramSource source, std::string default_function, std::vector<Feature> states,
              std::shared_ptr<SharedResources> shared)
      : source_(std::move(source)),
        default_function_(std::move(default_function)),
        states_(std::move(states)),
        shared_(std::move(shared)) {}

  const ProgramSource source_;
  const std::string default_function_;
  const std::vector<Feature> states_;  // of all functions together
  const std::shared_ptr<SharedResources> shared_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::vector<Entry> entries_;
  mutable bool is_timed_ = false;
};

}  // namespace anemone::exec
