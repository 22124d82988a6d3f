// SPDX-License-Identifier: Apache-2.0
#include "ops/random/distribution.h"
#include "ops/random/random.h"

namespace anemone::ops {

ir::OpSchema random_normal_schema() {
  return distribution_schema("random_normal", {{"mean", 0}, {"stddev", 1}});
}

}  // namespace anemone::ops
