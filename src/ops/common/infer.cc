// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace anemone::ops {

Status add_output(std::vector<ir::Type>& outputs, std::string_view constraint, DType dtype,
                  Shape shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    // A dimension of 0 counts as 1: the strides of the others must not overflow either.
    const std::int64_t factor = std::max<std::int64_t>(dim, 1);
    if (dim < kDynamic || factor > kMaxElements / count)
      return ir::violated(constraint, "expected an output of at most 2^40 elements, got {}",
                          to_string(shape));
    count *= factor;
  }
  outputs.push_back(ir::Type::tensor(dtype, std::move(shape)));
  return ok_status();
}

std::int64_t known_count(const Shape& shape) {
  return is_static(shape) ? checked_element_count(shape).value_or(kDynamic) : kDynamic;
}

Status check_dtypes_before(const ir::InferContext& context, ir::Opset since,
                           std::initializer_list<std::string_view> parameters, ir::DTypeSet before,
                           std::string_view constraint) {
  if (context.opset() >= since) return ok_status();
  for (const std::string_view parameter : parameters) {
    for (std::size_t i = 0; i < context.count(parameter); ++i) {
      const DType dtype = context.type(parameter, i).dtype;
      if (!before.contains(dtype))
        return ir::violated(constraint, "expected {} of a dtype that {} knows there, got {}",
                            parameter, ir::opset_target(context.opset()), dtype_name(dtype));
    }
  }
  return ok_status();
}

Status check_same_dtype_before_17(const ir::InferContext& context,
                                  std::initializer_list<std::string_view> parameters,
                                  std::string_view constraint) {
  if (context.opset() >= ir::Opset::kIOS17) return ok_status();
  const DType want = context.type("x").dtype;
  for (const std::string_view parameter : parameters) {
    if (context.has(parameter) && context.type(parameter).dtype != want)
      return ir::violated(constraint, "expected {} of the dtype of x, {}, before ios17, got {}",
                          parameter, dtype_name(want), dtype_name(context.type(parameter).dtype));
  }
  return ok_status();
}

Status check_scalars(const ir::InferContext& context,
                     std::initializer_list<std::string_view> parameters,
                     std::string_view constraint) {
  for (const std::string_view parameter : parameters) {
    if (!context.has(parameter)) continue;
    const Shape& shape = context.type(parameter).shape;
    const bool is_scalar =
        shape.empty() || (shape.size() == 1 && (shape[0] == 1 || shape[0] == kDynamic));
    if (!is_scalar)
      return ir::violated(constraint, "expected {} to be a scalar, got the shape {}", parameter,
                          to_string(shape));
  }
  return ok_status();
}

Status check_vector(const ir::InferContext& context, std::string_view parameter,
                    std::int64_t length, std::string_view constraint) {
  if (!context.has(parameter)) return ok_status();
  const Shape& shape = context.type(parameter).shape;
  if (shape.size() != 1)
    return ir::violated(constraint, "expected {} of rank 1, got the shape {}", parameter,
                        to_string(shape));
  if (length != kDynamic && shape[0] != kDynamic && shape[0] != length)
    return ir::violated(constraint, "expected {} elements in {}, got {}", length, parameter,
                        shape[0]);
  return ok_status();
}

Result<std::size_t> checked_axis(std::int64_t axis, std::size_t rank, std::string_view constraint) {
  const auto normalized = normalize_axis(axis, rank);
  if (!normalized.ok()) return ir::violated(constraint, "{}", normalized.status().message());
  return static_cast<std::size_t>(*normalized);
}

Result<std::vector<bool>> checked_axes(std::span<const std::int64_t> axes, std::size_t rank,
                                       std::string_view constraint) {
  auto marked = mark_axes(axes, rank);
  if (!marked.ok()) return ir::violated(constraint, "{}", marked.status().message());
  return marked;
}

Result<std::size_t> axis_parameter(const ir::InferContext& context, std::string_view parameter,
                                   std::int64_t fallback, std::size_t rank,
                                   std::string_view constraint) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {parameter}, constraint));
  std::optional<std::int64_t> axis = fallback;
  if (context.has(parameter)) axis = context.integer(parameter);
  if (!axis) return ir::violated(constraint, "expected {} to be a known integer", parameter);
  return checked_axis(*axis, rank, constraint);
}

Result<std::int64_t> integer_parameter(const ir::InferContext& context, std::string_view parameter,
                                       std::int64_t fallback, std::int64_t least,
                                       std::string_view constraint) {
  if (!context.has(parameter)) return fallback;
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {parameter}, constraint));
  const auto value = context.integer(parameter);
  if (!value) return ir::violated(constraint, "expected {} to be a known integer", parameter);
  if (*value < least)
    return ir::violated(constraint, "expected {} of at least {}, got {}", parameter, least, *value);
  return *value;
}

Result<std::vector<std::int64_t>> ints_parameter(const ir::InferContext& context,
                                                 std::string_view parameter, std::size_t length,
                                                 std::int64_t least, std::string_view constraint) {
  ANEMONE_RETURN_IF_ERROR(
      check_vector(context, parameter, static_cast<std::int64_t>(length), constraint));
  auto values = context.ints(parameter);
  if (!values || values->size() != length ||
      std::any_of(values->begin(), values->end(), [&](std::int64_t v) { return v < least; }))
    return ir::violated(constraint, "expected {} to be {} known integers of at least {}", parameter,
                        length, least);
  return std::move(*values);
}

Result<std::string_view> choice_parameter(const ir::InferContext& context,
                                          std::string_view parameter, std::string_view fallback,
                                          std::initializer_list<std::string_view> choices,
                                          std::string_view constraint) {
  if (!context.has(parameter)) return fallback;
  const auto text = context.text(parameter);
  if (!text || std::find(choices.begin(), choices.end(), *text) == choices.end())
    return ir::violated(constraint, "expected {} to be one of {}, got \"{}\"", parameter,
                        fmt::join(choices, ", "), text.value_or(""));
  return *text;
}

Result<std::int64_t> scaled_dim(std::int64_t dim, std::int64_t factor,
                                std::string_view constraint) {
  if (dim == kDynamic) return kDynamic;
  if (factor > kMaxElements / std::max<std::int64_t>(dim, 1))
    return ir::violated(constraint, "expected an axis of at most 2^40 elements, got {} x {}", dim,
                        factor);
  return dim * factor;
}

Result<std::int64_t> divided_dim(std::int64_t dim, std::int64_t factor,
                                 std::string_view constraint) {
  if (dim == kDynamic) return kDynamic;
  if (dim % factor != 0)
    return ir::violated(constraint, "expected an axis divisible by {}, got {}", factor, dim);
  return dim / factor;
}

Result<Shape> merge_shapes(const Shape& a, const Shape& b, std::string_view what,
                           std::string_view constraint) {
  bool is_same = a.size() == b.size();
  Shape out = a;
  for (std::size_t i = 0; is_same && i < a.size(); ++i) {
    is_same = a[i] == b[i] || a[i] == kDynamic || b[i] == kDynamic;
    out[i] = std::max(a[i], b[i]);
  }
  if (!is_same)
    return ir::violated(constraint, "expected {} to have equal shapes, got {} and {}", what,
                        to_string(a), to_string(b));
  return out;
}

}  // namespace anemone::ops
