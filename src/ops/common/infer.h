// SPDX-License-Identifier: Apache-2.0
// Pieces of type rules that many operations share. `constraint` names the constraint that an error
// is about, such as "squeeze_c2".
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

// Far more elements than a tensor of any model has: a larger count means a damaged file.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
// Core ML's own limit is 5. Files that are read may go beyond it, but only this far: a damaged file
// cannot make shapes so long that they fill the memory.
inline constexpr std::int64_t kMaxRank = 16;

// Appends tensor<dtype, shape>; refuses a shape of more than kMaxElements elements (an unknown
// dimension counts as one), so that sizes and strides of what the rules let through never overflow.
Status add_output(std::vector<ir::Type>& outputs, std::string_view constraint, DType dtype,
                  Shape shape);

// Number of elements; kDynamic when a dimension is unknown. The shape must be one that add_output()
// accepted or that a type of the program has, so the product does not overflow.
std::int64_t known_count(const Shape& shape);

// Checks that the parameters have a dtype of `before` when the opset is older than `since`. Absent
// parameters pass.
Status check_dtypes_before(const ir::InferContext& context, ir::Opset since,
                           std::initializer_list<std::string_view> parameters, ir::DTypeSet before,
                           std::string_view constraint);
// Checks that the parameters have the dtype of x, which opsets before iOS17 ask for. Absent
// parameters pass.
Status check_same_dtype_before_17(const ir::InferContext& context,
                                  std::initializer_list<std::string_view> parameters,
                                  std::string_view constraint);

// The parameters hold one element, if they are there: rank 0, or the shape [1] that some writers
// use.
Status check_scalars(const ir::InferContext& context,
                     std::initializer_list<std::string_view> parameters,
                     std::string_view constraint);
// The parameter, if it is there, is a vector (rank 1); of `length` elements unless that is
// kDynamic.
Status check_vector(const ir::InferContext& context, std::string_view parameter,
                    std::int64_t length, std::string_view constraint);

// normalize_axis and mark_axes with the constraint in the error.
Result<std::size_t> checked_axis(std::int64_t axis, std::size_t rank, std::string_view constraint);
Result<std::vector<bool>> checked_axes(std::span<const std::int64_t> axes, std::size_t rank,
                                       std::string_view constraint);
// The axis in a scalar parameter, `fallback` when it is absent.
Result<std::size_t> axis_parameter(const ir::InferContext& context, std::string_view parameter,
                                   std::int64_t fallback, std::size_t rank,
                                   std::string_view constraint);

// The known integer of a scalar parameter, `fallback` when it is absent; refuses what is below
// `least`.
Result<std::int64_t> integer_parameter(const ir::InferContext& context, std::string_view parameter,
                                       std::int64_t fallback, std::int64_t least,
                                       std::string_view constraint);
// The known vector of `length` integers of at least `least` in a parameter that is there.
Result<std::vector<std::int64_t>> ints_parameter(const ir::InferContext& context,
                                                 std::string_view parameter, std::size_t length,
                                                 std::int64_t least, std::string_view constraint);
// The known text of a parameter, `fallback` when it is absent; refuses what is not in `choices`.
Result<std::string_view> choice_parameter(const ir::InferContext& context,
                                          std::string_view parameter, std::string_view fallback,
                                          std::initializer_list<std::string_view> choices,
                                          std::string_view constraint);

// dim * factor for a dimension that may be kDynamic and a factor of at least 1; refuses a product
// of more than kMaxElements.
Result<std::int64_t> scaled_dim(std::int64_t dim, std::int64_t factor, std::string_view constraint);
// dim / factor; refuses a division that leaves a remainder.
Result<std::int64_t> divided_dim(std::int64_t dim, std::int64_t factor,
                                 std::string_view constraint);

// Two shapes that must be the same up to unknown dimensions, merged; `what` names them in the
// error.
Result<Shape> merge_shapes(const Shape& a, const Shape& b, std::string_view what,
                           std::string_view constraint);

}  // namespace anemone::ops
