// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor, read and replaced.
#include <anemone/status.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "ir/op_schema.h"
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"
#include "tensor/slice.h"

namespace anemone::ops {
namespace {

constexpr std::string_view kMasks[] = {"begin_mask", "end_mask", "squeeze_mask"};

bool is_set(const std::vector<std::int64_t>& mask, std::size_t axis) {
  return !mask.empty() && mask[axis] != 0;
}

std::vector<ir::Parameter> slice_parameters() {
  constexpr auto kOptional = ir::Parameter::Presence::kOptional;
  std::vector<ir::Parameter> out{{.name = "begin", .dtypes = kPositions, .dtype_letter = 'U'},
                                 {.name = "end", .dtypes = kPositions, .dtype_letter = 'U'},
                                 {.name = "stride",
                                  .dtypes = kPositions,
                                  .presence = kOptional,
                                  .is_const = true,
                                  .dtype_letter = 'U'}};
  for (const std::string_view mask : kMasks)
    out.push_back({.name = mask, .dtypes = kBool, .presence = kOptional, .is_const = true});
  return out;
}

Result<Shape> slice_shape(const ir::InferContext& context, std::string_view op) {
  const std::string lengths_label = fmt::format("{}_c2", op);
  const std::string values_label = fmt::format("{}_c3", op);
  const Shape& x = context.type("x").shape;
  const auto rank = static_cast<std::int64_t>(x.size());
  for (const std::string_view name :
       {"begin", "end", "stride", "begin_mask", "end_mask", "squeeze_mask"}) {
    ANEMONE_RETURN_IF_ERROR(check_vector(context, name, rank, lengths_label));
    const auto known = context.ints(name);
    if (known && known->size() != x.size())
      return ir::violated(lengths_label, "expected {} elements in {}, got {}", rank, name,
                          known->size());
  }
  const auto begin = context.ints("begin");
  const auto end = context.ints("end");
  SliceRequest request;
  request.stride = context.ints("stride").value_or(Shape());
  request.begin_mask = context.ints("begin_mask").value_or(Shape());
  request.end_mask = context.ints("end_mask").value_or(Shape());
  request.squeeze_mask = context.ints("squeeze_mask").value_or(Shape());
  request.begin = begin.value_or(Shape(x.size(), 0));
  request.end = end.value_or(Shape(x.size(), 0));
  if (std::count(request.stride.begin(), request.stride.end(), 0) > 0)
    return ir::violated(values_label, "expected strides other than 0, got {}",
                        to_string(request.stride));

  // An axis resolves when all that it depends on is known.
  Shape out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool is_squeezed = is_set(request.squeeze_mask, i);
    const bool is_known = x[i] != kDynamic && (begin || is_set(request.begin_mask, i)) &&
                          (end || is_squeezed || is_set(request.end_mask, i));
    if (!is_known) {
      if (!is_squeezed) out.push_back(kDynamic);
      continue;
    }
    const auto one = [i](const std::vector<std::int64_t>& all) {
      return all.empty() ? all : std::vector<std::int64_t>{all[i]};
    };
    const auto slice = resolve_slice(
        {x[i]}, {one(request.begin), one(request.end), one(request.stride), one(request.begin_mask),
                 one(request.end_mask), one(request.squeeze_mask)});
    if (!slice.ok())
      return ir::violated(values_label, "{} (axis {} of x)", slice.status().message(), i);
    if (!is_squeezed) out.push_back(slice->front().count);
  }
  return out;
}

Status infer_slice_by_index(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  constexpr auto k17 = ir::Opset::kIOS17;
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, k17, {"x"}, kFloatsInt32Bool, "slice_by_index_c1"));
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, k17, {"begin", "end", "stride"}, kInt32, "slice_by_index_c1"));
  ANEMONE_ASSIGN_OR_RETURN(Shape shape, slice_shape(context, "slice_by_index"));
  return add_output(outputs, "slice_by_index_c3", context.type("x").dtype, std::move(shape));
}

ir::OpSchema slice_by_index_schema() {
  ir::OpSchema schema{
      .name = "slice_by_index", .parameters = slice_parameters(), .infer = infer_slice_by_index};
  schema.parameters.insert(schema.parameters.begin(), {.name = "x", .dtypes = kAny});
  return schema;
}

// Size of the slice of one axis: -1 is the rest. A negative begin counts from the end.
Result<std::int64_t> slice_size(std::int64_t dim, std::optional<std::int64_t> begin,
                                std::optional<std::int64_t> size) {
  if (size && *size < -1)
    return ir::violated("slice_by_size_c3", "expected sizes of -1 or more, got {}", *size);
  if (dim == kDynamic || !begin) return size.value_or(kDynamic);  // a size of -1 is unknown as well
  const std::int64_t start = *begin < 0 ? *begin + dim : *begin;
  if (start < 0 || start > dim)
    return ir::violated("slice_by_size_c4", "expected a begin inside of {} elements, got {}", dim,
                        *begin);
  if (!size) return kDynamic;
  if (*size > dim - start)
    return ir::violated("slice_by_size_c4",
                        "expected at most {} elements from {} on, got a size of {}", dim - start,
                        *begin, *size);
  return *size == -1 ? dim - start : *size;
}

Status infer_slice_by_size(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  constexpr auto k17 = ir::Opset::kIOS17;
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, k17, {"x"}, kFloatsInt32Bool, "slice_by_size_c1"));
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, k17, {"begin", "size"}, kInt32, "slice_by_size_c1"));
  const ir::Type& x = context.type("x");
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  const auto begin = context.ints("begin");
  const auto size = context.ints("size");
  for (const std::string_view name : {"begin", "size"}) {
    ANEMONE_RETURN_IF_ERROR(check_vector(context, name, rank, "slice_by_size_c2"));
    const auto known = context.ints(name);
    if (known && known->size() != x.shape.size())
      return ir::violated("slice_by_size_c2", "expected {} elements in {}, got {}", rank, name,
                          known->size());
  }
  Shape shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(
        const std::int64_t dim,
        slice_size(x.shape[i], begin ? std::optional((*begin)[i]) : std::nullopt,
                   size ? std::optional((*size)[i]) : std::nullopt));
    shape.push_back(dim);
  }
  return add_output(outputs, "slice_by_size_c4", x.dtype, std::move(shape));
}

ir::OpSchema slice_by_size_schema() {
  return {.name = "slice_by_size",
          .parameters = {{.name = "x", .dtypes = kAny},
                         {.name = "begin", .dtypes = kPositions, .dtype_letter = 'U'},
                         {.name = "size", .dtypes = kPositions, .dtype_letter = 'U'}},
          .infer = infer_slice_by_size};
}

Status infer_slice_update(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const Shape& update = context.type("update").shape;
  if (update.empty())
    return ir::violated("slice_update_c1", "expected an update of rank 1 or more, got a scalar");
  ANEMONE_ASSIGN_OR_RETURN(const Shape slice, slice_shape(context, "slice_update"));
  ANEMONE_RETURN_IF_ERROR(
      merge_shapes(slice, update, "the slice of x and update", "slice_update_c4").status());
  outputs.push_back(context.type("x"));
  return ok_status();
}

ir::OpSchema slice_update_schema() {
  ir::OpSchema schema{.name = "slice_update",
                      .since = ir::Opset::kIOS18,
                      .parameters = {{.name = "x", .dtypes = kAny, .dtype_letter = 'T'},
                                     {.name = "update", .dtypes = kAny, .dtype_letter = 'T'}},
                      .infer = infer_slice_update};
  for (ir::Parameter& parameter : slice_parameters()) schema.parameters.push_back(parameter);
  return schema;
}

}  // namespace

std::vector<ir::OpSchema> slice_schemas() {
  return {slice_by_index_schema(), slice_by_size_schema(), slice_update_schema()};
}

}  // namespace anemone::ops
