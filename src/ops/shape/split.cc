// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

using ir::InferContext;

// A split into more parts than this is a damaged file: every part costs a value of the program.
constexpr std::int64_t kMaxParts = 1 << 16;

// Sizes of the parts of an axis of `dim` elements (kDynamic when unknown).
Result<Shape> part_sizes(const InferContext& context, std::int64_t dim) {
  const auto sizes = context.ints("split_sizes");
  if (sizes && !sizes->empty()) {
    std::int64_t total = 0;
    for (const std::int64_t size : *sizes) {
      if (size < 0 || size > kMaxElements - total)
        return ir::violated("split_c3", "expected part sizes of at least 0, got {}", size);
      total += size;
    }
    if (dim != kDynamic && total != dim)
      return ir::violated("split_c3", "expected parts of {} elements together, got {}", dim, total);
    if (context.has("num_splits") &&
        context.integer("num_splits") != static_cast<std::int64_t>(sizes->size()))
      return ir::violated("split_c2", "expected num_splits to agree with {} split_sizes",
                          sizes->size());
    return *sizes;
  }
  const auto parts = context.integer("num_splits");
  if (!parts || *parts < 1 || *parts > kMaxParts)
    return ir::violated("split_c2", "expected split_sizes, or num_splits in [1, {}]", kMaxParts);
  if (dim != kDynamic && dim % *parts != 0)
    return ir::violated("split_c4", "expected an axis that {} parts divide, got {} elements",
                        *parts, dim);
  return Shape(static_cast<std::size_t>(*parts), dim == kDynamic ? kDynamic : dim / *parts);
}

Status infer_split(const InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"num_splits"}, "split_c1"));
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "split_sizes", kDynamic, "split_c1"));
  const ir::Type& x = context.type("x");
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t axis,
                           axis_parameter(context, "axis", 0, x.shape.size(), "split_c5"));
  ANEMONE_ASSIGN_OR_RETURN(const Shape sizes, part_sizes(context, x.shape[axis]));
  for (const std::int64_t size : sizes) {
    Shape shape = x.shape;
    shape[axis] = size;
    ANEMONE_RETURN_IF_ERROR(add_output(outputs, "split_c3", x.dtype, std::move(shape)));
  }
  return ok_status();
}

}  // namespace

ir::OpSchema split_schema() {
  constexpr auto kOptional = ir::Parameter::Presence::kOptional;
  return {.name = "split",
          .parameters =
              {{.name = "x", .dtypes = kAny},
               {.name = "num_splits", .dtypes = kInt32, .presence = kOptional, .is_const = true},
               {.name = "split_sizes", .dtypes = kInt32, .presence = kOptional, .is_const = true},
               {.name = "axis", .dtypes = kInt32, .is_const = true}},
          .infer = infer_split};
}

}  // namespace anemone::ops
