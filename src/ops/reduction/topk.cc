// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/reduction/reduction.h"

namespace anemone::ops {
namespace {

using ir::InferContext;

Status infer_topk(const InferContext& context, std::vector<ir::Type>& outputs) {
  constexpr auto k17 = ir::Opset::kIOS17;
  ANEMONE_RETURN_IF_ERROR(check_dtypes_before(context, k17, {"x"}, kNumeric, "topk_c1"));
  ANEMONE_RETURN_IF_ERROR(check_dtypes_before(context, k17, {"k"}, kInt32, "topk_c1"));
  ANEMONE_RETURN_IF_ERROR(
      check_scalars(context, {"k", "ascending", "sort", "return_indices"}, "topk_c2"));
  const ir::Type& x = context.type("x");
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis,
                           axis_parameter(context, "axis", -1, x.shape.size(), "topk_c3"));
  std::int64_t k = context.integer("k").value_or(1);
  const std::int64_t dim = x.shape[axis];
  if (k < -1 || k == 0 || (dim != kDynamic && k > dim))
    return ir::violated("topk_c4", "expected k = -1 or 1 to the {} elements of axis {}, got {}",
                        dim == kDynamic ? kMaxElements : dim, axis, k);
  if (k == -1) k = dim;  // all; may be unknown
  Shape shape = x.shape;
  shape[axis] = k;
  ANEMONE_RETURN_IF_ERROR(add_output(outputs, "topk_c2", x.dtype, shape));
  if (!context.boolean("return_indices").value_or(true)) return ok_status();
  DType dtype = DType::kInt32;
  if (context.has("output_indices_dtype")) {
    const std::string_view name = context.text("output_indices_dtype").value_or("");
    if (name != "int32" && name != "uint16")
      return ir::violated("topk_c5", "expected output_indices_dtype int32 or uint16, got \"{}\"",
                          name);
    dtype = *parse_dtype(name);
  }
  return add_output(outputs, "topk_c2", dtype, std::move(shape));
}

}  // namespace

ir::OpSchema topk_schema() {
  return {.name = "topk",
          .parameters = {{.name = "x", .dtypes = kNumeric | kSmallIntegers},
                         defaulted("k", kPositions, ir::Literal::int32(1)),
                         axis_with_default(-1),
                         flag_with_default("ascending", false),
                         since(ir::Opset::kIOS16, flag_with_default("sort", true)),
                         since(ir::Opset::kIOS16, flag_with_default("return_indices", true)),
                         indices_dtype_with_default("output_indices_dtype")},
          .infer = infer_topk};
}

}  // namespace anemone::ops
