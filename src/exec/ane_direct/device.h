// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>

#include "exec/ane_direct/binding_plan.h"
#include "exec/ane_direct/compile_budget.h"
#include "exec/ane_direct/runtime.h"
#include "ir/opset.h"

namespace anemone::exec::ane_direct {

struct DeviceOptions {
  CompileBudget* budget = nullptr;  // null: process_budget(); outlives the device
  std::uint32_t qos = kQos;         // 0 to 63
  // How long after a failed load it is tried once more.
  int load_pause_ms = 100;
};

// The Neural Engine as one process has found it. Immutable, thread-safe, shared by all kernels.
class Device {
 public:
  // Measures the order of surfaces (port_order.h), which takes one compilation. kDevice where the
  // chip computes something else than it should, or nothing.
  static Result<std::shared_ptr<const Device>> open(std::shared_ptr<AneRuntime> runtime,
                                                    const DeviceOptions& options = {});

  AneRuntime& runtime() const { return *runtime_; }
  CompileBudget& budget() const { return *options_.budget; }
  const DeviceOptions& options() const { return options_; }
  const BindingOptions& bindings() const { return bindings_; }
  ir::Opset target() const { return target_; }

 private:
  Device(std::shared_ptr<AneRuntime> runtime, const DeviceOptions& options);

  const std::shared_ptr<AneRuntime> runtime_;
  DeviceOptions options_;
  BindingOptions bindings_;
  ir::Opset target_;
};

}  // namespace anemone::exec::ane_direct
