// SPDX-License-Identifier: Apache-2.0
// A CoreMlRuntime for tests. It runs packages by the CPU engine and enforces every rule of
// exec/coreml/runtime.h: what breaks one ends with an error of kMisuseDomain and is kept in
// violations(). It behaves as badly as Core ML may: outputs and states may be padded, with NaN in
// the gaps, states move between calls, outputs may ignore their backings, the order of features is
// not that of the package, and after an error everything unspecified is NaN.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "exec/coreml/error_map.h"
#include "exec/coreml/runtime.h"
#include "exec/executor.h"

namespace anemone::exec::coreml::testing {

// An error to be given in the place of a result.
struct Fault {
  enum class Call { kCompile, kFunctions, kDescribe, kLoad, kMakeState, kAccess, kPredict, kPlan };
  Call call = Call::kLoad;
  RuntimeError error;
  int times = 1;              // that often, then no more; -1: for ever
  std::string function = {};  // of that function only, unless empty; kLoad, kPredict, kPlan
  std::vector<ComputeUnits> units = {};  // of a model for these units only, unless empty
  int after = 0;                         // so many calls go well first
};

struct CheckedOptions {
  MachineInfo machine = {"25F71", "Mac16,10", true};
  std::int64_t row_bytes = 0;        // FeatureInfo::row_bytes of all inputs and outputs
  bool uses_backings = true;         // else outputs come in other memory
  std::int64_t given_row_bytes = 0;  // rows of such memory, and of states that are accessed
  // Where plan() puts operations, by name or, for all of a type, by type; the others go to the
  // chip.
  std::map<std::string, Device> devices = {};
  // Operations, by name, that are compiled as another type with the same parameters: a compiler
  // that computes one operation wrongly.
  std::map<std::string, std::string> miscompiled = {};
};

class CheckedRuntime : public CoreMlRuntime {
 public:
  explicit CheckedRuntime(CheckedOptions options = {});
  ~CheckedRuntime() override;

  MachineInfo machine() const override;
  Failure compile(const std::string& package, const std::string& target) override;
  Outcome<std::vector<std::string>> functions(const std::string& compiled) override;
  Outcome<ModelInfo> describe(const std::string& compiled, const std::string& function) override;
  Outcome<ModelHandle> load(const std::string& compiled, const ModelOptions& options) override;
  void release(ModelHandle model) override;
  Outcome<StateHandle> make_state(ModelHandle model) override;
  void release(StateHandle state) override;
  Failure access_state(StateHandle state, const std::string& name,
                       const std::function<void(const Array&)>& access) override;
  Failure predict(ModelHandle model, const Prediction& prediction) override;
  Outcome<ComputePlan> plan(const std::string& compiled, const ModelOptions& options) override;

  void inject(Fault fault);
  void clear_faults();
  void set_machine(MachineInfo machine);
  // Called while a compilation is half done, with its target; and while a prediction runs.
  std::function<void(const std::string&)> in_compile;
  std::function<void()> in_predict;

  // What broke a rule, in order.
  std::vector<std::string> violations() const;
  int compiles() const { return compiles_; }
  int loads() const { return loads_; }
  int predictions() const { return predictions_; }
  int live_models() const;
  int live_states() const;
  // Units of the models that were loaded last, by function.
  std::map<std::string, ComputeUnits> units() const;

 private:
  struct Compiled;
  struct Model;
  struct State;
  // Marks a model or a state as in use for the time of a call.
  class Use;

  RuntimeError misuse(const std::string& text);
  Failure fault(Fault::Call call, const std::string& function = {},
                ComputeUnits units = ComputeUnits::kAll);
  Outcome<std::shared_ptr<Compiled>> open(const std::string& compiled);
  Outcome<std::shared_ptr<Model>> find(ModelHandle model);
  Outcome<std::shared_ptr<State>> find(StateHandle state);
  Failure check(const Model& model, const Prediction& prediction, const State* state);
  Failure check_array(const FeatureInfo& feature, const Array& array, const char* what);
  void give(const FeatureInfo& feature, const Tensor& result, const Prediction& prediction) const;

  mutable std::mutex mutex_;  // of what follows
  CheckedOptions options_;
  std::vector<Fault> faults_;
  std::vector<std::string> violations_;
  std::map<std::string, std::weak_ptr<Compiled>> compiled_;  // by path and inode
  std::map<ModelHandle, std::shared_ptr<Model>> models_;
  std::map<StateHandle, std::shared_ptr<State>> states_;
  std::map<std::string, ComputeUnits> units_;
  std::uint64_t next_ = 1;
  std::atomic<int> compiles_ = 0;
  std::atomic<int> loads_ = 0;
  std::atomic<int> predictions_ = 0;
};

}  // namespace anemone::exec::coreml::testing
