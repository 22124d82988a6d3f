// SPDX-License-Identifier: Apache-2.0
// Two tensors of equal shapes into one.
#include <algorithm>

#include "exec/cpu/fusion/matchers.h"

namespace anemone::exec {
namespace {

// Elements that one thread takes at a time.
constexpr std::int64_t kElementGrain = 16384;

bool are_equal_halves(const FusionGraph& graph, int a, int b) {
  if (a < 0 || b < 0) return false;
  const ir::Type& x = graph.type(a);
  const ir::Type& y = graph.type(b);
  // A dimension that is open in both need not be the same; whole shapes are compared when it runs.
  return x.is_tensor() && y.is_tensor() && x.dtype == DType::kFp16 && y.dtype == DType::kFp16 &&
         is_static(x.shape) && x.shape == y.shape;
}

using BinaryKernel = void (*)(const Half*, const Half*, Half*, std::int64_t);

class ElementwiseOp : public FusedOp {
 public:
  ElementwiseOp(std::string_view name, BinaryKernel kernels::simd::Kernels::*kernel)
      : name_(name), kernel_(kernel) {}
  std::string_view name() const override { return name_; }
  bool can_overwrite(std::size_t) const override { return true; }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    const BinaryKernel kernel = context.kernels.*kernel_;
    parallel_for_calls(
        calls, context.threads, [](const FusedCall& call) { return call.inputs[0]->size(); },
        kElementGrain,
        [kernel](FusedCall& call, std::int64_t begin, std::int64_t end) {
          kernel(call.inputs[0]->as<Half>().data() + begin,
                 call.inputs[1]->as<Half>().data() + begin,
                 call.outputs[0].as<Half>().data() + begin, end - begin);
        });
    return {};
  }

 private:
  std::string_view name_;
  BinaryKernel kernels::simd::Kernels::*kernel_;
};

}  // namespace

std::optional<Fusion> match_silu_multiply(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "mul") return std::nullopt;
  for (const std::string_view side : {"x", "y"}) {
    const int activated = FusionGraph::argument(root, side);
    PreparedOp* silu = graph.producer(activated, "silu");
    if (silu == nullptr) continue;
    const int gate = FusionGraph::argument(*silu, "x");
    const int up = FusionGraph::other(root, activated);
    if (up == activated || !are_equal_halves(graph, gate, up)) continue;
    // A constant may fit for one token alone, and for more it is a factor in a chain, which rounds
    // what silu gives.
    if (graph.constant(up) != nullptr) continue;
    return Fusion{
        std::make_shared<ElementwiseOp>("silu_multiply", &kernels::simd::Kernels::silu_multiply),
        &root,
        {gate, up},
        {},
        {silu}};
  }
  return std::nullopt;
}

std::optional<Fusion> match_add(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "add") return std::nullopt;
  const int x = FusionGraph::argument(root, "x");
  const int y = FusionGraph::argument(root, "y");
  if (!are_equal_halves(graph, x, y)) return std::nullopt;
  return Fusion{
      std::make_shared<ElementwiseOp>("add", &kernels::simd::Kernels::add), &root, {x, y}, {}, {}};
}

}  // namespace anemone::exec
