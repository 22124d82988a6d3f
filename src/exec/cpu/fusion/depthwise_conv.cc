// SPDX-License-Identifier: Apache-2.0
// Convolutions over time, in which each channel has weights of its own.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "exec/cpu/fusion/matchers.h"
#include "exec/cpu/fusion/scratch.h"

namespace anemone::exec {
namespace {

// Elements of the input that one thread takes at a time.
constexpr std::int64_t kConvGrain = 8192;

thread_local Scratch conv_scratch;

class DepthwiseConvOp : public FusedOp {
 public:
  // `weight` is [channels, taps], `bias` [channels].
  DepthwiseConvOp(std::vector<float> weight, std::vector<float> bias)
      : weight_(std::move(weight)), bias_(std::move(bias)) {}

  std::string_view name() const override { return "depthwise_conv"; }
  Cost cost(const Shape& output, std::span<const Shape> /*states*/) const override {
    const auto floats = static_cast<std::int64_t>(weight_.size() + bias_.size());
    return {floats * static_cast<std::int64_t>(sizeof(float)), 2 * element_count(output) * taps()};
  }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    kernels::simd::DepthwiseConv form;
    form.weight = weight_.data();
    form.bias = bias_.data();
    form.positions = calls.front().inputs[0]->size() / channels();
    form.taps = taps();
    const std::int64_t grain = std::max<std::int64_t>(1, kConvGrain / form.positions);
    parallel_for_calls(
        calls, context.threads, [this](const FusedCall&) { return channels(); }, grain,
        [&](FusedCall& call, std::int64_t begin, std::int64_t end) {
          kernels::simd::DepthwiseConv conv = form;
          conv.x = call.inputs[0]->as<Half>().data();
          conv.out = call.outputs[0].as<Half>().data();
          context.kernels.depthwise_conv(
              conv, begin, end,
              conv_scratch.take<float>(kernels::simd::depthwise_conv_scratch(conv, end - begin)));
        });
    return {};
  }

 private:
  std::int64_t channels() const { return static_cast<std::int64_t>(bias_.size()); }
  std::int64_t taps() const { return static_cast<std::int64_t>(weight_.size()) / channels(); }

  const std::vector<float> weight_;
  const std::vector<float> bias_;
};

// Whether all axes behind the channels have one element, but for one of [positions] over which
// [taps] go to [positions - taps + 1].
bool is_along_one_axis(const Shape& x, const Shape& weight, const Shape& out) {
  int longer = 0;
  for (std::size_t i = 2; i < x.size(); ++i) {
    if (out[i] != x[i] - weight[i] + 1) return false;
    longer += x[i] == 1 ? 0 : 1;
  }
  return longer <= 1;
}

}  // namespace

std::optional<Fusion> match_depthwise_conv(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "conv") return std::nullopt;
  const int x = FusionGraph::argument(root, "x");
  const TensorView* weight = graph.constant(FusionGraph::argument(root, "weight"));
  if (x < 0 || weight == nullptr || weight->dtype != DType::kFp16) return std::nullopt;
  const ir::Type& in = graph.type(x);
  const ir::Type& out = graph.type(root.outputs[0]);
  if (!in.is_tensor() || in.dtype != DType::kFp16 || !is_static(in.shape) ||
      out.dtype != DType::kFp16 || in.shape[0] != 1)
    return std::nullopt;
  const std::int64_t channels = in.shape[1];
  // Without steps, the sizes leave no room for borders and holes.
  const auto strides = graph.ints(root, "strides");
  const bool has_steps = std::ranges::any_of(strides, [](std::int64_t step) { return step != 1; });
  if (has_steps || graph.number(root, "groups").value_or(1) != static_cast<double>(channels) ||
      weight->shape[0] != channels || weight->size() > channels * kernels::simd::kMaxTaps ||
      !is_along_one_axis(in.shape, weight->shape, out.shape))
    return std::nullopt;
  std::vector<float> bias(static_cast<std::size_t>(channels), 0.0f);
  if (const int reg = FusionGraph::argument(root, "bias"); reg >= 0) {
    const TensorView* value = graph.constant(reg);
    if (value == nullptr || value->size() != channels) return std::nullopt;
    bias = to_floats(*value);
  }
  return Fusion{
      std::make_shared<DepthwiseConvOp>(to_floats(*weight), std::move(bias)), &root, {x}, {}, {}};
}

}  // namespace anemone::exec
