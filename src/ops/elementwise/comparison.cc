// SPDX-License-Identifier: Apache-2.0
// Comparisons of two operands that broadcast; the result is bool.
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

std::vector<ir::OpSchema> comparison_schemas() {
  return {
      comparison_schema("equal"),         comparison_schema("greater"),
      comparison_schema("greater_equal"), comparison_schema("less"),
      comparison_schema("less_equal"),    comparison_schema("not_equal"),
  };
}

}  // namespace anemone::ops
