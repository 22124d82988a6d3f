// SPDX-License-Identifier: Apache-2.0
#include "ops/image/resizing.h"

#include <cmath>
#include <utility>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"

namespace anemone::ops {
namespace {

// floor(scale * size) of `axis` (counted from the end). The product is fp32, as coremltools
// computes it with a numpy of today; with an older one it is fp64, and then the declared type says
// so.
Result<std::int64_t> upsampled_size(const ir::InferContext& context, std::string_view parameter,
                                    std::size_t axis, std::string_view constraint) {
  const Shape& x = context.type("x").shape;
  const std::int64_t size = x[x.size() - axis];
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {parameter}, constraint));
  double scale = 1;
  if (context.has(parameter)) {
    const auto value = context.value(parameter);
    if (!value) return ir::violated(constraint, "expected {} to be known", parameter);
    scale = element_as_double(*value, 0);
  }
  if (!(scale > 0 && scale <= static_cast<double>(kMaxElements)))
    return ir::violated(constraint, "expected {} above 0 and of at most 2^40, got {}", parameter,
                        scale);
  if (size == kDynamic) return kDynamic;
  const double exact = scale * static_cast<double>(size);
  const double rounded = static_cast<float>(exact);
  if (rounded > static_cast<double>(kMaxElements))
    return ir::violated(constraint, "expected an axis of at most 2^40 elements, got {} x {}", scale,
                        size);
  const ir::Type* declared = context.output_count() > 0 ? context.declared_output(0) : nullptr;
  const bool is_declared =
      declared != nullptr && declared->is_tensor() && declared->shape.size() == x.size() &&
      static_cast<double>(declared->shape[x.size() - axis]) == std::floor(exact);
  return static_cast<std::int64_t>(std::floor(is_declared ? exact : rounded));
}

}  // namespace

Status check_sampling_mode(const ir::InferContext& context, std::string_view constraint) {
  return choice_parameter(context, "sampling_mode", "DEFAULT",
                          {"STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "UNALIGN_CORNERS", "DEFAULT",
                           "OFFSET_CORNERS"},
                          constraint)
      .status();
}

Status add_resized(const ir::InferContext& context, std::int64_t height, std::int64_t width,
                   std::string_view constraint, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const std::size_t rank = x.shape.size();
  Shape out = x.shape;
  out[rank - 2] = height;
  out[rank - 1] = width;
  for (std::size_t i = rank - 2; i < rank; ++i)
    if (out[i] != kDynamic && (out[i] < 1) != (x.shape[i] == 0) && x.shape[i] != kDynamic)
      return ir::violated(constraint,
                          "expected at least one element before and after, got {} and {}",
                          to_string(x.shape), to_string(out));
  return add_output(outputs, constraint, x.dtype, std::move(out));
}

Status add_upsampled(const ir::InferContext& context, std::string_view constraint,
                     std::vector<ir::Type>& outputs) {
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t height,
                           upsampled_size(context, "scale_factor_height", 2, constraint));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t width,
                           upsampled_size(context, "scale_factor_width", 1, constraint));
  return add_resized(context, height, width, constraint, outputs);
}

std::vector<ir::Parameter> scale_parameters() {
  std::vector<ir::Parameter> parameters;
  for (const std::string_view name : {"scale_factor_height", "scale_factor_width"}) {
    parameters.push_back(defaulted(name, {DType::kInt32, DType::kFp32}, ir::Literal::int32(1)));
    parameters.back().dtype_letter = 'U';
  }
  return parameters;
}

}  // namespace anemone::ops
