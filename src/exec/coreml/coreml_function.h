// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exec/coreml/binding_plan.h"
#include "exec/coreml/coreml_state.h"
#include "exec/coreml/package_models.h"
#include "exec/coreml/runtime.h"
#include "exec/coreml/shared.h"
#include "exec/executor.h"
#include "exec/profile.h"

namespace anemone::exec::coreml {

// Where the time of the runs of a function goes.
struct PhaseTimes {
  // kStage: inputs that have to be copied; kPredict: Core ML; kTake: outputs and appended rows.
  enum Phase : std::size_t { kStage, kPredict, kTake, kPhases };
  std::array<double, kPhases> seconds{};
  std::int64_t runs = 0;
};

// The phases as the steps of a function; their costs are unknown.
const std::shared_ptr<const std::vector<PlanStep>>& phase_steps();

// One function of a package, loaded when it first runs or is told to. Thread-safe; one run at a
// time, since Core ML allows one prediction at a time with one model.
class CoreMlFunction {
 public:
  // `load_name` is the name by which Core ML loads it.
  CoreMlFunction(std::shared_ptr<CoreMlShared> shared, PackageModels& models, std::string name,
                 std::string load_name, ModelInfo info, Signature signature);
  ~CoreMlFunction();

  const std::string& name() const { return name_; }
  const Signature& signature() const { return signature_; }

  const std::string& load_name() const { return load_name_; }

  // Loads it where it is not loaded; ok otherwise.
  Status load();
  // Runs an item that passed check_item(). `states` serves this function, or it has none. An error
  // that retrying may mend is retried where the function has no states, whose values would be
  // unspecified by then.
  Status run(const BatchItem& item, CoreMlStateStore* states);
  // Moves states to the model of this function, which is loaded for it.
  Status prepare(CoreMlStateStore& states);

  // Releases the model if no run uses it. False where one does, or nothing is loaded.
  bool release_if_idle();

  void set_timed(bool is_timed);
  PhaseTimes times() const;
  std::int64_t staging_bytes() const;  // as the last run needed them

 private:
  // Dense memory for what does not lie in the caller's, reused from run to run.
  struct Staging {
    std::vector<std::byte> bytes;
    Tensor tensor;  // the second one of a cache that is replaced
  };

  Status load_locked();  // requires mutex_
  // One run without a second try. Requires mutex_ and a loaded model.
  Status run_once(const BatchItem& item, StateHandle states, const PackageModels::Loaded& model,
                  Failure& failure);
  Failure warm_up(const PackageModels::Loaded& model);
  Array staging_for(const std::string& key, DType dtype, const Shape& shape,
                    const BufferNeed& need);
  // Where Core ML should write an output; no memory: nowhere.
  Array backing_of(const PlannedOutput& output, Outputs& outputs);
  Status take(const PlannedOutput& output, const Array& array, bool is_in_backing,
              Outputs& outputs);

  const std::shared_ptr<CoreMlShared> shared_;
  PackageModels& models_;
  const std::string name_;
  const std::string load_name_;
  const ModelInfo info_;
  const Signature signature_;
  std::atomic<bool> is_timed_ = false;
  mutable std::mutex mutex_;  // of what follows; held while it loads and runs
  PackageModels::Loaded model_;
  std::map<std::string, Staging, std::less<>> staging_;  // by input or output, "i NAME", "o NAME"
  mutable std::mutex times_mutex_;
  PhaseTimes times_;
  std::atomic<std::int64_t> staging_bytes_ = 0;
};

}  // namespace anemone::exec::coreml
