// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/control/control.h"

namespace anemone::ops {
namespace {

// The element's shape comes as one number a dimension, or a name where it is known only at run
// time.
Status infer_make_list(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_scalars(context, {"init_length", "dynamic_length"}, "make_list_c1"));
  std::string_view name = "fp32";
  if (context.has("dtype")) name = context.text("dtype").value_or("?");
  const auto dtype = parse_dtype(name);
  if (!dtype || !kAny15.contains(*dtype))
    return ir::violated("make_list_c2", "expected a dtype of fp16, fp32, int32 or bool, got \"{}\"",
                        name);
  Shape shape;
  for (std::size_t i = 0; i < context.count("elem_shape"); ++i) {
    const auto value = context.value("elem_shape", i);
    const bool is_number = value && is_integer(value->dtype) && value->size() == 1;
    const std::int64_t dim = is_number ? element_as_int(*value, 0) : kDynamic;
    if (dim < kDynamic)
      return ir::violated("make_list_c3", "expected an element shape of sizes, got {}", dim);
    shape.push_back(dim);
  }
  // Whether an absent element shape means a scalar or an unknown shape is written in the output.
  if (!context.has("elem_shape") && context.output_count() == 1 &&
      context.declared_output(0) != nullptr &&
      context.declared_output(0)->kind == ir::Type::Kind::kList) {
    outputs.push_back(*context.declared_output(0));
    return {};
  }
  std::int64_t length = kDynamic;
  if (context.has("dynamic_length") && context.boolean("dynamic_length") == false)
    length = context.has("init_length") ? context.integer("init_length").value_or(kDynamic) : 1;
  outputs.push_back(ir::Type::list(ir::Type::tensor(*dtype, std::move(shape)), length));
  return {};
}

}  // namespace

ir::OpSchema make_list_schema() {
  ir::Parameter init_length = operand("init_length", kInt32);
  init_length.presence = ir::Parameter::Presence::kDefaulted;
  init_length.default_value = [](const ir::InferContext&) { return ir::Literal::int32(1); };
  ir::Parameter elem_shape = optional(operand("elem_shape", {}));
  elem_shape.is_variadic = true;
  ir::OpSchema schema;
  schema.name = "make_list";
  schema.parameters = {std::move(init_length),
                       defaulted("dynamic_length", kBool, ir::Literal::boolean(true)),
                       std::move(elem_shape), defaulted("dtype", kText, ir::Literal::text("fp32"))};
  schema.infer = infer_make_list;
  return schema;
}

}  // namespace anemone::ops
