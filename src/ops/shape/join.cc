// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/join.h"

#include <string>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"

namespace anemone::ops {

Result<Shape> joined_shape(const ir::InferContext& context, std::int64_t free_axis,
                           std::string_view label, std::string_view shape_label) {
  const ir::Type& first = context.type("values");
  Shape merged = first.shape;
  for (std::size_t i = 0; i < context.count("values"); ++i) {
    const ir::Type& type = context.type("values", i);
    if (!type.is_tensor() || !kAny.contains(type.dtype) || type.dtype != first.dtype)
      return ir::violated(label, "expected tensors of one dtype, got {} and {}", to_string(first),
                          to_string(type));
    Shape shape = type.shape;
    if (free_axis != kDynamic && shape.size() == merged.size())
      shape[static_cast<std::size_t>(free_axis)] = merged[static_cast<std::size_t>(free_axis)];
    ANEMONE_ASSIGN_OR_RETURN(merged, merge_shapes(merged, shape, "values", shape_label));
  }
  return merged;
}

}  // namespace anemone::ops
