// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/slicing.h"

#include <algorithm>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "tensor/slice.h"

namespace anemone::ops {
namespace {

constexpr std::string_view kMasks[] = {"begin_mask", "end_mask", "squeeze_mask"};

bool is_set(const std::vector<std::int64_t>& mask, std::size_t axis) {
  return !mask.empty() && mask[axis] != 0;
}

}  // namespace

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

}  // namespace anemone::ops
