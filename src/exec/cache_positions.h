// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace anemone::exec {

// Copies `count` positions from `from_begin` on of every head of a cache [rows, heads, positions,
// dim] to those from `to_begin` on of another one, which differs from it in the number of positions
// at most.
void copy_positions(const TensorView& from, std::int64_t count, const MutableTensorView& to,
                    std::int64_t to_begin = 0, std::int64_t from_begin = 0);

}  // namespace anemone::exec
