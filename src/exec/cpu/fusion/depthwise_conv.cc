// SPDX-License-Identifier: Apache-2.0
// Convolutions over time, in which each channel has weights of its own.
#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/cpu/fusion/axis_slice.h"
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

// Whether all axes after the channels have one element, but for one of [positions] over which
// [taps] go to [positions - taps + 1].
bool is_along_one_axis(const Shape& x, const Shape& weight, const Shape& out) {
  int longer = 0;
  for (std::size_t i = 2; i < x.size(); ++i) {
    if (out[i] != x[i] - weight[i] + 1) return false;
    longer += x[i] == 1 ? 0 : 1;
  }
  return longer <= 1;
}

std::optional<Fusion> match_operation(const FusionGraph& graph, PreparedOp& root) {
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

// Sums of slice(x, tap) * weights [1, C, 1, ...] over all taps, and a bias of that shape: the same
// convolution, written out.
class WrittenOut {
 public:
  WrittenOut(const FusionGraph& graph, PreparedOp& root) : graph_(graph), root_(root) {}

  std::optional<Fusion> find() {
    const ir::Type& out = graph_.type(root_.outputs[0]);
    if (!out.is_tensor() || out.dtype != DType::kFp16 || !is_static(out.shape) ||
        out.shape.size() < 3 || out.shape[0] != 1 || !add_terms() || weights_.size() < 2)
      return std::nullopt;
    const Shape& in = graph_.type(x_).shape;
    // The taps are all that there are from the first to the last, each once.
    const auto taps = static_cast<std::int64_t>(weights_.size());
    Shape kernel(in.size(), 1);
    kernel[axis_] = taps;
    if (weights_.begin()->first != 0 || weights_.rbegin()->first != taps - 1 || axis_ < 2 ||
        !is_along_one_axis(in, kernel, out.shape))
      return std::nullopt;
    const auto channels = static_cast<std::size_t>(in[1]);
    std::vector<float> weight(channels * weights_.size());
    for (const auto& [tap, values] : weights_)
      for (std::size_t c = 0; c < channels; ++c)
        weight[c * weights_.size() + static_cast<std::size_t>(tap)] = values[c];
    if (bias_.empty()) bias_.assign(channels, 0.0f);
    return Fusion{std::make_shared<DepthwiseConvOp>(std::move(weight), std::move(bias_)),
                  &root_,
                  {x_},
                  {},
                  std::move(inner_)};
  }

 private:
  bool add_terms() {
    std::vector<int> open = {FusionGraph::argument(root_, "x"), FusionGraph::argument(root_, "y")};
    while (!open.empty()) {
      const int reg = open.back();
      open.pop_back();
      if (reg < 0) return false;
      if (PreparedOp* sum = graph_.producer(reg, "add")) {
        // A sum has more terms than sums.
        if (inner_.size() > 3 * kernels::simd::kMaxTaps) return false;
        inner_.push_back(sum);
        open.push_back(FusionGraph::argument(*sum, "x"));
        open.push_back(FusionGraph::argument(*sum, "y"));
      } else if (!add_tap(reg) && !add_bias(reg)) {
        return false;
      }
    }
    return true;
  }

  bool add_tap(int reg) {
    PreparedOp* product = graph_.producer(reg, "mul");
    if (product == nullptr || weights_.size() == kernels::simd::kMaxTaps) return false;
    for (const std::string_view side : {"x", "y"}) {
      const int tokens = FusionGraph::argument(*product, side);
      const auto slice = axis_slice(graph_, tokens);
      const auto weight = by_channel(FusionGraph::other(*product, tokens));
      if (!slice || !weight || graph_.type(tokens) != graph_.type(root_.outputs[0])) continue;
      if (x_ < 0) {
        x_ = slice->x;
        axis_ = slice->axis;
      }
      if (slice->x != x_ || slice->axis != axis_ ||
          !weights_.try_emplace(slice->begin, to_floats(*weight)).second)
        return false;
      inner_.insert(inner_.end(), {product, slice->op});
      return true;
    }
    return false;
  }

  bool add_bias(int reg) {
    const auto bias = by_channel(reg);
    if (!bias || !bias_.empty()) return false;
    bias_ = to_floats(*bias);
    return true;
  }

  // A constant of one number for each channel, as it broadcasts.
  std::optional<TensorView> by_channel(int reg) const {
    const TensorView* value = graph_.constant(reg);
    Shape shape(graph_.type(root_.outputs[0]).shape.size(), 1);
    shape[1] = graph_.type(root_.outputs[0]).shape[1];
    if (value == nullptr || value->dtype != DType::kFp16 || value->shape != shape)
      return std::nullopt;
    return *value;
  }

  const FusionGraph& graph_;
  PreparedOp& root_;
  int x_ = -1;
  std::size_t axis_ = 0;
  std::map<std::int64_t, std::vector<float>> weights_;  // of each tap
  std::vector<float> bias_;
  std::vector<PreparedOp*> inner_;
};

}  // namespace

std::optional<Fusion> match_depthwise_conv(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type == "conv") return match_operation(graph, root);
  if (root.op->type == "add") return WrittenOut(graph, root).find();
  return std::nullopt;
}

}  // namespace anemone::exec
