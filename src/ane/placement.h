// SPDX-License-Identifier: Apache-2.0
// Where Core ML will run each operation, as far as the laws tell: what breaks a law with an effect
// leaves the chip, and everything else stays there. The prediction is of a Mac or iPhone that is
// asked for the CPU and the Neural Engine. Nothing here has been compared with a chip of ours; the
// tests compare it with what others measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ane/chip.h"
#include "ane/law.h"

namespace anemone::ane {

enum class Device { kNeuralEngine, kCpu };
std::string_view device_name(Device device);  // "ane", "cpu"

// An operation beside constants and what restores them.
struct PlacedOperation {
  std::string name;         // for people: other operations may have the same, or none has one
  std::string type;         // "conv"
  bool is_product = false;  // ops::is_product()
  Device device = Device::kNeuralEngine;
  const Law* law = nullptr;           // that took it off the chip; nullptr on the chip
  std::uint64_t multiplications = 0;  // each with an addition
  std::uint64_t weight_bytes = 0;     // as they are stored
  std::size_t index = 0;              // in SurveyedFunction::operations
};

// What a function computes, moves and keeps.
struct PlacedFunction {
  std::string name;
  std::vector<PlacedOperation> operations;  // in the order of the program
  std::uint64_t weight_bytes = 0;           // stored; a constant with several readers counts once
  std::uint64_t interface_bytes = 0;        // inputs and outputs of a run
  std::uint64_t state_bytes = 0;

  std::size_t count(Device device) const;
  std::size_t products() const;
  std::size_t products_on(Device device) const;
  std::uint64_t multiplications() const;
  std::uint64_t multiplications_on(Device device) const;
  // How often a run goes from one device to another between two operations in a row.
  std::size_t transitions() const;
};

// The functions of a package, by what was found in it.
std::vector<PlacedFunction> place(const Package& package, std::span<const Finding> findings);

// How long a run takes at least: bytes at the rate of the chip's memory or multiplications at its
// own rate, whichever is longer, and kDispatchSeconds for the run and for each transition. What the
// CPU runs is counted at the chip's rates, too, so that it is a lower bound.
struct Estimate {
  double seconds = 0;
  bool is_bound_by_bytes = true;
};
inline constexpr double kDispatchSeconds = 95e-6;  // Orion, measured (M4 Max)
Estimate estimate(const PlacedFunction& function, const Chip& chip);

}  // namespace anemone::ane
