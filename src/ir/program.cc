// SPDX-License-Identifier: Apache-2.0
#include "ir/program.h"

#include <algorithm>
#include <array>

#include "ir/characters.h"

namespace anemone::ir {
namespace {

// Words that mean something in MIL text; the same list as coremltools' sanitizer has.
constexpr std::array<std::string_view, 28> kReserved = {
    "any",    "bool",   "program", "func",  "tensor", "list",  "dict",  "tuple",  "true",  "false",
    "string", "bf16",   "fp16",    "fp32",  "fp64",   "int8",  "int16", "int32",  "int64", "uint8",
    "uint16", "uint32", "uint64",  "state", "int4",   "uint4", "const", "unknown"};

}  // namespace

Value* Op::input(std::string_view parameter) const {
  const auto it = inputs.find(parameter);
  if (it == inputs.end() || it->second.empty()) return nullptr;
  Value* const* value = std::get_if<Value*>(&it->second.front());
  return value == nullptr ? nullptr : *value;
}

Function* Program::add_function(std::string name, Opset opset) {
  Function& function = function_arena_.emplace_back();
  function.name = std::move(name);
  function.opset = opset;
  function.block = add_block();
  functions_.push_back(&function);
  return &function;
}

Block* Program::add_block() {
  return &block_arena_.emplace_back();
}

Op* Program::add_op() {
  return &op_arena_.emplace_back();
}

Value* Program::add_value(std::string name, Type type, Op* producer) {
  return &value_arena_.emplace_back(Value{std::move(name), std::move(type), producer});
}

Function* Program::function(std::string_view name) const {
  const auto it = std::find_if(functions_.begin(), functions_.end(),
                               [&](const Function* f) { return f->name == name; });
  return it == functions_.end() ? nullptr : *it;
}

const Literal* constant_of(const Value* value) {
  if (value == nullptr || value->producer == nullptr || !value->producer->is_const())
    return nullptr;
  const auto it = value->producer->attributes.find("val");
  return it == value->producer->attributes.end() ? nullptr : &it->second;
}

const Literal* constant_of(const Argument& argument) {
  if (const Literal* literal = std::get_if<Literal>(&argument)) return literal;
  return constant_of(std::get<Value*>(argument));
}

bool is_identifier(std::string_view name) {
  if (name.empty() || !is_letter(name[0])) return false;
  return std::all_of(name.begin() + 1, name.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '@'; });
}

std::string sanitize_identifier(std::string_view name) {
  std::string out;
  for (const char c : name) out += is_letter(c) || is_digit(c) ? c : '_';
  if (out.empty() || is_digit(out[0])) out.insert(out.begin(), '_');
  // The suffix that coremltools adds to reserved names.
  if (std::find(kReserved.begin(), kReserved.end(), out) != kReserved.end()) out += "_workaround";
  return out;
}

}  // namespace anemone::ir
