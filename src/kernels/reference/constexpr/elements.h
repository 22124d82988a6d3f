// SPDX-License-Identifier: Apache-2.0
// Bulk access to compressed elements: weights have millions of them.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace anemone::kernels::reference {

// Elements [begin, begin + out.size()) of a float, 8-bit or sub-byte tensor as float.
void read_floats(const TensorView& view, std::int64_t begin, std::span<float> out);
// Reads elements of unsigned integers of at most 8 bits, as indices.
void read_indices(const TensorView& view, std::int64_t begin, std::span<std::int32_t> out);
// Elements [begin, begin + in.size()) of a fp16 or fp32 tensor.
void write_floats(std::span<const float> in, const MutableTensorView& view, std::int64_t begin);

// A packed stream of bytes, as Core ML held it before sub-byte dtypes, as a tensor.
TensorView as_packed(const TensorView& bytes, DType dtype, const Shape& shape);

}  // namespace anemone::kernels::reference
