// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/op_call.h"

#include <algorithm>

#include "base/error.h"

namespace anemone::testing {

Result<std::optional<Arguments>> with_defaults(const ir::OpSchema& schema, const OpCase& op_case) {
  const CaseContext context(op_case, op_case.inputs, schema, {});
  Arguments filled;
  for (const auto& [parameter, arguments] : op_case.inputs) {
    for (const Argument& argument : arguments) {
      Argument copy{argument.type, std::nullopt, argument.text};
      if (argument.tensor) copy.tensor = argument.tensor->clone();
      filled[parameter].push_back(std::move(copy));
    }
  }
  bool is_changed = false;
  for (const ir::Parameter& parameter : schema.parameters) {
    if (parameter.presence != ir::Parameter::Presence::kDefaulted || context.has(parameter.name) ||
        op_case.opset < parameter.since)
      continue;
    if (!parameter.default_value)
      return internal_error("expected a default of {}, got none", parameter.name);
    const ir::Literal literal = parameter.default_value(context);
    Argument argument{literal.type(), std::nullopt, std::nullopt};
    if (const auto text = literal.as_text()) {
      argument.text = std::string(*text);
    } else {
      ANEMONE_ASSIGN_OR_RETURN(Tensor tensor, literal.to_tensor());
      argument.tensor = std::move(tensor);
    }
    filled[std::string(parameter.name)].push_back(std::move(argument));
    is_changed = true;
  }
  if (!is_changed) return std::optional<Arguments>();
  return std::optional<Arguments>(std::move(filled));
}

CaseContext::CaseContext(const OpCase& op_case, const Arguments& inputs, const ir::OpSchema& schema,
                         Knowledge knowledge)
    : case_(op_case), inputs_(inputs), schema_(schema), knowledge_(knowledge) {
  for (const auto& [parameter, arguments] : inputs_) {
    std::vector<ir::Type>& types = types_[parameter];
    for (const Argument& argument : arguments) {
      types.push_back(argument.type);
      if (!knowledge_.dimensions && !is_const(parameter) && types.back().is_tensor())
        std::fill(types.back().shape.begin(), types.back().shape.end(), kDynamic);
    }
  }
}

bool CaseContext::is_const(std::string_view parameter) const {
  const ir::Parameter* entry = schema_.parameter(parameter);
  return entry != nullptr && entry->is_const;
}

std::size_t CaseContext::count(std::string_view parameter) const {
  const auto it = inputs_.find(parameter);
  return it == inputs_.end() ? 0 : it->second.size();
}

const ir::Type& CaseContext::type(std::string_view parameter, std::size_t i) const {
  return types_.find(parameter)->second.at(i);
}

std::optional<TensorView> CaseContext::value(std::string_view parameter, std::size_t i) const {
  const auto it = inputs_.find(parameter);
  if (it == inputs_.end() || !it->second.at(i).tensor) return std::nullopt;
  if (!knowledge_.values && !is_const(parameter)) return std::nullopt;
  return it->second[i].tensor->view();
}

bool CaseContext::is_constant(std::string_view parameter, std::size_t i) const {
  return is_const(parameter) || value(parameter, i).has_value();
}

std::optional<std::string_view> CaseContext::text(std::string_view parameter) const {
  const auto it = inputs_.find(parameter);
  if (it == inputs_.end() || it->second.empty() || !it->second[0].text) return std::nullopt;
  return it->second[0].text;
}

std::vector<std::string_view> CaseContext::bound_parameters() const {
  std::vector<std::string_view> out;
  for (const auto& [parameter, arguments] : inputs_) out.push_back(parameter);
  return out;
}

CaseCall::CaseCall(const Arguments& inputs, const std::vector<ir::Type>& outputs,
                   ThreadPool& threads)
    : inputs_(inputs), threads_(threads) {
  for (const ir::Type& type : outputs) {
    outputs_.emplace_back(type.dtype, type.shape);
    // Kernels may not count on zeros.
    const auto bytes = outputs_.back().mutable_view().bytes();
    std::fill(bytes.begin(), bytes.end(), std::byte{0xcb});
  }
}

std::size_t CaseCall::count(std::string_view parameter) const {
  const auto it = inputs_.find(parameter);
  return it == inputs_.end() ? 0 : it->second.size();
}

TensorView CaseCall::input(std::string_view parameter, std::size_t i) const {
  const auto it = inputs_.find(parameter);
  ANEMONE_CHECK(it != inputs_.end() && it->second.at(i).tensor.has_value());
  return it->second[i].tensor->view();
}

std::string_view CaseCall::text(std::string_view parameter, std::string_view fallback) const {
  const auto it = inputs_.find(parameter);
  if (it == inputs_.end() || it->second.empty() || !it->second[0].text) return fallback;
  return *it->second[0].text;
}

}  // namespace anemone::testing
