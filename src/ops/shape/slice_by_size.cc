// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

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
  ANEMONE_RETURN_IF_ERROR(check_dtypes_before(context, k17, {"x"}, kAny15, "slice_by_size_c1"));
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

}  // namespace

ir::OpSchema slice_by_size_schema() {
  return {.name = "slice_by_size",
          .parameters = {{.name = "x", .dtypes = kAny},
                         {.name = "begin", .dtypes = kPositions, .dtype_letter = 'U'},
                         {.name = "size", .dtypes = kPositions, .dtype_letter = 'U'}},
          .infer = infer_slice_by_size};
}

}  // namespace anemone::ops
