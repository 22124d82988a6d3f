// SPDX-License-Identifier: Apache-2.0
// A few operations of its own, so that the IR is tested without the real operation set.
#pragma once

#include <map>

#include "ir/op_schema.h"

namespace anemone::ir {

class TestRegistry : public OpRegistry {
 public:
  TestRegistry() {
    add({.name = "add",
         .parameters = {{.name = "x", .dtypes = {DType::kFp16, DType::kFp32}, .dtype_letter = 'T'},
                        {.name = "y", .dtypes = {DType::kFp16, DType::kFp32}, .dtype_letter = 'T'}},
         .infer = [](const InferContext& context, std::vector<Type>& outputs) -> Status {
           auto shape = broadcast_shapes(context.type("x").shape, context.type("y").shape);
           if (!shape.ok())
             return violated("add_c1", "expected shapes that broadcast, got {} and {}",
                             to_string(context.type("x")), to_string(context.type("y")));
           outputs.push_back(Type::tensor(context.type("x").dtype, *shape));
           return {};
         }});
    add({.name = "softmax",
         .parameters = {{.name = "x", .dtypes = {DType::kFp16, DType::kFp32}},
                        {.name = "axis",
                         .dtypes = {DType::kInt32},
                         .presence = Parameter::Presence::kDefaulted,
                         .is_const = true,
                         .default_value = [](const InferContext&) { return Literal::int32(-1); }}},
         .infer = [](const InferContext& context, std::vector<Type>& outputs) -> Status {
           outputs.push_back(context.type("x"));
           return {};
         }});
    // An operation like reshape_like: several constants to a parameter.
    add({.name = "places",
         .parameters =
             {{.name = "x", .dtypes = {DType::kFp16, DType::kFp32}},
              {.name = "at", .dtypes = {DType::kInt32}, .is_const = true, .is_variadic = true}},
         .infer = [](const InferContext& context, std::vector<Type>& outputs) -> Status {
           for (std::size_t i = 0; i < context.count("at"); ++i)
             if (!context.value("at", i)) return violated("places_c1", "expected known places");
           outputs.push_back(context.type("x"));
           return {};
         }});
    add({.name = "concat",
         .parameters = {{.name = "values",
                         .dtypes = {DType::kFp16, DType::kFp32},
                         .is_variadic = true}},
         .infer = [](const InferContext& context, std::vector<Type>& outputs) -> Status {
           outputs.push_back(context.type("values"));
           outputs.back().shape[0] *= static_cast<std::int64_t>(context.count("values"));
           return {};
         }});
    add({.name = "split",
         .parameters = {{.name = "x", .dtypes = {DType::kFp16, DType::kFp32}}},
         .infer = [](const InferContext& context, std::vector<Type>& outputs) -> Status {
           outputs.assign(2, context.type("x"));
           return {};
         }});
    add({.name = "read_state",
         .since = Opset::kIOS18,
         .parameters = {{.name = "input", .dtypes = {}}},
         .infer = [](const InferContext& context, std::vector<Type>& outputs) -> Status {
           const Type& state = context.type("input");
           if (!state.is_state())
             return violated("read_state_c1", "expected a state, got {}", to_string(state));
           outputs.push_back(Type::tensor(state.dtype, state.shape));
           return {};
         },
         .has_side_effects = true});
    add({.name = "write_state",
         .since = Opset::kIOS18,
         .parameters = {{.name = "input", .dtypes = {}},
                        {.name = "data", .dtypes = {DType::kFp16}}},
         .infer = [](const InferContext&, std::vector<Type>&) -> Status { return {}; },
         .has_side_effects = true});
    add({.name = "constexpr_cast",
         .parameters = {{.name = "source_val", .dtypes = {DType::kFp16}, .is_const = true}},
         .infer = [](const InferContext& context, std::vector<Type>& outputs) -> Status {
           outputs.push_back(Type::tensor(DType::kFp32, context.type("source_val").shape));
           return {};
         }});
    add({.name = "cond",
         .parameters = {{.name = "pred", .dtypes = {DType::kBool}}},
         .infer = [](const InferContext& context, std::vector<Type>& outputs) -> Status {
           for (std::size_t i = 0; i < context.output_count(); ++i)
             outputs.push_back(*context.declared_output(i));
           return {};
         }});
  }

  const OpSchema* find(std::string_view type) const override {
    const auto it = schemas_.find(type);
    return it == schemas_.end() ? nullptr : &it->second;
  }
  std::vector<std::string_view> names() const override {
    std::vector<std::string_view> out;
    for (const auto& [name, schema] : schemas_) out.push_back(name);
    return out;
  }

 private:
  void add(OpSchema schema) {
    const std::string_view name = schema.name;
    schemas_.emplace(name, std::move(schema));
  }
  std::map<std::string_view, OpSchema> schemas_;
};

inline const TestRegistry& test_registry() {
  static const TestRegistry registry;
  return registry;
}

}  // namespace anemone::ir
