// SPDX-License-Identifier: Apache-2.0
#include "tensor/shape.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace anemone {

bool is_static(const Shape& shape) {
  return std::none_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; });
}

Result<std::int64_t> checked_element_count(const Shape& shape) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 48;
  // The product without zeros is bounded too: strides and partial products then never overflow.
  std::int64_t count = 1;
  bool is_empty = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0) return corrupt("expected dimensions of at least 0, got {}", to_string(shape));
    is_empty = is_empty || dim == 0;
    if (dim > kLimit / count) return corrupt("the shape {} is too large", to_string(shape));
    count *= std::max<std::int64_t>(dim, 1);
  }
  return is_empty ? 0 : count;
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i] < 0 ? "?" : std::to_string(shape[i]);
  }
  return text + "]";
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    std::int64_t& result = out[out.size() - 1 - i];
    if (da == db || db == 1) {
      result = da;
    } else if (da == 1) {
      result = db;
    } else if (da == kDynamic || db == kDynamic) {
      result = std::max(da, db);
    } else {
      return invalid_argument("shapes {} and {} do not broadcast", to_string(a), to_string(b));
    }
  }
  return out;
}

Result<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n)
    return invalid_argument("axis {} lies outside of [-{}, {})", axis, n, n);
  return axis < 0 ? axis + n : axis;
}

Result<std::vector<bool>> mark_axes(std::span<const std::int64_t> axes, std::size_t rank) {
  std::vector<bool> marked(rank, false);
  for (const std::int64_t axis : axes) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t i, normalize_axis(axis, rank));
    if (marked[static_cast<std::size_t>(i)]) return invalid_argument("axis {} comes twice", axis);
    marked[static_cast<std::size_t>(i)] = true;
  }
  return marked;
}

}  // namespace anemone
