// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/families.h"

#include <string>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"

namespace anemone::ops {
namespace {

using ir::InferContext;
using ir::Type;
using Presence = ir::Parameter::Presence;

std::string constraint(std::string_view name, int number) {
  return fmt::format("{}_c{}", name, number);
}

// `dtype` is the result's, nullopt for that of x.
ir::OpSchema broadcasting_schema(std::string_view name, ir::DTypeSet dtypes,
                                 std::optional<DType> dtype) {
  return {.name = name,
          .parameters = {{.name = "x", .dtypes = dtypes, .dtype_letter = 'T'},
                         {.name = "y", .dtypes = dtypes, .dtype_letter = 'T'}},
          .infer = [name, dtype](const InferContext& context, std::vector<Type>& outputs) {
            const Type& x = context.type("x");
            auto shape = broadcast_shapes(x.shape, context.type("y").shape);
            if (!shape.ok())
              return ir::violated(constraint(name, 1), "{}", shape.status().message());
            return add_output(outputs, constraint(name, 1), dtype.value_or(x.dtype),
                              std::move(shape).value());
          }};
}

}  // namespace

ir::OpSchema unary_schema(std::string_view name, ir::DTypeSet dtypes) {
  return {.name = name,
          .parameters = {{.name = "x", .dtypes = dtypes, .dtype_letter = 'T'}},
          .infer = [](const InferContext& context, std::vector<Type>& outputs) {
            outputs.push_back(context.type("x"));
            return ok_status();
          }};
}

ir::OpSchema binary_schema(std::string_view name, ir::DTypeSet dtypes) {
  return broadcasting_schema(name, dtypes, std::nullopt);
}

ir::OpSchema comparison_schema(std::string_view name) {
  return broadcasting_schema(name, kNumeric, DType::kBool);
}

ir::OpSchema epsilon_schema(std::string_view name, double default_epsilon) {
  // fp16 has no 1e-12; where the dtype is free the default stays in fp32.
  const auto literal = [default_epsilon](const InferContext& context) {
    const bool is_free = context.opset() >= ir::Opset::kIOS17;
    return ir::Literal::number(default_epsilon, is_free ? DType::kFp32 : context.type("x").dtype);
  };
  return {.name = name,
          .parameters = {{.name = "x", .dtypes = kFloats, .dtype_letter = 'T'},
                         {.name = "epsilon",
                          .dtypes = kFloats,
                          .presence = Presence::kDefaulted,
                          .is_const = true,
                          .default_value = literal}},
          .infer = [name](const InferContext& context, std::vector<Type>& outputs) {
            ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"epsilon"}, constraint(name, 1)));
            ANEMONE_RETURN_IF_ERROR(
                check_same_dtype_before_17(context, {"epsilon"}, constraint(name, 2)));
            outputs.push_back(context.type("x"));
            return ok_status();
          }};
}

ir::OpSchema constants_schema(std::string_view name, ir::DTypeSet dtypes,
                              std::initializer_list<std::string_view> constants,
                              bool since_17_any_float) {
  ir::OpSchema schema = unary_schema(name, dtypes);
  for (const std::string_view constant : constants)
    schema.parameters.push_back({.name = constant,
                                 .dtypes = dtypes,
                                 .is_const = true,
                                 .dtype_letter = since_17_any_float ? '\0' : 'T'});
  schema.infer = [name, names = std::vector<std::string_view>(constants)](
                     const InferContext& context, std::vector<Type>& outputs) {
    for (const std::string_view constant : names) {
      ANEMONE_RETURN_IF_ERROR(check_scalars(context, {constant}, constraint(name, 1)));
      ANEMONE_RETURN_IF_ERROR(check_same_dtype_before_17(context, {constant}, constraint(name, 2)));
    }
    outputs.push_back(context.type("x"));
    return ok_status();
  };
  return schema;
}

ir::OpSchema channel_constants_schema(std::string_view name,
                                      std::initializer_list<std::string_view> constants) {
  ir::OpSchema schema = unary_schema(name, kFloats);
  for (const std::string_view constant : constants)
    schema.parameters.push_back(
        {.name = constant, .dtypes = kFloats, .is_const = true, .dtype_letter = 'U'});
  schema.infer = [name, names = std::vector<std::string_view>(constants)](
                     const InferContext& context, std::vector<Type>& outputs) {
    const Type& x = context.type("x");
    if (x.shape.size() < 3)
      return ir::violated(constraint(name, 1), "expected x of rank 3 or more, got {}",
                          to_string(x.shape));
    for (const std::string_view constant : names) {
      ANEMONE_RETURN_IF_ERROR(check_vector(context, constant, x.shape[1], constraint(name, 2)));
      ANEMONE_RETURN_IF_ERROR(check_same_dtype_before_17(context, {constant}, constraint(name, 3)));
    }
    outputs.push_back(x);
    return ok_status();
  };
  return schema;
}

}  // namespace anemone::ops
