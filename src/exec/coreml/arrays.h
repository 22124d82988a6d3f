// SPDX-License-Identifier: Apache-2.0
// Arrays whose rows may be padded, and what lies between them and dense tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/coreml/runtime.h"
#include "tensor/tensor.h"

namespace anemone::exec::coreml {

// Strides in elements of an array whose rows (the last axis) take a multiple of `row_bytes`; 0: a
// dense one. The last axis itself has no gaps.
std::vector<std::int64_t> padded_strides(DType dtype, const Shape& shape, std::int64_t row_bytes);

// Bytes from the first element to the end of the last one; 0 without elements. Saturates at the
// largest number, so that no memory is large enough for strides that overflow.
std::uint64_t extent_bytes(DType dtype, const Shape& shape,
                           const std::vector<std::int64_t>& strides);
// Bytes of a buffer with padded_strides(): the last row is padded like the others.
std::uint64_t padded_bytes(DType dtype, const Shape& shape, std::int64_t row_bytes);

bool is_dense(const Array& array);
// Whether the rows of an array take a multiple of `row_bytes`; always, where that is 0.
bool has_row_bytes(const Array& array, std::int64_t row_bytes);

// The array of a dense tensor. The elements of an input are only read, whatever the type says.
Array array_of(const MutableTensorView& view);
Array array_of(const TensorView& view);

// Copies all elements; both have one dtype, of whole bytes, and one shape, and share no memory.
void copy_elements(const Array& from, const Array& to);

}  // namespace anemone::exec::coreml
