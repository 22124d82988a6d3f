// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/runtime.h"

namespace anemone::exec::coreml {

std::string_view units_name(ComputeUnits units) {
  switch (units) {
    case ComputeUnits::kCpuOnly:
      return "cpu";
    case ComputeUnits::kCpuAndGpu:
      return "cpu+gpu";
    case ComputeUnits::kAll:
      return "all";
    case ComputeUnits::kCpuAndNeuralEngine:
      return "cpu+ane";
  }
  return "unknown";
}

std::string_view device_name(Device device) {
  switch (device) {
    case Device::kNeuralEngine:
      return "ane";
    case Device::kGpu:
      return "gpu";
    case Device::kCpu:
      return "cpu";
    case Device::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace anemone::exec::coreml
