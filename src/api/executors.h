// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exec/executor.h"

namespace anemone::api {

// Stands among the names of instruction sets for the reference interpreter, without fusions.
inline constexpr std::string_view kReferenceIsa = "reference";

struct ExecutorOptions {
  int threads = 0;  // 0: as many as this process may use
  // The instructions that kernels use, one of isa_names(). Empty: the best of this processor.
  std::string isa = {};
  bool maps_weights = true;  // exec::CpuOptions says what the other choice gives
  // How the CPU executor computes gated delta nets: "exact", or "chunked", which exec::CpuOptions
  // explains. Empty: exact.
  std::string delta_net = {};
  // "cpu", "coreml" or, in builds that have it, "ane-direct" (docs/ane-direct.md); empty: cpu.
  std::string kind = {};
  // Gives the folder of the models that Core ML compiled, which is private to the user. Called for
  // coreml alone, which needs it.
  std::function<Result<std::string>()> coreml_cache = {};
  // For coreml: a package that Core ML cannot load for the Neural Engine runs on the CPU, with a
  // note; else its load fails.
  bool falls_back = true;
  // What the user should know of a load, such as a package that runs on the CPU. May be null.
  std::function<void(std::string_view)> on_note = {};
  // When it becomes true, waiting for another process that compiles for Core ML ends. May be null;
  // outlives the executor.
  const std::atomic<bool>* cancel = nullptr;
};

// The executor of this machine. The one place that names an implementation: callers above see the
// interface alone. kInvalidArgument for an unknown kind and for instructions that the processor
// does not have; kUnsupported for Core ML and the private client where there is none.
Result<std::unique_ptr<exec::Executor>> make_executor(const ExecutorOptions& options = {});

// The values of ExecutorOptions::isa: the instruction sets that anemone has kernels for, on this
// processor or another, and kReferenceIsa.
std::vector<std::string> isa_names();

// An executor that anemone knows, and whether this build can make it; for reports.
struct ExecutorChoice {
  std::string_view name;
  bool is_available = false;
  std::string_view note;  // what it is, or why it is not there
};
std::vector<ExecutorChoice> executor_choices();

}  // namespace anemone::api
