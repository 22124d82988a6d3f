// SPDX-License-Identifier: Apache-2.0
// Short forms for writing the parameter tables of operation schemas.
#pragma once

#include <string_view>
#include <utility>

#include "ir/op_schema.h"
#include "ops/common/dtypes.h"

namespace anemone::ops {

// A run-time operand. Operands with the same letter have the same dtype.
inline ir::Parameter operand(std::string_view name, ir::DTypeSet dtypes, char letter = 0) {
  ir::Parameter parameter;
  parameter.name = name;
  parameter.dtypes = dtypes;
  parameter.dtype_letter = letter;
  return parameter;
}

// A required compile-time value.
inline ir::Parameter constant(std::string_view name, ir::DTypeSet dtypes, char letter = 0) {
  ir::Parameter parameter = operand(name, dtypes, letter);
  parameter.is_const = true;
  return parameter;
}

// A compile-time value with a default.
inline ir::Parameter defaulted(std::string_view name, ir::DTypeSet dtypes,
                               std::function<ir::Literal(const ir::InferContext&)> value) {
  ir::Parameter parameter = constant(name, dtypes);
  parameter.presence = ir::Parameter::Presence::kDefaulted;
  parameter.default_value = std::move(value);
  return parameter;
}
inline ir::Parameter defaulted(std::string_view name, ir::DTypeSet dtypes, ir::Literal value) {
  return defaulted(name, dtypes,
                   [value = std::move(value)](const ir::InferContext&) { return value; });
}

// Makes the parameter optional: absent means "none".
inline ir::Parameter optional(ir::Parameter parameter) {
  parameter.presence = ir::Parameter::Presence::kOptional;
  return parameter;
}

// Makes the parameter one that the operation has from a later opset on.
inline ir::Parameter since(ir::Opset opset, ir::Parameter parameter) {
  parameter.since = opset;
  return parameter;
}

// Parameters that several operations have: a constant int32 "axis", a constant bool, and the name
// of the dtype of positions ("int32"), which came with iOS17.
inline ir::Parameter axis_with_default(std::int32_t axis) {
  return defaulted("axis", kInt32, ir::Literal::int32(axis));
}

inline ir::Parameter flag_with_default(std::string_view name, bool value) {
  return defaulted(name, kBool, ir::Literal::boolean(value));
}

inline ir::Parameter indices_dtype_with_default(std::string_view name) {
  return since(ir::Opset::kIOS17, defaulted(name, kText, ir::Literal::text("int32")));
}

// Equal, or one of the two is unknown.
inline bool dims_agree(std::int64_t a, std::int64_t b) {
  return a == b || a == kDynamic || b == kDynamic;
}

}  // namespace anemone::ops
