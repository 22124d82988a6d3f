// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"

namespace anemone {

// A dimension whose size is known only at run time (Core ML's "unknown" dimension).
inline constexpr std::int64_t kDynamic = -1;

// Outermost dimension first, row-major. Rank 0 is a scalar with one element.
using Shape = std::vector<std::int64_t>;

bool is_static(const Shape& shape);

// Number of elements; kCorrupt when a dimension is negative or the product exceeds 2^48 (no tensor
// of a model comes near it; a file that says so is damaged).
Result<std::int64_t> checked_element_count(const Shape& shape);
// Number of elements of a shape that was checked before.
inline std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    ANEMONE_DCHECK(dim >= 0);
    count *= dim;
  }
  return count;
}

// Row-major strides in elements.
std::vector<std::int64_t> strides_of(const Shape& shape);

// "[1, 64, ?, 1]"; "[]" for a scalar.
std::string to_string(const Shape& shape);

// numpy broadcasting of two shapes; a dynamic dimension against 1 stays dynamic, against n is n.
// kInvalidArgument when they do not match.
Result<Shape> broadcast_shapes(const Shape& a, const Shape& b);

// Python's rule: -rank <= axis < rank, negative counts from the end. kInvalidArgument otherwise.
Result<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank);

// One flag per dimension: whether `axes` (negative ones allowed) names it. kInvalidArgument when an
// axis lies outside or comes twice.
Result<std::vector<bool>> mark_axes(std::span<const std::int64_t> axes, std::size_t rank);

}  // namespace anemone
