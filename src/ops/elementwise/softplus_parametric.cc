// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

ir::OpSchema softplus_parametric_schema() {
  return channel_constants_schema("softplus_parametric", {"alpha", "beta"});
}

}  // namespace anemone::ops
