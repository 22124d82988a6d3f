// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/image/image.h"
#include "ops/image/resizing.h"

namespace anemone::ops {
namespace {

// The last resized_dims numbers of `shape` are the sizes of as many last axes; 0 keeps one.
Status infer_resize(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "shape", kDynamic, "resize_c1"));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t count,
                           integer_parameter(context, "resized_dims", 0, 0, "resize_c2"));
  const std::int64_t length = context.type("shape").shape[0];
  if (length > rank)
    return ir::violated("resize_c1", "expected a shape of at most {} dimensions, got {}", rank,
                        length);
  if (count > (length == kDynamic ? rank : length))
    return ir::violated("resize_c2", "expected resized_dims of at most {}, got {}",
                        length == kDynamic ? rank : length, count);
  ANEMONE_RETURN_IF_ERROR(choice_parameter(context, "interpolation_mode", "LINEAR",
                                           {"LINEAR", "NEAREST_NEIGHBOR"}, "resize_c3")
                              .status());
  ANEMONE_RETURN_IF_ERROR(check_sampling_mode(context, "resize_c3"));
  const auto sizes = context.ints("shape");
  Shape out = x.shape;
  for (std::int64_t i = 1; i <= count; ++i) {
    std::int64_t& dim = out[static_cast<std::size_t>(rank - i)];
    const std::int64_t before = dim;
    const std::int64_t wanted =
        sizes ? (*sizes)[sizes->size() - static_cast<std::size_t>(i)] : kDynamic;
    if (sizes && wanted < 0)
      return ir::violated("resize_c4", "expected sizes of at least 0, got {}", wanted);
    if (wanted == 0) continue;
    if (before == 0 && sizes)
      return ir::violated("resize_c4", "expected something to resize, got x {}",
                          to_string(x.shape));
    dim = wanted;
  }
  return add_output(outputs, "resize_c4", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema resize_schema() {
  ir::OpSchema schema;
  schema.name = "resize";
  schema.since = ir::Opset::kIOS17;
  schema.parameters = {
      operand("x", kNumeric),
      operand("shape", {DType::kInt32, DType::kInt16, DType::kUInt16, DType::kUInt32}),
      constant("resized_dims", {DType::kUInt32}),
      defaulted("interpolation_mode", kText, ir::Literal::text("LINEAR")),
      defaulted("sampling_mode", kText, ir::Literal::text("DEFAULT"))};
  schema.infer = infer_resize;
  return schema;
}

}  // namespace anemone::ops
