// SPDX-License-Identifier: Apache-2.0
// Operations on lists.
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/control/control.h"

namespace anemone::ops {
namespace {

// The type of the parameter `ls`, which has to be a list; `constraint` is the name that the error
// gives ("list_read_c1").
Result<ir::Type> list_type(const ir::InferContext& context, std::string_view constraint) {
  const ir::Type& type = context.type("ls");
  if (type.kind != ir::Type::Kind::kList)
    return ir::violated(constraint, "expected a list, got {}", to_string(type));
  return type;
}

// The element type of a list, nullptr when the program leaves it open.
const ir::Type* element_type(const ir::Type& list) {
  return list.members.empty() || !list.members[0].is_tensor() ? nullptr : &list.members[0];
}

// The index of a list operation, a number or a vector of numbers.
ir::Parameter list_index(std::string_view name) {
  return operand(name, kInt32);
}

// The value that goes into a list.
ir::Parameter list_value() {
  return operand("value", kFloatsInt32Bool);
}

// The elements at `indices`, stacked: [number of indices, element shape...].
ir::OpSchema list_gather_schema() {
  ir::OpSchema schema;
  schema.name = "list_gather";
  schema.parameters = {operand("ls", {}), list_index("indices")};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(const ir::Type list, list_type(context, "list_gather_c1"));
    ANEMONE_RETURN_IF_ERROR(check_vector(context, "indices", kDynamic, "list_gather_c2"));
    const ir::Type* element = element_type(list);
    if (element == nullptr)
      return ir::violated("list_gather_c3", "expected a list with an element type, got {}",
                          to_string(list));
    Shape out = element->shape;
    out.insert(out.begin(), context.type("indices").shape[0]);
    return add_output(outputs, "list_gather_c4", element->dtype, std::move(out));
  };
  return schema;
}

ir::OpSchema list_length_schema() {
  ir::OpSchema schema;
  schema.name = "list_length";
  schema.parameters = {operand("ls", {})};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_RETURN_IF_ERROR(list_type(context, "list_length_c1").status());
    outputs.push_back(ir::Type::scalar(DType::kInt32));
    return {};
  };
  return schema;
}

ir::OpSchema list_read_schema() {
  ir::OpSchema schema;
  schema.name = "list_read";
  schema.parameters = {operand("ls", {}), list_index("index")};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(const ir::Type list, list_type(context, "list_read_c1"));
    ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"index"}, "list_read_c2"));
    const ir::Type* element = element_type(list);
    if (element == nullptr)
      return ir::violated("list_read_c3", "expected a list with an element type, got {}",
                          to_string(list));
    outputs.push_back(*element);
    return {};
  };
  return schema;
}

// The list with element indices[i] replaced by value[i], for all i.
ir::OpSchema list_scatter_schema() {
  ir::OpSchema schema;
  schema.name = "list_scatter";
  schema.parameters = {operand("ls", {}), list_index("indices"), list_value()};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(ir::Type list, list_type(context, "list_scatter_c1"));
    ANEMONE_RETURN_IF_ERROR(check_vector(context, "indices", kDynamic, "list_scatter_c2"));
    const ir::Type& value = context.type("value");
    if (value.shape.empty() || !dims_agree(value.shape[0], context.type("indices").shape[0]))
      return ir::violated("list_scatter_c2", "expected one value per index, got {} for {}",
                          to_string(value), to_string(context.type("indices")));
    const ir::Type item =
        ir::Type::tensor(value.dtype, Shape(value.shape.begin() + 1, value.shape.end()));
    const ir::Type* element = element_type(list);
    if (element == nullptr)
      list.members = {item};
    else if (!is_compatible(*element, item))
      return ir::violated("list_scatter_c3", "expected values that fit {}, got {}", to_string(list),
                          to_string(value));
    outputs.push_back(std::move(list));
    return {};
  };
  return schema;
}

// The list with one element replaced or appended. A list whose element type is open takes it from
// the value.
ir::OpSchema list_write_schema() {
  ir::OpSchema schema;
  schema.name = "list_write";
  schema.parameters = {operand("ls", {}), list_index("index"), list_value()};
  schema.infer = [](const ir::InferContext& context, std::vector<ir::Type>& outputs) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(ir::Type list, list_type(context, "list_write_c1"));
    ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"index"}, "list_write_c2"));
    const ir::Type& value = context.type("value");
    const ir::Type* element = element_type(list);
    if (element == nullptr)
      list.members = {value};
    else if (!is_compatible(*element, value))
      return ir::violated("list_write_c3", "expected a value that fits {}, got {}", to_string(list),
                          to_string(value));
    outputs.push_back(std::move(list));
    return {};
  };
  return schema;
}

// elem_shape has an argument for each dimension: its size as int32, or a name (a text) if the size
// is known only in a run.
Status infer_make_list(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_scalars(context, {"init_length", "dynamic_length"}, "make_list_c1"));
  std::string_view name = "fp32";
  // "?" (no constant) is no dtype, and refused.
  if (context.has("dtype")) name = context.text("dtype").value_or("?");
  const auto dtype = parse_dtype(name);
  if (!dtype || !kFloatsInt32Bool.contains(*dtype))
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
  // Without elem_shape, only the declared type of the output says whether an element is a scalar or
  // its shape is unknown.
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

ir::OpSchema make_list_schema() {
  // Not defaulted(), which makes a parameter a constant: the length may be computed in a run.
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

}  // namespace

std::vector<ir::OpSchema> list_schemas() {
  return {list_gather_schema(),  list_length_schema(), list_read_schema(),
          list_scatter_schema(), list_write_schema(),  make_list_schema()};
}

}  // namespace anemone::ops
