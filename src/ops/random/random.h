// SPDX-License-Identifier: Apache-2.0
// Schemas of the category random. Same seed, same numbers; a seed of -1 gives others on every run.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema random_bernoulli_schema();
ir::OpSchema random_categorical_schema();
ir::OpSchema random_normal_schema();
ir::OpSchema random_uniform_schema();

}  // namespace anemone::ops
