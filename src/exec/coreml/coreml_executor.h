// SPDX-License-Identifier: Apache-2.0
// Runs packages by Core ML. Everything here is plain C++ over a CoreMlRuntime (runtime.h).
// docs/coreml-executor.md says how it is layered, and what of it was never run on a Mac.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exec/coreml/runtime.h"
#include "exec/executor.h"

namespace anemone::exec::coreml {

// What a load is doing, for progress bars and reports.
struct LoadEvent {
  enum class Stage {
    kHashing,    // of the package, whose compiled model is looked for
    kWaiting,    // for another process that compiles it; about once a second
    kCompiling,  //
    kCompiled,   // `seconds` since kHashing; `text` is "compiled" or "found"
    kLoaded,     // a function; `seconds` of the load
    kWarm,       // a function ran once; `seconds` of the run
    kNote,       // something that the user should know: `text`
  };
  Stage stage = Stage::kHashing;
  std::string_view package;   // the last part of its path
  std::string_view function;  // kLoaded, kWarm
  double seconds = 0;
  std::string_view text;
};

struct CoreMlOptions {
  // The folder of compiled models (compiled_cache.h), which is private to the user.
  std::string cache_folder;
  ComputeUnits units = ComputeUnits::kCpuAndNeuralEngine;
  bool specializes_for_speed = false;  // ModelOptions
  // Runs every function once with zeros when it is loaded: a load that succeeds proves nothing, and
  // the first run may take minutes.
  bool warms_up = true;
  // Runs a package on the CPU, with a note, where Core ML cannot load it for `units`.
  bool falls_back = true;
  // One call at a time, from the threads that load and run, with locks held: of the executor it may
  // call notes() alone. May be null.
  std::function<void(const LoadEvent&)> on_event = nullptr;
  // Ends waiting for another process's compilation. May be null; outlives the executor.
  const std::atomic<bool>* cancel = nullptr;
};

class CoreMlExecutor : public Executor {
 public:
  // Lines on what did not go as asked, such as a package that runs on the CPU, in their order.
  virtual std::vector<std::string> notes() const = 0;
  virtual MachineInfo machine() const = 0;
};

// What Core ML expects of the operations of a function (residency.h). kInvalidArgument for a
// program of another executor, kNotFound for an unknown function, and what map_error() makes of
// others.
Result<ComputePlan> compute_plan(const LoadedProgram& program, std::string_view function = "");

// Functions load when a program is loaded, or when they first run (LoadOptions::when_first_run).
// Programs may outlive the executor. Runs of one function go one after the other, runs of different
// functions in parallel. `runtime` is not null.
std::unique_ptr<CoreMlExecutor> make_coreml_executor(std::shared_ptr<CoreMlRuntime> runtime,
                                                     const CoreMlOptions& options);

}  // namespace anemone::exec::coreml
