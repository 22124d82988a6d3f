// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <functional>

#include "quant/matrix_source.h"
#include "quant/quant_error.h"
#include "tensor/tensor.h"

namespace anemone::quant {

// Makes integers of one row of floats; both have a matrix's columns(). `restored` is empty, or as
// long as they are and gets what the integers stand for.
using RowQuantizer = std::function<void(std::int64_t row, std::span<const float> values,
                                        std::span<std::int32_t> quants, std::span<float> restored)>;

// A projection weight of an integer type of at most 8 bits, packed, from a pass over the matrix
// that holds a few rows at a time. `error` may be null.
Result<Tensor> pack_rows(const MatrixSource& matrix, DType dtype, const RowQuantizer& quantize,
                         QuantError* error);

// The largest divisor of `size` that is not above `wanted`: blocks and groups must fit exactly.
std::int64_t fitting_divisor(std::int64_t size, std::int64_t wanted);

}  // namespace anemone::quant
