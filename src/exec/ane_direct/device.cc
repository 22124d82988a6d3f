// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/device.h"

#include <utility>

#include "base/error.h"
#include "exec/ane_direct/port_order.h"
#include "exec/ane_direct/text_form.h"

namespace anemone::exec::ane_direct {

Device::Device(std::shared_ptr<AneRuntime> runtime, const DeviceOptions& options)
    : runtime_(std::move(runtime)), options_(options), target_(target_for(runtime_->chip())) {
  if (options_.budget == nullptr) options_.budget = &process_budget();
}

Result<std::shared_ptr<const Device>> Device::open(std::shared_ptr<AneRuntime> runtime,
                                                   const DeviceOptions& options) {
  constexpr std::uint32_t kMostQos = 63;
  if (options.qos > kMostQos)
    return invalid_argument("[quality of service] expected 0 to {}, got {}", kMostQos, options.qos);
  if (runtime == nullptr)
    return unsupported(
        "[Neural Engine] expected a build with ANEMONE_PRIVATE_ANE on macOS, got none");
  const std::shared_ptr<Device> device(new Device(std::move(runtime), options));
  ANEMONE_ASSIGN_OR_RETURN(device->bindings_, measure_port_order(device));
  return std::shared_ptr<const Device>(device);
}

}  // namespace anemone::exec::ane_direct
