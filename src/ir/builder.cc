// SPDX-License-Identifier: Apache-2.0
#include "ir/builder.h"

#include "base/check.h"
#include "base/error.h"
#include "ir/verifier.h"

namespace anemone::ir {

Builder::Builder(Program& program, const OpRegistry& registry, std::string function, Opset opset)
    : program_(program),
      registry_(registry),
      function_(program.add_function(std::move(function), opset)) {}

std::string Builder::unique_name(std::string_view wanted) {
  const std::string stem = sanitize_identifier(wanted);
  if (names_.insert(stem).second) return stem;
  int& last = last_number_[stem];
  std::string name;
  do {
    name = fmt::format("{}_{}", stem, ++last);
  } while (!names_.insert(name).second);
  return name;
}

void Builder::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

Value* Builder::input(std::string name, Type type) {
  if (!status_.ok()) return nullptr;
  Value* value = program_.add_value(unique_name(name), std::move(type));
  if (value->name != name) fail(internal_error("input name {} is taken or no identifier", name));
  function_->inputs.push_back(value);
  return value;
}

Value* Builder::constant(Literal literal, std::string_view name) {
  if (!status_.ok()) return nullptr;
  Op* op = program_.add_op();
  op->type = "const";
  op->name = unique_name(name);
  Type type = literal.type();
  op->attributes.emplace("val", std::move(literal));
  op->outputs.push_back(program_.add_value(op->name, std::move(type), op));
  function_->block->ops.push_back(op);
  return op->outputs[0];
}

Value* Builder::op(std::string_view type, std::vector<Input> inputs, std::string_view name) {
  const auto outputs = ops(type, std::move(inputs), 1, name);
  return outputs.empty() ? nullptr : outputs[0];
}

std::vector<Value*> Builder::ops(std::string_view type, std::vector<Input> inputs,
                                 std::size_t outputs, std::string_view name) {
  if (!status_.ok()) return {};
  const OpSchema* schema = registry_.find(type);
  if (schema == nullptr) {
    fail(internal_error("the graph uses the unknown operation {}", type));
    return {};
  }
  Op* op = program_.add_op();
  op->type = type;
  const std::string op_name = unique_name(name.empty() ? type : name);
  op->name = op_name;
  const auto parameter_constant = [&](std::string_view parameter, Literal literal) {
    return constant(std::move(literal), fmt::format("{}_{}_0", op_name, parameter));
  };
  for (Input& input : inputs) {
    Arguments arguments;
    if (auto* value = std::get_if<Value*>(&input.argument)) {
      arguments.emplace_back(*value);
    } else if (auto* values = std::get_if<std::vector<Value*>>(&input.argument)) {
      arguments.assign(values->begin(), values->end());
    } else {
      arguments.emplace_back(
          parameter_constant(input.parameter, std::get<Literal>(std::move(input.argument))));
    }
    for (const Argument& argument : arguments)
      if (std::get<Value*>(argument) == nullptr) {
        fail(internal_error("{}: parameter {} has no value", op_name, input.parameter));
        return {};
      }
    op->inputs.emplace(input.parameter, std::move(arguments));
  }
  for (const Parameter& parameter : schema->parameters) {
    if (parameter.presence != Parameter::Presence::kDefaulted ||
        op->inputs.contains(parameter.name) || parameter.since > function_->opset ||
        !parameter.default_value)
      continue;
    Literal literal = parameter.default_value(ProgramInferContext(*op, function_->opset));
    op->inputs.emplace(parameter.name,
                       Arguments{parameter_constant(parameter.name, std::move(literal))});
  }
  return append(op, outputs, op_name);
}

Value* Builder::constexpr_op(std::string_view type,
                             std::vector<std::pair<std::string_view, Literal>> inputs,
                             std::string_view name) {
  if (!status_.ok()) return nullptr;
  Op* op = program_.add_op();
  op->type = type;
  op->name = unique_name(name);
  for (auto& [parameter, literal] : inputs)
    op->inputs.emplace(parameter, Arguments{std::move(literal)});
  const auto outputs = append(op, 1, op->name);
  return outputs.empty() ? nullptr : outputs[0];
}

std::vector<Value*> Builder::append(Op* op, std::size_t outputs, std::string_view name) {
  const OpSchema* schema = registry_.find(op->type);
  if (schema == nullptr) {
    fail(internal_error("the graph uses the unknown operation {}", op->type));
    return {};
  }
  std::vector<std::string_view> bound;
  for (const auto& [parameter, arguments] : op->inputs) bound.push_back(parameter);
  std::vector<Type> types;
  if (Status status =
          infer_types(*schema, ProgramInferContext(*op, function_->opset), bound, types);
      !status.ok()) {
    fail(
        Status(status.code(), fmt::format("[{} \"{}\"] {}", op->type, op->name, status.message())));
    return {};
  }
  if (types.size() != outputs) {
    fail(internal_error("{} has {} outputs, the graph wants {}", name, types.size(), outputs));
    return {};
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    // One output carries the operation's name (already reserved); several carry a number.
    std::string value_name =
        types.size() == 1 ? op->name : unique_name(fmt::format("{}_{}", name, i));
    op->outputs.push_back(program_.add_value(std::move(value_name), std::move(types[i]), op));
  }
  function_->block->ops.push_back(op);
  return op->outputs;
}

Value* Builder::read_state(Value* state, std::string_view name) {
  return op("read_state", {{"input", state}}, name);
}

void Builder::write_state(Value* state, Value* data, std::string_view name) {
  ops("write_state", {{"input", state}, {"data", data}}, 0, name);
}

void Builder::rename(Value* value, std::string name) {
  if (!status_.ok() || value == nullptr) return;
  if (!is_identifier(name) || !names_.insert(name).second) {
    fail(internal_error("the name {} is taken or no identifier", name));
    return;
  }
  names_.erase(value->name);
  if (value->producer != nullptr && value->producer->outputs.size() == 1)
    value->producer->name = name;
  value->name = std::move(name);
}

Status Builder::finish(std::vector<Value*> outputs) {
  for (Value* output : outputs)
    if (status_.ok() && output == nullptr) fail(internal_error("a function output has no value"));
  if (status_.ok()) function_->block->outputs = std::move(outputs);
  return status_;
}

}  // namespace anemone::ir
