// SPDX-License-Identifier: Apache-2.0
// The tables of which laws.cc makes one list. Each stands in a file of its own name, with the
// functions that find what breaks its laws.
#pragma once

#include <span>

#include "ane/law.h"

namespace anemone::ane {

// For Evidence::is_against in the rows of the tables: the report contradicts the law.
inline constexpr bool kAgainst = true;

std::span<const Law> weight_laws();     // how weights are stored
std::span<const Law> interface_laws();  // states, inputs, outputs, and their shapes
std::span<const Law> operation_laws();  // operations, and how large their operands are
std::span<const Law> device_laws();     // operations and types that the chip does not run
std::span<const Law> numeric_laws();    // what numbers come out
std::span<const Law> runtime_laws();    // loading, placing and running packages
std::span<const Law> private_laws();    // the private API, without Core ML
std::span<const Law> speed_laws();      // speed and energy
std::span<const Law> size_laws();       // bytes, layers and functions of packages

}  // namespace anemone::ane
