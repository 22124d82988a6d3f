// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/coreml/coreml_function.h"
#include "exec/coreml/package_models.h"
#include "exec/coreml/shared.h"
#include "exec/executor.h"
#include "exec/profile.h"

namespace anemone::exec::coreml {

// A package under Core ML. Thread-safe: runs of one function wait for each other.
class CoreMlProgram : public LoadedProgram, public Profiled {
 public:
  // Compiles the package where there is no compiled model of it, and loads functions as the options
  // say. kUnsupported where functions have states that differ, or features that are no tensors.
  static Result<std::shared_ptr<const CoreMlProgram>> make(std::shared_ptr<CoreMlShared> shared,
                                                           const std::string& package,
                                                           const LoadOptions& options);

  // Sorted by name: Core ML does not tell their order.
  const std::vector<std::string>& functions() const override { return names_; }
  // "main" where there is one, else the first: Core ML does not tell.
  const std::string& default_function() const override { return default_function_; }
  const Signature* signature(std::string_view function) const override;
  Result<std::unique_ptr<StateStore>> make_state() const override;
  Status run(std::string_view function, const Inputs& inputs, Outputs& outputs,
             StateStore* states) const override;
  Status run_batch(std::string_view function, std::span<const BatchItem> items) const override;

  Result<ComputePlan> plan(std::string_view function) const;

  // Three steps per function: "copy inputs", "predict", "copy outputs". Their costs are unknown.
  const Profiled* profiled() const override { return this; }
  Result<std::vector<PlanStep>> explain(std::string_view function) const override;
  Result<PlanMemory> explain_memory(std::string_view function) const override;
  void set_timed(bool is_timed) const override;

 private:
  CoreMlProgram();
  Result<CoreMlFunction*> find(std::string_view function) const;

  const std::uint64_t number_;  // states carry it, as they belong to this program alone
  std::shared_ptr<CoreMlShared> shared_;
  std::unique_ptr<PackageModels> models_;
  std::vector<std::string> names_;
  std::string default_function_;
  std::vector<std::unique_ptr<CoreMlFunction>> functions_;  // in the order of names_
  std::vector<Feature> states_;
};

}  // namespace anemone::exec::coreml
