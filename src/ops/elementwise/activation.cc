// SPDX-License-Identifier: Apache-2.0
// Activation functions: y = f(x), some with constants for the tensor or for each channel.
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/families.h"

namespace anemone::ops {

std::vector<ir::OpSchema> activation_schemas() {
  return {
      constants_schema("clamped_relu", kFloats, {"alpha", "beta"}, true),
      constants_schema("elu", kFloats, {"alpha"}, true),
      constants_schema("leaky_relu", kFloats, {"alpha"}, true),
      constants_schema("linear_activation", kFloats, {"alpha", "beta"}, true),
      // coremltools refuses different slopes for ranks other than 4; the formula has no such limit.
      channel_constants_schema("prelu", {"alpha"}),
      unary_schema("relu", kFloats),
      unary_schema("relu6", kFloats),
      constants_schema("scaled_tanh", kFloats, {"alpha", "beta"}, true),
      unary_schema("sigmoid", kFloats),
      constants_schema("sigmoid_hard", kFloats, {"alpha", "beta"}, true),
      unary_schema("silu", kFloats),
      unary_schema("softplus", kFloats),
      channel_constants_schema("softplus_parametric", {"alpha", "beta"}),
      unary_schema("softsign", kFloats),
      constants_schema("thresholded_relu", kFloats, {"alpha"}, true),
  };
}

}  // namespace anemone::ops
