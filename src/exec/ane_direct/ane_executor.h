// SPDX-License-Identifier: Apache-2.0
// The CPU engine with its products on the Neural Engine, through the private classes.
#pragma once

#include <anemone/status.h>

#include <functional>
#include <memory>
#include <string_view>

#include "exec/ane_direct/device.h"
#include "exec/ane_direct/offload.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/executor.h"

namespace anemone::exec::ane_direct {

struct AneExecutorOptions {
  CpuOptions cpu = {};  // of everything else; `offload` is set here
  DeviceOptions device = {};
  // Told of each product that stays on the CPU or goes back to it, one at a time, from any thread.
  // May be null.
  std::function<void(std::string_view)> on_note = {};
};

// Loads packages as the CPU executor does. Products with constant matrices run on the chip, in
// blocks of 32 tokens, where it takes them and computes what the CPU engine computes; attention,
// norms and caches stay on the CPU. Results differ from those of the CPU engine by the rounding of
// fp16. Loading compiles a program per matrix, so that a process offloads the first 95 matrices
// that it loads. Thread-safe.
class AneExecutor : public Executor {
 public:
  virtual KernelOffload::Counts counts() const = 0;
};

// kUnsupported without a runtime, kInvalidArgument with options for the reference interpreter,
// kDevice where the chip fails its self-test.
Result<std::unique_ptr<AneExecutor>> make_ane_executor(std::shared_ptr<AneRuntime> runtime,
                                                       AneExecutorOptions options = {});

}  // namespace anemone::exec::ane_direct
