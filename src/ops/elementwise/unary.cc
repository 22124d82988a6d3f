// SPDX-License-Identifier: Apache-2.0
// Operations of one operand: y = f(x), each element by itself.
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

std::vector<ir::OpSchema> unary_schemas() {
  return {
      unary_schema("abs", kNumeric),
      unary_schema("acos", kFloats),
      unary_schema("asin", kFloats),
      unary_schema("atan", kFloats),
      unary_schema("atanh", kFloats),
      unary_schema("ceil", kFloats),
      unary_schema("cos", kFloats),
      unary_schema("cosh", kFloats),
      unary_schema("erf", kFloats),
      unary_schema("exp", kFloats),
      unary_schema("exp2", kNumeric),
      unary_schema("floor", kFloats),
      // Takes values of any kind, lists and dictionaries too.
      unary_schema("identity", {}),
      epsilon_schema("inverse", 1e-4),
      epsilon_schema("log", 1e-45),
      unary_schema("logical_not", kBool),
      unary_schema("round", kFloats),
      epsilon_schema("rsqrt", 1e-12),
      unary_schema("sign", kNumeric),
      unary_schema("sin", kFloats),
      unary_schema("sinh", kFloats),
      unary_schema("sqrt", kFloats),
      unary_schema("square", kNumeric),
      unary_schema("tan", kFloats),
      unary_schema("tanh", kFloats),
      constants_schema("threshold", kNumeric, {"alpha"}, false),
  };
}

}  // namespace anemone::ops
