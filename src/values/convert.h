// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "tensor/tensor.h"

namespace anemone::values {

// The same numbers in another element type. Nothing is lost but the low bits of floats:
//   integer or bool   every value is one that the type holds exactly
//   float to float    rounded to the nearest value, ties to even; a finite number that would become
//                     infinite is refused
//   float to integer  whole numbers within the range of the type
// kInvalidArgument naming `subject`, the value and its place otherwise; kUnsupported for types
// narrower than a byte and strings. Time and memory grow with the number of elements.
Result<Tensor> convert(const TensorView& values, DType dtype, std::string_view subject);

}  // namespace anemone::values
