// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/elementwise/elementwise.h"

namespace anemone::ops {
namespace {

Status infer_cast(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const std::string_view name = context.text("dtype").value_or("");
  const auto dtype = parse_dtype(name);
  const ir::DTypeSet legal = context.opset() >= ir::Opset::kIOS17 ? kAny : kFloatsInt32Bool;
  if (!dtype || !legal.contains(*dtype))
    return ir::violated("cast_c1", "expected a dtype that {} casts to, got \"{}\"",
                        ir::opset_target(context.opset()), name);
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kFloatsInt32Bool, "cast_c2"));
  return add_output(outputs, "cast_c3", *dtype, context.type("x").shape);
}

}  // namespace

ir::OpSchema cast_schema() {
  return {.name = "cast",
          .parameters = {{.name = "x", .dtypes = kAny},
                         {.name = "dtype", .dtypes = kText, .is_const = true}},
          .infer = infer_cast};
}

}  // namespace anemone::ops
