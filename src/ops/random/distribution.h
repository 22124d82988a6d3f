// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string_view>

#include "ir/op_schema.h"

namespace anemone::ops {

// A result of the given `shape` (run-time) with numbers from a distribution that `constants`
// describe (scalars of one float dtype, which is that of the result; fp32 when all are absent), and
// a seed. Errors carry `<op>_c1` (shape), `<op>_c2` (constants, seed) and `<op>_c3` (size of the
// result).
struct DistributionConstant {
  std::string_view name;
  double fallback;
};
ir::OpSchema distribution_schema(std::string_view name,
                                 std::initializer_list<DistributionConstant> constants);

// The seed, -1 by default.
ir::Parameter seed_parameter();

}  // namespace anemone::ops
