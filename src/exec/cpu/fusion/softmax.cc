// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "exec/cpu/fusion/matchers.h"
#include "exec/cpu/fusion/scratch.h"

namespace anemone::exec {
namespace {

constexpr std::int64_t kSoftmaxGrain = 4096;  // elements
thread_local Scratch softmax_row;

class SoftmaxOp : public FusedOp {
 public:
  std::string_view name() const override { return "softmax"; }
  bool can_overwrite(std::size_t) const override { return true; }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    // Rows of no elements have nothing to divide by.
    const std::int64_t channels = std::max<std::int64_t>(1, calls[0].inputs[0]->shape.back());
    parallel_for_calls(
        calls, context.threads,
        [&](const FusedCall& call) { return call.inputs[0]->size() / channels; },
        std::max<std::int64_t>(1, kSoftmaxGrain / channels),
        [&](FusedCall& call, std::int64_t begin, std::int64_t end) {
          context.kernels.softmax_rows(
              call.inputs[0]->as<Half>().data() + begin * channels, channels, end - begin,
              call.outputs[0].as<Half>().data() + begin * channels,
              softmax_row.take<float>(kernels::simd::softmax_scratch(channels)));
        });
    return {};
  }
};

}  // namespace

std::optional<Fusion> match_softmax(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "softmax") return std::nullopt;
  const int x = FusionGraph::argument(root, "x");
  const ir::Type& type = graph.type(x);
  if (!type.is_tensor() || type.dtype != DType::kFp16 || type.shape.empty()) return std::nullopt;
  const auto rank = static_cast<double>(type.shape.size());
  const int axis = FusionGraph::argument(root, "axis");
  const auto given = axis < 0 ? -1.0 : graph.scalar(axis);
  if (!given || (*given != -1 && *given != rank - 1)) return std::nullopt;
  return Fusion{std::make_shared<SoftmaxOp>(), &root, {x}, {}, {}};
}

}  // namespace anemone::exec
