// SPDX-License-Identifier: Apache-2.0
// Products whose weights the chip streams slowly, by kNotchPeriod of limits.h.
#pragma once

#include <cstdint>

namespace anemone::ane {

// What a core streams for a product of so many outputs and inputs, whose weights take `bits` each.
std::uint64_t bytes_of_a_core(std::int64_t outputs, std::int64_t inputs, int bits);

bool is_in_notch(std::uint64_t bytes);  // of a core

// Whether a product with fp16 weights, the only ones that were measured, is in the notch.
bool is_slow_product(std::int64_t outputs, std::int64_t inputs);

}  // namespace anemone::ane
