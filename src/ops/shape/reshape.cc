// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

// A 0 keeps the dimension of x at the same index; since iOS17 indices count from the right, and one
// that x does not have stands for 1.
Result<std::int64_t> kept_dimension(const ir::InferContext& context, const Shape& x, std::size_t i,
                                    std::size_t rank) {
  if (context.opset() >= ir::Opset::kIOS17) {
    const std::size_t from_right = rank - i;
    return from_right <= x.size() ? x[x.size() - from_right] : 1;
  }
  if (i >= x.size())
    return ir::violated("reshape_c3",
                        "expected a 0 in shape only where x has a dimension, got index {}", i);
  return x[i];
}

// The size that -1 stands for.
Result<std::int64_t> fitted_dimension(const Shape& x, const Shape& shape) {
  const std::int64_t count = known_count(x);
  std::int64_t rest = 1;
  for (const std::int64_t dim : shape) rest *= std::max<std::int64_t>(dim, 1);
  const bool has_zero = std::count(shape.begin(), shape.end(), 0) > 0;
  if (count == kDynamic) return kDynamic;
  if (has_zero || count % rest != 0)
    return ir::violated("reshape_c5", "expected the {} elements of x in a shape like {}", count,
                        to_string(shape));
  return count / rest;
}

Status infer_reshape(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kFloatsInt32Bool, "reshape_c1"));
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"shape"}, kInt32, "reshape_c1"));
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "shape", kDynamic, "reshape_c2"));
  const ir::Type& x = context.type("x");
  const auto wanted = context.ints("shape");
  if (!wanted) {
    const std::int64_t rank = context.type("shape").shape[0];
    if (rank == kDynamic || rank > kMaxRank)
      return ir::violated("reshape_c2", "expected a shape of at most {} dimensions", kMaxRank);
    return add_output(outputs, "reshape_c4", x.dtype,
                      Shape(static_cast<std::size_t>(rank), kDynamic));
  }
  if (wanted->size() > kMaxRank)
    return ir::violated("reshape_c2", "expected a shape of at most {} dimensions", kMaxRank);
  Shape shape = *wanted;
  std::optional<std::size_t> fitted;
  bool has_unknown = false;  // a kept dimension that is not known; not the same as the fitted one
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && !fitted) {
      fitted = i;
      shape[i] = 1;
    } else if (shape[i] == 0) {
      ANEMONE_ASSIGN_OR_RETURN(shape[i], kept_dimension(context, x.shape, i, shape.size()));
      has_unknown |= shape[i] == kDynamic;
    } else if (shape[i] < 0) {
      return ir::violated("reshape_c4", "expected dimensions of at least 0 and one -1, got {}",
                          shape[i]);
    }
  }
  std::vector<ir::Type> whole;
  ANEMONE_RETURN_IF_ERROR(add_output(whole, "reshape_c4", x.dtype, shape));
  if (fitted) {
    shape[*fitted] = kDynamic;
    if (!has_unknown) {
      Shape others = shape;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(*fitted));
      ANEMONE_ASSIGN_OR_RETURN(shape[*fitted], fitted_dimension(x.shape, others));
    }
  } else if (is_static(shape) && known_count(x.shape) != kDynamic &&
             known_count(x.shape) != element_count(shape)) {
    return ir::violated("reshape_c5", "expected the {} elements of x, got the shape {}",
                        known_count(x.shape), to_string(shape));
  }
  return add_output(outputs, "reshape_c4", x.dtype, std::move(shape));
}

}  // namespace

ir::OpSchema reshape_schema() {
  return {.name = "reshape",
          .parameters = {{.name = "x", .dtypes = kAny}, {.name = "shape", .dtypes = kPositions}},
          .infer = infer_reshape};
}

}  // namespace anemone::ops
