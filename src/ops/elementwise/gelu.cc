// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/elementwise/elementwise.h"

namespace anemone::ops {
namespace {

Status infer_gelu(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  if (context.has("mode")) {
    const std::string_view mode = context.text("mode").value_or("");
    if (mode != "EXACT" && mode != "TANH_APPROXIMATION" && mode != "SIGMOID_APPROXIMATION")
      return ir::violated(
          "gelu_c1",
          "expected the mode EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION, got "
          "\"{}\"",
          mode);
  }
  outputs.push_back(context.type("x"));
  return ok_status();
}

}  // namespace

ir::OpSchema gelu_schema() {
  return {.name = "gelu",
          .parameters = {{.name = "x", .dtypes = kFloats, .dtype_letter = 'T'},
                         {.name = "mode",
                          .dtypes = kText,
                          .presence = ir::Parameter::Presence::kDefaulted,
                          .is_const = true,
                          .default_value =
                              [](const ir::InferContext&) { return ir::Literal::text("EXACT"); }}},
          .infer = infer_gelu};
}

}  // namespace anemone::ops
