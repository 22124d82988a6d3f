// SPDX-License-Identifier: Apache-2.0
#include "ops/random/distribution.h"
#include "ops/random/random.h"

namespace anemone::ops {

ir::OpSchema random_bernoulli_schema() {
  return distribution_schema("random_bernoulli", {{"prob", 0.5}});
}

}  // namespace anemone::ops
