// SPDX-License-Identifier: Apache-2.0
// The sets of element types that the parameter tables use again and again.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

inline constexpr ir::DTypeSet kFloats{DType::kFp16, DType::kFp32};
inline constexpr ir::DTypeSet kInt32{DType::kInt32};
inline constexpr ir::DTypeSet kBool{DType::kBool};
inline constexpr ir::DTypeSet kText{DType::kString};
// What arithmetic takes.
inline constexpr ir::DTypeSet kNumeric = kFloats | kInt32;
// What operations that only move data take before iOS17, and some, such as select, in every opset.
inline constexpr ir::DTypeSet kFloatsInt32Bool = kNumeric | kBool;
inline constexpr ir::DTypeSet kSmallIntegers{DType::kInt8, DType::kUInt8, DType::kInt16,
                                             DType::kUInt16};
inline constexpr ir::DTypeSet kAny = kFloatsInt32Bool | kSmallIntegers;
// Positions and sizes; before iOS17 only int32.
inline constexpr ir::DTypeSet kPositions{DType::kInt8, DType::kInt16, DType::kInt32};

}  // namespace anemone::ops
