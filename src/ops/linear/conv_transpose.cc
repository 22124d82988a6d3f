// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/common/spatial.h"
#include "ops/linear/convolution.h"
#include "ops/linear/linear.h"

namespace anemone::ops {
namespace {

// Groups and channels; kDynamic where the number of output channels is not known yet.
Result<std::int64_t> output_channels(const ir::InferContext& context) {
  const Shape& x = context.type("x").shape;
  const Shape& weight = context.type("weight").shape;
  std::optional<std::int64_t> groups = 1;
  if (context.has("groups")) groups = context.integer("groups");
  if (!groups) return kDynamic;
  if (*groups < 1)
    return ir::violated("conv_transpose_c2", "expected groups of at least 1, got {}", *groups);
  if (!dims_agree(x[1], weight[0]) || (x[1] != kDynamic && x[1] % *groups != 0) ||
      (weight[0] != kDynamic && weight[0] % *groups != 0))
    return ir::violated("conv_transpose_c2",
                        "expected as many channels in x as in the weight, divisible by {} groups, "
                        "got {} and {}",
                        *groups, x[1], weight[0]);
  if (weight[1] == kDynamic) return kDynamic;
  if (weight[1] > kMaxElements / *groups)
    return ir::violated("conv_transpose_c3", "expected fewer output channels, got {} x {}", *groups,
                        weight[1]);
  return *groups * weight[1];
}

Status check_constants(const ir::InferContext& context, std::int64_t channels) {
  const ir::Type& weight = context.type("weight");
  if (context.has("bias")) {
    ANEMONE_RETURN_IF_ERROR(check_vector(context, "bias", channels, "conv_transpose_c4"));
    if (context.type("bias").dtype != weight.dtype)
      return ir::violated("conv_transpose_c9", "expected a bias of {} as the weight, got {}",
                          dtype_name(weight.dtype), dtype_name(context.type("bias").dtype));
  }
  if (context.opset() >= ir::Opset::kIOS17) return ok_status();
  for (const std::string_view name : {"weight", "bias"})
    if (context.has(name) && !context.is_constant(name))
      return ir::violated("conv_transpose_c9", "a {} that is no constant exists from ios17 on",
                          name);
  return check_same_dtype_before_17(context, {"weight"}, "conv_transpose_c9");
}

// What the last two of kernel, stride and dilation span is refused before it can overflow.
Result<std::int64_t> output_size(const Window& window, std::size_t i, std::int64_t in) {
  const std::int64_t kernel = window.kernel[i];
  if (in == kDynamic || (kernel == kDynamic && !window.is_same)) return kDynamic;
  const std::int64_t stride = window.strides[i];
  const std::int64_t dilation = window.dilations[i];
  if (stride > kMaxElements / std::max<std::int64_t>(in, 1) ||
      (!window.is_same && dilation > kMaxElements / kernel))
    return ir::violated("conv_transpose_c7", "the strides or dilations are too large");
  if (window.is_same) return in * stride;
  const std::int64_t cut = window.pad[2 * i] + window.pad[2 * i + 1];
  const std::int64_t out = (in - 1) * stride + (kernel - 1) * dilation + 1 - cut;
  if (in < 1 || out < 1)
    return ir::violated("conv_transpose_c7", "nothing is left of an axis of {}", in);
  return out;
}

// output_shape names all dimensions, or nothing is known of it.
Status given_shape(const ir::InferContext& context, const Shape& out,
                   std::vector<ir::Type>& outputs) {
  const std::string constraint = "conv_transpose_c8";
  ANEMONE_RETURN_IF_ERROR(
      check_vector(context, "output_shape", static_cast<std::int64_t>(out.size()), constraint));
  const auto shape = context.ints("output_shape");
  if (!shape) return ir::violated(constraint, "expected a known output_shape");
  for (std::size_t i = 0; i < out.size(); ++i)
    if ((i < 2 && !dims_agree(out[i], (*shape)[i])) || (*shape)[i] < (i < 1 ? 0 : 1))
      return ir::violated(constraint, "expected an output_shape of [{}, {}, 1 or more ...], got {}",
                          out[0], out[1], to_string(*shape));
  return add_output(outputs, "conv_transpose_c10", context.type("x").dtype, *shape);
}

Status infer_conv_transpose(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const ir::Type& weight = context.type("weight");
  const std::size_t rank = x.shape.size();
  const auto is_empty = [](std::int64_t size) { return size == 0; };
  if (rank < 3 || rank > 5 || weight.shape.size() != rank ||
      std::any_of(weight.shape.begin() + 2, weight.shape.end(), is_empty))
    return ir::violated("conv_transpose_c1",
                        "expected x and weight of the same rank 3 to 5 and a kernel of at least "
                        "one cell, got {} and {}",
                        to_string(x.shape), to_string(weight.shape));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t channels, output_channels(context));
  ANEMONE_RETURN_IF_ERROR(check_constants(context, channels));
  if (context.text("pad_type").value_or("") == "same_lower")
    return ir::violated("conv_transpose_c6", "expected a pad_type of valid, custom or same");
  ANEMONE_ASSIGN_OR_RETURN(
      const auto window,
      read_window(context, "conv_transpose", {weight.shape.begin() + 2, weight.shape.end()}));
  Shape out(rank, kDynamic);
  out[0] = x.shape[0];
  out[1] = channels;
  if (context.has("output_shape")) return given_shape(context, out, outputs);
  if (!window) return add_output(outputs, "conv_transpose_c10", x.dtype, std::move(out));
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(out[i + 2], output_size(*window, i, x.shape[i + 2]));
  }
  return add_output(outputs, "conv_transpose_c10", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema conv_transpose_schema() {
  ir::OpSchema schema = convolution_schema("conv_transpose");
  schema.parameters.push_back(optional(constant("output_shape", kInt32)));
  schema.infer = infer_conv_transpose;
  return schema;
}

}  // namespace anemone::ops
