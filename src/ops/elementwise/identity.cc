// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

// Takes values of any kind, lists and dictionaries too.
ir::OpSchema identity_schema() {
  return unary_schema("identity", {});
}

}  // namespace anemone::ops
