// SPDX-License-Identifier: Apache-2.0
// What all programs of one Core ML executor share.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "exec/coreml/compiled_cache.h"
#include "exec/coreml/coreml_executor.h"
#include "exec/coreml/runtime.h"

namespace anemone::exec::coreml {

class CoreMlFunction;

// Thread-safe.
class CoreMlShared {
 public:
  CoreMlShared(std::shared_ptr<CoreMlRuntime> runtime, CoreMlOptions options);

  CoreMlRuntime& runtime() const { return *runtime_; }
  const std::shared_ptr<CoreMlRuntime>& shared_runtime() const { return runtime_; }
  CompiledCache& cache() { return cache_; }
  const CoreMlOptions& options() const { return options_; }

  void tell(const LoadEvent& event);
  // Remembers a line for CoreMlExecutor::notes(), and tells it.
  void note(std::string_view package, std::string text);
  std::vector<std::string> notes() const;

  // The functions that release_idle() may release.
  void add(CoreMlFunction* function);
  void remove(CoreMlFunction* function);
  // Releases the models of all functions that do not run now, but for one: they load again when
  // they run. Returns how many these were.
  int release_idle(const CoreMlFunction* except);

 private:
  const std::shared_ptr<CoreMlRuntime> runtime_;
  const CoreMlOptions options_;
  CompiledCache cache_;
  mutable std::mutex mutex_;  // of what follows
  std::vector<std::string> notes_;
  std::vector<CoreMlFunction*> functions_;
  std::mutex tell_mutex_;  // one event at a time
};

}  // namespace anemone::exec::coreml
