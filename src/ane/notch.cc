// SPDX-License-Identifier: Apache-2.0
#include "ane/notch.h"

#include <algorithm>

#include "ane/limits.h"

namespace anemone::ane {

std::uint64_t bytes_of_a_core(std::int64_t outputs, std::int64_t inputs, int bits) {
  const std::int64_t rows = (outputs + kCores - 1) / kCores;
  return static_cast<std::uint64_t>(rows * inputs) * static_cast<std::uint64_t>(bits) / 8;
}

bool is_in_notch(std::uint64_t bytes) {
  const std::uint64_t beyond = bytes % kNotchPeriod;
  return bytes + kNotchWindow >= kNotchPeriod &&
         std::min(beyond, kNotchPeriod - beyond) <= kNotchWindow;
}

bool is_slow_product(std::int64_t outputs, std::int64_t inputs) {
  return is_in_notch(bytes_of_a_core(outputs, inputs, 16));
}

}  // namespace anemone::ane
