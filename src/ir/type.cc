// SPDX-License-Identifier: Apache-2.0
#include "ir/type.h"

#include <fmt/format.h>

namespace anemone::ir {

Type Type::tensor(DType dtype, Shape shape) {
  Type type;
  type.dtype = dtype;
  type.shape = std::move(shape);
  return type;
}

Type Type::state(DType dtype, Shape shape) {
  Type type = tensor(dtype, std::move(shape));
  type.kind = Kind::kState;
  return type;
}

Type Type::list(Type element, std::int64_t length) {
  Type type;
  type.kind = Kind::kList;
  type.members.push_back(std::move(element));
  type.length = length;
  return type;
}

Type Type::dictionary(Type key, Type value) {
  Type type;
  type.kind = Kind::kDictionary;
  type.members.push_back(std::move(key));
  type.members.push_back(std::move(value));
  return type;
}

std::string to_string(const Type& type, Syntax syntax) {
  const auto tensor_text = [&](const Type& t) {
    return t.shape.empty() && syntax == Syntax::kScalars
               ? std::string(dtype_name(t.dtype))
               : fmt::format("tensor<{}, {}>", dtype_name(t.dtype), anemone::to_string(t.shape));
  };
  const auto members_text = [&] {
    std::string text;
    for (const Type& member : type.members)
      text += (text.empty() ? "" : ", ") + to_string(member, syntax);
    return text;
  };
  switch (type.kind) {
    case Type::Kind::kTensor:
      return tensor_text(type);
    case Type::Kind::kState:
      return fmt::format("state<tensor<{}, {}>>", dtype_name(type.dtype),
                         anemone::to_string(type.shape));
    case Type::Kind::kList:
      return fmt::format("list<{}, {}>", members_text(),
                         type.length < 0 ? "?" : std::to_string(type.length));
    case Type::Kind::kTuple:
      return fmt::format("tuple<{}>", members_text());
    case Type::Kind::kDictionary:
      return fmt::format("dict<{}>", members_text());
  }
  return "?";
}

bool is_compatible(const Type& declared, const Type& actual) {
  if (declared.kind != actual.kind || declared.members.size() != actual.members.size())
    return false;
  for (std::size_t i = 0; i < declared.members.size(); ++i)
    if (!is_compatible(declared.members[i], actual.members[i])) return false;
  if (declared.kind == Type::Kind::kList)
    return declared.length < 0 || actual.length < 0 || declared.length == actual.length;
  if (declared.kind != Type::Kind::kTensor && declared.kind != Type::Kind::kState) return true;
  if (declared.dtype != actual.dtype || declared.shape.size() != actual.shape.size()) return false;
  for (std::size_t i = 0; i < declared.shape.size(); ++i)
    if (declared.shape[i] >= 0 && actual.shape[i] >= 0 && declared.shape[i] != actual.shape[i])
      return false;
  return true;
}

}  // namespace anemone::ir
