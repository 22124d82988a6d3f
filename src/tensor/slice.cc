// SPDX-License-Identifier: Apache-2.0
#include "tensor/slice.h"

#include <algorithm>

#include "base/error.h"

namespace anemone {
namespace {

Status check_length(const std::vector<std::int64_t>& values, std::size_t rank,
                    std::string_view what, bool may_be_empty) {
  if (values.size() == rank || (may_be_empty && values.empty())) return ok_status();
  return invalid_argument("expected {} with one entry for each of {} axes, got {}", what, rank,
                          values.size());
}

bool at(const std::vector<std::int64_t>& mask, std::size_t axis) {
  return !mask.empty() && mask[axis] != 0;
}

// A position as Python reads it: from the end when negative, then into [low, high].
std::int64_t clamp_position(std::int64_t position, std::int64_t dim, std::int64_t low,
                            std::int64_t high) {
  if (position < 0) position += dim;
  return std::clamp(position, low, high);
}

Result<AxisSlice> resolve_axis(std::int64_t dim, const SliceRequest& request, std::size_t axis) {
  if (at(request.squeeze_mask, axis)) {
    std::int64_t position = at(request.begin_mask, axis) ? 0 : request.begin[axis];
    if (position < 0) position += dim;
    if (position < 0 || position >= dim)
      return invalid_argument("expected an index inside of axis {} of {} elements, got {}", axis,
                              dim, request.begin[axis]);
    return AxisSlice{position, 1, 1, true};
  }
  const std::int64_t step = request.stride.empty() ? 1 : request.stride[axis];
  if (step == 0) return invalid_argument("expected a stride other than 0 on axis {}, got 0", axis);
  // Going down, the end -1 means "before the first element"; a written -1 means the last one.
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? dim : dim - 1;
  const std::int64_t start = at(request.begin_mask, axis)
                                 ? (step > 0 ? low : high)
                                 : clamp_position(request.begin[axis], dim, low, high);
  const std::int64_t end = at(request.end_mask, axis)
                               ? (step > 0 ? high : low)
                               : clamp_position(request.end[axis], dim, low, high);
  AxisSlice out{start, step, 0, false};
  const std::int64_t distance = step > 0 ? end - start : start - end;
  if (distance > 0) {
    // -(step + 1) cannot overflow where -step could.
    const std::int64_t stride_less_one = step > 0 ? step - 1 : -(step + 1);
    out.count =
        stride_less_one >= distance ? 1 : (distance + stride_less_one) / (stride_less_one + 1);
  }
  // A slice of one element or none takes no step: this keeps start + step from overflowing.
  if (out.count <= 1) out.step = 1;
  if (out.count == 0) out.start = 0;
  return out;
}

}  // namespace

Result<std::vector<AxisSlice>> resolve_slice(const Shape& shape, const SliceRequest& request) {
  const std::size_t rank = shape.size();
  ANEMONE_RETURN_IF_ERROR(check_length(request.begin, rank, "begin", false));
  ANEMONE_RETURN_IF_ERROR(check_length(request.end, rank, "end", false));
  ANEMONE_RETURN_IF_ERROR(check_length(request.stride, rank, "stride", true));
  ANEMONE_RETURN_IF_ERROR(check_length(request.begin_mask, rank, "begin_mask", true));
  ANEMONE_RETURN_IF_ERROR(check_length(request.end_mask, rank, "end_mask", true));
  ANEMONE_RETURN_IF_ERROR(check_length(request.squeeze_mask, rank, "squeeze_mask", true));
  std::vector<AxisSlice> out;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    ANEMONE_ASSIGN_OR_RETURN(const AxisSlice slice, resolve_axis(shape[axis], request, axis));
    out.push_back(slice);
  }
  return out;
}

Shape shape_of(std::span<const AxisSlice> slice) {
  Shape shape;
  for (const AxisSlice& axis : slice)
    if (!axis.is_squeezed) shape.push_back(axis.count);
  return shape;
}

}  // namespace anemone
