// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/constexpr/constexpr.h"

namespace anemone::ops {

ir::OpSchema constexpr_cast_schema() {
  ir::OpSchema schema;
  schema.name = "constexpr_cast";
  schema.since = ir::Opset::kIOS16;
  schema.parameters = {constant("source_val", {DType::kFp16}), constant("output_dtype", kText)};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    const auto dtype = context.text("output_dtype");
    if (dtype != "fp32")
      return ir::violated("constexpr_cast_c1", "expected the output_dtype fp32, got \"{}\"",
                          dtype.value_or("?"));
    return add_output(outputs, "constexpr_cast_c2", DType::kFp32, context.type("source_val").shape);
  };
  return schema;
}

}  // namespace anemone::ops
