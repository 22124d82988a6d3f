// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "tensor/tensor.h"

namespace anemone::values {

// "1,2,3" as a tensor of the shape [3]: int64 where all are whole numbers, else fp64; "inf" and
// "nan" are numbers. kInvalidArgument naming `subject` and the text that is none.
Result<Tensor> parse_numbers(std::string_view text, std::string_view subject);

}  // namespace anemone::values
