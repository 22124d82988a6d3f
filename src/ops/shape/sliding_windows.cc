// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_sliding_windows(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kNumeric, "sliding_windows_c1"));
  const ir::Type& x = context.type("x");
  ANEMONE_ASSIGN_OR_RETURN(
      const std::size_t axis,
      axis_parameter(context, "axis", 0, x.shape.size(), "sliding_windows_c2"));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t size,
                           integer_parameter(context, "size", 1, 1, "sliding_windows_c3"));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t stride,
                           integer_parameter(context, "stride", 1, 1, "sliding_windows_c3"));
  if (x.shape.size() >= static_cast<std::size_t>(kMaxRank))
    return ir::violated("sliding_windows_c4", "expected x of a rank below {}", kMaxRank);
  Shape out = x.shape;
  if (out[axis] != kDynamic) {
    if (out[axis] < size)
      return ir::violated("sliding_windows_c4", "expected windows of at most {}, got {}", out[axis],
                          size);
    out[axis] = (out[axis] - size) / stride + 1;
  }
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis) + 1, size);
  return add_output(outputs, "sliding_windows_c4", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema sliding_windows_schema() {
  ir::OpSchema schema;
  schema.name = "sliding_windows";
  schema.parameters = {operand("x", kAny), constant("axis", kInt32), constant("size", kInt32),
                       defaulted("stride", kInt32, ir::Literal::int32(1))};
  schema.infer = infer_sliding_windows;
  return schema;
}

}  // namespace anemone::ops
