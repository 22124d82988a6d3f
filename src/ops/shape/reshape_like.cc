// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Result<std::int64_t> known_scalar(const ir::InferContext& context, std::string_view parameter,
                                  std::size_t i) {
  const auto value = context.value(parameter, i);
  if (!value || value->size() != 1)
    return ir::violated("reshape_like_c2", "expected known scalars in {}", parameter);
  return element_as_int(*value, 0);
}

// A position in a shape of `rank` dimensions, as in a Python slice.
std::size_t position(std::int64_t at, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(at < 0 ? at + n : at, 0, n));
}

Status infer_reshape_like(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kFloatsInt32Bool, "reshape_like_c1"));
  const std::size_t count = context.count("ref_tensors");
  for (const std::string_view parameter : {"begins", "ends", "end_masks"})
    if (context.count(parameter) != count)
      return ir::violated("reshape_like_c2", "expected {} values in {}, got {}", count, parameter,
                          context.count(parameter));
  const ir::Type& x = context.type("x");
  Shape shape;
  for (std::size_t i = 0; i < count; ++i) {
    const Shape& from = context.type("ref_tensors", i).shape;
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t begin, known_scalar(context, "begins", i));
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t end, known_scalar(context, "ends", i));
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t to_the_end, known_scalar(context, "end_masks", i));
    const std::size_t last = to_the_end != 0 ? from.size() : position(end, from.size());
    for (std::size_t d = position(begin, from.size()); d < last; ++d) shape.push_back(from[d]);
    if (shape.size() > kMaxRank)
      return ir::violated("reshape_like_c3", "expected a result of at most {} dimensions",
                          kMaxRank);
  }
  if (known_count(x.shape) != kDynamic && known_count(shape) != kDynamic &&
      known_count(x.shape) != known_count(shape))
    return ir::violated("reshape_like_c4", "expected the {} elements of x, got the shape {}",
                        known_count(x.shape), to_string(shape));
  return add_output(outputs, "reshape_like_c3", x.dtype, std::move(shape));
}

}  // namespace

ir::OpSchema reshape_like_schema() {
  return {
      .name = "reshape_like",
      .since = ir::Opset::kIOS16,
      .parameters = {{.name = "x", .dtypes = kAny},
                     {.name = "ref_tensors", .dtypes = kAny, .is_variadic = true},
                     {.name = "begins", .dtypes = kInt32, .is_const = true, .is_variadic = true},
                     {.name = "ends", .dtypes = kInt32, .is_const = true, .is_variadic = true},
                     {.name = "end_masks", .dtypes = kBool, .is_const = true, .is_variadic = true}},
      .infer = infer_reshape_like};
}

}  // namespace anemone::ops
