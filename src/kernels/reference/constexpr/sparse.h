// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace anemone::kernels::reference {

// Row-major positions of the ones of a uint1 mask. An error with `label` when there are not
// `count`.
Result<std::vector<std::int64_t>> positions_of(const TensorView& mask, std::int64_t count,
                                               std::string_view label);

}  // namespace anemone::kernels::reference
