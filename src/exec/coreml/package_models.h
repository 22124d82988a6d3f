// SPDX-License-Identifier: Apache-2.0
// The compiled model of one package and the units that it is loaded for, both of which may change
// when Core ML refuses a function.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "exec/coreml/compiled_cache.h"
#include "exec/coreml/error_map.h"
#include "exec/coreml/runtime.h"
#include "exec/coreml/shared.h"

namespace anemone::exec::coreml {

// Thread-safe.
class PackageModels {
 public:
  // Compiles the package where there is no compiled model of it. Errors: CompiledCache::get().
  static Result<std::unique_ptr<PackageModels>> open(std::shared_ptr<CoreMlShared> shared,
                                                     const std::string& package);

  // Models of one revision have one compiled model and one kind of units, so they share states.
  std::uint64_t revision() const { return revision_; }
  const std::string& name() const { return name_; }  // the last part of the package's path

  // Functions, and interfaces with the features in the order of their names. A compiled model that
  // cannot be read is made again once.
  Result<std::vector<std::string>> functions();
  Result<ModelInfo> describe(const std::string& function);

  // The plan of CoreMlRuntime for the compute units that functions are loaded for.
  Result<ComputePlan> plan(const std::string& function);

  struct Loaded {
    ModelHandle model = ModelHandle::kNone;
    std::uint64_t revision = 0;
  };
  // Loads a function and lets `warm_up` run it. Where one of the two fails, this helps if the cause
  // allows it, in this order, each once: to compile the package again; to release functions that do
  // not run; to load for the CPU. The first and the last start a new revision, since they change
  // something that models share. One load at a time. `self` is not released.
  using WarmUp = std::function<Failure(const Loaded&)>;
  Result<Loaded> load(const std::string& function, const WarmUp& warm_up,
                      const CoreMlFunction* self);

  // Compiles the package again, after a run failed for a cause that this may mend. Nothing where it
  // was done before.
  Status renew_once();

 private:
  PackageModels(std::shared_ptr<CoreMlShared> shared, std::string package, CompiledModel compiled);
  // One try, without remedies.
  Outcome<Loaded> try_load(const std::string& function, const WarmUp& warm_up);
  Status renew();  // requires mutex_

  const std::shared_ptr<CoreMlShared> shared_;
  const std::string package_;
  const std::string name_;
  std::atomic<std::uint64_t> revision_ = 1;
  std::mutex mutex_;  // of what follows, and of loads
  CompiledModel compiled_;
  ComputeUnits units_;
  bool was_renewed_ = false;
};

}  // namespace anemone::exec::coreml
