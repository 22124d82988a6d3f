// SPDX-License-Identifier: Apache-2.0
// Short forms for writing operation schemas: dtype sets, parameters, and checked output types.
#pragma once

#include <anemone/status.h>

#include <string_view>
#include <utility>
#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

inline constexpr ir::DTypeSet kFloats{DType::kFp16, DType::kFp32};
inline constexpr ir::DTypeSet kBools{DType::kBool};
inline constexpr ir::DTypeSet kInt32s{DType::kInt32};
inline constexpr ir::DTypeSet kStrings{DType::kString};
inline constexpr ir::DTypeSet kFloatsAndInt32{DType::kFp16, DType::kFp32, DType::kInt32};
// The integers narrower than int32 that tensors may have from iOS17 on.
inline constexpr ir::DTypeSet kSmallInts{DType::kInt8, DType::kUInt8, DType::kInt16,
                                         DType::kUInt16};

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

// The same parameter, but absent means "none".
inline ir::Parameter optional(ir::Parameter parameter) {
  parameter.presence = ir::Parameter::Presence::kOptional;
  return parameter;
}

// The same parameter, in the operation from a later opset on.
inline ir::Parameter since(ir::Opset opset, ir::Parameter parameter) {
  parameter.since = opset;
  return parameter;
}

// Equal, or one of the two is unknown.
inline bool dims_agree(std::int64_t a, std::int64_t b) {
  return a == b || a == kDynamic || b == kDynamic;
}

// Appends an output type. A tensor of more than 2^40 elements (unknown dimensions count as one) is
// refused: no machine holds it, and a file that asks for one is damaged.
Status add_output(std::vector<ir::Type>& outputs, DType dtype, Shape shape);

}  // namespace anemone::ops
