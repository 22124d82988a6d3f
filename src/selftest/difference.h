// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/executor.h"
#include "tensor/tensor.h"

namespace anemone::selftest {

// How far `got` is from `expected`: the root of the sum of squared differences over that of the
// squares of `expected`; 0 where both are zero or equal, and infinite where a number is not finite
// on one side alone, or where the sizes differ. Scores of attention that both mask
// (artifact::kMaskedScore, to which they are added) are left out.
double relative_error(std::span<const float> got, std::span<const float> expected);
double relative_error(const TensorView& got, const TensorView& expected);

// The error of each value that two runs give, by name: outputs, then states.
using Errors = std::vector<std::pair<std::string, double>>;
double largest(const Errors& errors);  // 0 for none

// kInternal where `got` lacks an output of `expected`. Those that `expected` lacks do not count.
Result<Errors> errors_of(const exec::Outputs& got, const exec::Outputs& expected);
// The errors of the states (null: there are none). It also fails where a state cannot be read.
Result<Errors> errors_of(const exec::StateStore* got, const exec::StateStore* expected);

}  // namespace anemone::selftest
