// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/common/spatial.h"
#include "ops/linear/convolution.h"
#include "ops/linear/linear.h"

namespace anemone::ops {
namespace {

Status infer_conv(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const ir::Type& weight = context.type("weight");
  const std::size_t rank = x.shape.size();
  if (rank < 3 || rank > 5 || weight.shape.size() != rank)
    return ir::violated("conv_c1", "expected x and weight of the same rank 3 to 5, got {} and {}",
                        to_string(x.shape), to_string(weight.shape));
  const std::int64_t channels = x.shape[1];
  const std::int64_t out_channels = weight.shape[0];
  const std::int64_t group_channels = weight.shape[1];
  for (std::size_t i = 2; i < rank; ++i)
    if (weight.shape[i] == 0)
      return ir::violated("conv_c1", "expected a kernel of at least one cell, got {}",
                          to_string(weight.shape));

  std::int64_t groups = 1;
  bool is_known = true;
  if (context.has("groups")) {
    const auto value = context.integer("groups");
    is_known = value.has_value();
    groups = value.value_or(1);
  }
  if (is_known) {
    if (groups < 1) return ir::violated("conv_c2", "expected groups of at least 1, got {}", groups);
    // Divided, not multiplied: the product of hostile values may overflow.
    if (channels != kDynamic &&
        (channels % groups != 0 || !dims_agree(channels / groups, group_channels)))
      return ir::violated("conv_c2", "expected x with {} x {} channels, got {}", groups,
                          group_channels, channels);
    if (out_channels != kDynamic && out_channels % groups != 0)
      return ir::violated("conv_c3", "expected output channels divisible by {} groups, got {}",
                          groups, out_channels);
  }
  if (context.has("bias")) {
    const ir::Type& bias = context.type("bias");
    if (bias.shape.size() != 1 || !dims_agree(bias.shape[0], out_channels))
      return ir::violated("conv_c4", "expected a bias of [{}], got {}", out_channels,
                          to_string(bias.shape));
    if (bias.dtype != weight.dtype)
      return ir::violated("conv_c9", "expected a bias of {} as the weight, got {}",
                          dtype_name(weight.dtype), dtype_name(bias.dtype));
    if (context.opset() < ir::Opset::kIOS17 && !context.is_constant("bias"))
      return ir::violated("conv_c9", "a bias that is no constant exists from ios17 on");
  }
  ANEMONE_RETURN_IF_ERROR(check_same_dtype_before_17(context, {"weight"}, "conv_c9"));

  ANEMONE_ASSIGN_OR_RETURN(
      const auto window,
      read_window(context, "conv", {weight.shape.begin() + 2, weight.shape.end()}));
  Shape out(rank, kDynamic);
  out[0] = x.shape[0];
  out[1] = out_channels;
  if (!window) return add_output(outputs, "conv_c10", x.dtype, std::move(out));
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (window->dilations[i] > 1 && !context.is_constant("weight"))
      return ir::violated("conv_c8", "a weight that is no constant allows no dilation");
    out[i + 2] = window_count(*window, i, x.shape[i + 2]);
    // "same" gives nothing for nothing: no token in, no token out.
    if (!window->is_same && out[i + 2] != kDynamic && out[i + 2] < 1)
      return ir::violated("conv_c7", "the kernel {} does not fit into x {}",
                          to_string(weight.shape), to_string(x.shape));
  }
  return add_output(outputs, "conv_c10", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema conv_schema() {
  ir::OpSchema schema = convolution_schema("conv");
  schema.infer = infer_conv;
  return schema;
}

}  // namespace anemone::ops
