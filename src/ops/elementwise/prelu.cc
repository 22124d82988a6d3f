// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

// coremltools refuses different slopes for ranks other than 4; the formula has no such limit.
ir::OpSchema prelu_schema() {
  return channel_constants_schema("prelu", {"alpha"});
}

}  // namespace anemone::ops
