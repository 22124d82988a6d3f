// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/elementwise/elementwise.h"

namespace anemone::ops {
namespace {

Status infer_select(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  auto shape = broadcast_shapes(context.type("a").shape, context.type("b").shape);
  if (shape.ok()) shape = broadcast_shapes(*shape, context.type("cond").shape);
  if (!shape.ok()) return ir::violated("select_c1", "{}", shape.status().message());
  return add_output(outputs, "select_c1", context.type("a").dtype, std::move(shape).value());
}

}  // namespace

ir::OpSchema select_schema() {
  return {.name = "select",
          .parameters = {{.name = "cond", .dtypes = kBool},
                         {.name = "a", .dtypes = kFloatsInt32Bool, .dtype_letter = 'T'},
                         {.name = "b", .dtypes = kFloatsInt32Bool, .dtype_letter = 'T'}},
          .infer = infer_select};
}

}  // namespace anemone::ops
