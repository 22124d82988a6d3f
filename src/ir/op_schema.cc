// SPDX-License-Identifier: Apache-2.0
#include "ir/op_schema.h"

#include <algorithm>
#include <array>

namespace anemone::ir {

std::optional<std::vector<std::int64_t>> InferContext::ints(std::string_view parameter) const {
  if (!has(parameter)) return std::nullopt;
  const auto view = value(parameter);
  if (!view) return std::nullopt;
  return to_ints(*view);
}

std::optional<std::int64_t> InferContext::integer(std::string_view parameter) const {
  const auto values = ints(parameter);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

std::optional<bool> InferContext::boolean(std::string_view parameter) const {
  const auto number = integer(parameter);
  if (!number) return std::nullopt;
  return *number != 0;
}

const Parameter* OpSchema::parameter(std::string_view wanted) const {
  const auto it = std::find_if(parameters.begin(), parameters.end(),
                               [&](const Parameter& p) { return p.name == wanted; });
  return it == parameters.end() ? nullptr : &*it;
}

Status infer_types(const OpSchema& schema, const InferContext& context,
                   const std::vector<std::string_view>& bound_parameters,
                   std::vector<Type>& outputs) {
  if (schema.since > context.opset())
    return corrupt("{} exists from {} on, the function is {}", schema.name,
                   opset_target(schema.since), opset_target(context.opset()));
  for (const std::string_view name : bound_parameters)
    if (schema.parameter(name) == nullptr)
      return corrupt("{} has no parameter \"{}\"", schema.name, name);

  // dtype of the first argument seen for each letter.
  std::array<const Type*, 128> letters{};
  for (const Parameter& parameter : schema.parameters) {
    const std::size_t count = context.count(parameter.name);
    if (count == 0) {
      if (parameter.presence == Parameter::Presence::kRequired)
        return corrupt("expected the parameter \"{}\", got none", parameter.name);
      continue;
    }
    if (parameter.since > context.opset())
      return corrupt("parameter \"{}\" exists from {} on", parameter.name,
                     opset_target(parameter.since));
    if (count > 1 && !parameter.is_variadic)
      return corrupt("expected one argument for \"{}\", got {}", parameter.name, count);
    for (std::size_t i = 0; i < count; ++i) {
      const Type& type = context.type(parameter.name, i);
      if (parameter.dtypes.empty()) continue;
      if (!type.is_tensor() || !parameter.dtypes.contains(type.dtype))
        return corrupt("parameter \"{}\" cannot be {}", parameter.name, to_string(type));
      if (parameter.dtype_letter != 0) {
        const Type*& first = letters[static_cast<std::size_t>(parameter.dtype_letter)];
        if (first == nullptr) first = &type;
        if (first->dtype != type.dtype)
          return corrupt("parameter \"{}\" is {}, expected {} as the operands before it",
                         parameter.name, dtype_name(type.dtype), dtype_name(first->dtype));
      }
    }
    if (parameter.is_const && !parameter.is_variadic && context.type(parameter.name).is_tensor() &&
        context.type(parameter.name).dtype != DType::kString &&
        !context.is_constant(parameter.name))
      return corrupt("expected \"{}\" to be a constant, got a run-time value", parameter.name);
  }
  return schema.infer(context, outputs);
}

}  // namespace anemone::ir
