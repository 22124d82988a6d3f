// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "exec/cpu/fusion/matchers.h"

namespace anemone::exec {
namespace {

constexpr std::int64_t kLayerNormGrain = 4096;  // elements

class LayerNormOp : public FusedOp {
 public:
  // gamma and beta are as long as a row.
  LayerNormOp(std::vector<float> gamma, std::vector<float> beta, float eps)
      : gamma_(std::move(gamma)), beta_(std::move(beta)), eps_(eps) {}
  std::string_view name() const override { return "layer_norm"; }
  bool can_overwrite(std::size_t) const override { return true; }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    const auto channels = static_cast<std::int64_t>(gamma_.size());
    parallel_for_calls(
        calls, context.threads,
        [&](const FusedCall& call) { return call.inputs[0]->size() / channels; },
        std::max<std::int64_t>(1, kLayerNormGrain / channels),
        [&](FusedCall& call, std::int64_t begin, std::int64_t end) {
          context.kernels.layer_norm_rows(call.inputs[0]->as<Half>().data() + begin * channels,
                                          gamma_.data(), beta_.data(), eps_, channels, end - begin,
                                          call.outputs[0].as<Half>().data() + begin * channels);
        });
    return {};
  }

 private:
  std::vector<float> gamma_;
  std::vector<float> beta_;
  float eps_;
};

// The product of the dimensions in `axes` if these are the last ones of the shape and static, else
// 0.
std::int64_t size_of_last(const Shape& shape, std::vector<std::int64_t> axes) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(axes);
  std::int64_t product = axes.empty() ? 0 : 1;
  std::int64_t expected = rank - static_cast<std::int64_t>(axes.size());
  for (const std::int64_t axis : axes) {
    if (axis != expected++ || axis < 0 || shape[static_cast<std::size_t>(axis)] == kDynamic)
      return 0;
    product *= shape[static_cast<std::size_t>(axis)];
  }
  return product;
}

// The elements of a parameter, or `otherwise` for each if it is absent; nullopt unless it is a
// constant of `count` elements.
std::optional<std::vector<float>> row_of(const FusionGraph& graph, const PreparedOp& op,
                                         std::string_view name, std::int64_t count,
                                         float otherwise) {
  const int reg = FusionGraph::argument(op, name);
  if (reg < 0) return std::vector<float>(static_cast<std::size_t>(count), otherwise);
  const TensorView* value = graph.constant(reg);
  if (value == nullptr || value->size() != count) return std::nullopt;
  return to_floats(*value);
}

}  // namespace

std::optional<Fusion> match_layer_norm(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "layer_norm") return std::nullopt;
  const int x = FusionGraph::argument(root, "x");
  const ir::Type& type = graph.type(x);
  if (!type.is_tensor() || type.dtype != DType::kFp16) return std::nullopt;
  const std::int64_t channels = size_of_last(type.shape, graph.ints(root, "axes"));
  if (channels <= 0) return std::nullopt;
  auto gamma = row_of(graph, root, "gamma", channels, 1);
  auto beta = row_of(graph, root, "beta", channels, 0);
  const int epsilon = FusionGraph::argument(root, "epsilon");
  const auto eps = epsilon < 0 ? 1e-5 : graph.scalar(epsilon);
  if (!gamma || !beta || !eps) return std::nullopt;
  return Fusion{
      std::make_shared<LayerNormOp>(std::move(*gamma), std::move(*beta), static_cast<float>(*eps)),
      &root,
      {x},
      {},
      {}};
}

}  // namespace anemone::exec
