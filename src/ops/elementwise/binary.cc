// SPDX-License-Identifier: Apache-2.0
// Operations of two operands that broadcast: arithmetic and logic.
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

std::vector<ir::OpSchema> binary_schemas() {
  return {
      binary_schema("add", kNumeric),      binary_schema("floor_div", kNumeric),
      binary_schema("logical_and", kBool), binary_schema("logical_or", kBool),
      binary_schema("logical_xor", kBool), binary_schema("maximum", kNumeric),
      binary_schema("minimum", kNumeric),  binary_schema("mod", kNumeric),
      binary_schema("mul", kNumeric),      binary_schema("pow", kNumeric),
      binary_schema("real_div", kNumeric), binary_schema("sub", kNumeric),
  };
}

}  // namespace anemone::ops
