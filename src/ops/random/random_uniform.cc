// SPDX-License-Identifier: Apache-2.0
#include "ops/random/distribution.h"
#include "ops/random/random.h"

namespace anemone::ops {

ir::OpSchema random_uniform_schema() {
  return distribution_schema("random_uniform", {{"low", 0}, {"high", 1}});
}

}  // namespace anemone::ops
