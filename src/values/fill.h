// SPDX-License-Identifier: Apache-2.0
// Tensors made up for a try.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"

namespace anemone::values {

// The same number in every element. kInvalidArgument for a shape of more than 2^30 elements, else
// the errors of convert().
Result<Tensor> filled(DType dtype, const Shape& shape, std::int64_t value,
                      std::string_view subject);

// Random numbers, the same on every machine for one seed: floats in [0, 1); 0 or 1 for integers,
// which any table of indices takes; for pictures whole numbers in 0..255. The errors of filled().
Result<Tensor> random(DType dtype, const Shape& shape, std::uint64_t seed, bool is_picture,
                      std::string_view subject);

}  // namespace anemone::values
