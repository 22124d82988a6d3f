// SPDX-License-Identifier: Apache-2.0
// Schemas of the category constexpr: weights that are stored compressed. Up to iOS17 their
// parameters are attributes, from iOS18 on inputs; the rules see both as parameters and decide by
// which are present.
#pragma once

#include <string_view>

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema constexpr_affine_dequantize_schema();
ir::OpSchema constexpr_blockwise_shift_scale_schema();
ir::OpSchema constexpr_cast_schema();
ir::OpSchema constexpr_lut_to_dense_schema();
ir::OpSchema constexpr_lut_to_sparse_schema();
ir::OpSchema constexpr_sparse_blockwise_shift_scale_schema();
ir::OpSchema constexpr_sparse_to_dense_schema();

// Element types of plain constexpr data.
inline constexpr ir::DTypeSet kConstexprData{DType::kInt4,  DType::kUInt4, DType::kInt8,
                                             DType::kUInt8, DType::kFp16,  DType::kFp32};
inline constexpr ir::DTypeSet kPaletteData{DType::kInt8, DType::kUInt8, DType::kFp16, DType::kFp32};
inline constexpr ir::DTypeSet kPaletteIndices{DType::kUInt1, DType::kUInt2, DType::kUInt3,
                                              DType::kUInt4, DType::kUInt6, DType::kUInt8};
inline constexpr ir::DTypeSet kMaskBits{DType::kUInt1};

// Rules that a dense operation and its sparse form share. Errors carry `<op>_c<n>`.

// `scale` and `offset` for `data` of this shape and dtype: ranks (c1), block sizes (c2), shape (c3)
// and dtype (c4) of the offset.
Status check_shift_scale(const ir::InferContext& context, std::string_view op, const Shape& data,
                         DType dtype);

// `lut` [groups..., 2^bits, vector size] and `vector_axis` for indices of this shape and dtype:
// ranks (c1), groups (c2), number of entries (c3), vector axis (c4). Gives the shape that the
// indices expand to.
Result<Shape> check_lut(const ir::InferContext& context, std::string_view op, const Shape& indices,
                        DType dtype);

// The `shape` parameter of the attribute forms: a known vector of sizes, whose elements fit `bytes`
// bytes of `bits` bits each. Errors carry `constraint`.
Result<Shape> packed_shape(const ir::InferContext& context, const Shape& bytes, int bits,
                           std::string_view constraint);

}  // namespace anemone::ops
