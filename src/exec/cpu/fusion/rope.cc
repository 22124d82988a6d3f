// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/cpu/fusion/matchers.h"

namespace anemone::exec {
namespace {

constexpr std::int64_t kRopeGrain = 4096;  // elements

// Inputs: x [..., T, 2 half], cos and sin [1..., T, half].
class RopeOp : public FusedOp {
 public:
  std::string_view name() const override { return "rope"; }
  Shape output_shape(const std::vector<const TensorView*>& inputs) const override {
    return inputs[0]->shape;
  }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    const std::int64_t width = std::max<std::int64_t>(1, calls[0].inputs[0]->shape.back());
    const std::int64_t half = width / 2;
    parallel_for_calls(
        calls, context.threads,
        [&](const FusedCall& call) { return call.inputs[0]->size() / width; },
        std::max<std::int64_t>(1, kRopeGrain / width),
        [&](FusedCall& call, std::int64_t begin, std::int64_t end) {
          const std::int64_t table_rows = call.inputs[1]->size() / half;
          const Half* x = call.inputs[0]->as<Half>().data();
          const Half* cos = call.inputs[1]->as<Half>().data();
          const Half* sin = call.inputs[2]->as<Half>().data();
          Half* y = call.outputs[0].as<Half>().data();
          for (std::int64_t r = begin; r < end; ++r) {
            const std::int64_t t = r % table_rows;
            context.kernels.rotate(x + r * width, cos + t * half, sin + t * half, half,
                                   y + r * width);
          }
        });
    return {};
  }
};

struct Products {
  PreparedOp* op = nullptr;
  int value = -1;
  int table = -1;
};

// The mul of one of the halves and a table.
Products product_of(const FusionGraph& graph, int slot, int half) {
  Products out;
  out.op = graph.producer(slot, "mul");
  if (out.op == nullptr) return out;
  out.table = FusionGraph::other(*out.op, half);
  out.value = out.table < 0 ? -1 : half;
  return out;
}

// Axes before the last two are ones, the others as they are.
bool is_table(const FusionGraph& graph, int slot, const Shape& x, std::int64_t half) {
  if (slot < 0) return false;
  const ir::Type& type = graph.type(slot);
  if (!type.is_tensor() || type.dtype != DType::kFp16 || type.shape.size() > x.size() ||
      type.shape.size() < 2)
    return false;
  const Shape& shape = type.shape;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i)
    if (shape[i] != 1) return false;
  return shape.back() == half && shape[shape.size() - 2] == x[x.size() - 2] &&
         x[x.size() - 2] != kDynamic;
}

}  // namespace

std::optional<Fusion> match_rope(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "concat" || graph.flag(root, "interleave")) return std::nullopt;
  const Operand* values = root.operand("values");
  if (values == nullptr || values->slots.size() != 2) return std::nullopt;
  PreparedOp* first = graph.producer(values->slots[0], "sub");
  PreparedOp* second = graph.producer(values->slots[1], "add");
  if (first == nullptr || second == nullptr) return std::nullopt;
  PreparedOp* left = graph.producer(FusionGraph::argument(*first, "x"), "mul");
  if (left == nullptr) return std::nullopt;
  PreparedOp* split = nullptr;
  for (const std::string_view side : {"x", "y"})
    if (split == nullptr) split = graph.producer(FusionGraph::argument(*left, side), "split");
  if (split == nullptr || split->outputs.size() != 2) return std::nullopt;
  const int a = split->outputs[0];
  const int b = split->outputs[1];
  const int x = FusionGraph::argument(*split, "x");
  const Shape& shape = graph.type(x).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto axis = [&](const PreparedOp& op) {
    const auto value = static_cast<std::int64_t>(graph.number(op, "axis").value_or(99));
    return value < 0 ? value + rank : value;
  };
  if (rank < 2 || graph.type(x).dtype != DType::kFp16 || axis(*split) != rank - 1 ||
      axis(root) != rank - 1 || graph.type(a).shape.back() * 2 != shape.back() ||
      graph.type(b).shape.back() * 2 != shape.back())
    return std::nullopt;
  // first = a cos - b sin, second = b cos + a sin in either order.
  const Products a_cos = product_of(graph, FusionGraph::argument(*first, "x"), a);
  const Products b_sin = product_of(graph, FusionGraph::argument(*first, "y"), b);
  const int cos = a_cos.table;
  const int sin = b_sin.table;
  if (a_cos.value < 0 || b_sin.value < 0) return std::nullopt;
  Products b_cos = product_of(graph, FusionGraph::argument(*second, "x"), b);
  Products a_sin = product_of(graph, FusionGraph::argument(*second, "y"), a);
  if (b_cos.value < 0 || a_sin.value < 0) {
    b_cos = product_of(graph, FusionGraph::argument(*second, "y"), b);
    a_sin = product_of(graph, FusionGraph::argument(*second, "x"), a);
  }
  const std::int64_t half = shape.back() / 2;
  if (b_cos.value < 0 || a_sin.value < 0 || b_cos.table != cos || a_sin.table != sin ||
      !is_table(graph, cos, shape, half) || !is_table(graph, sin, shape, half))
    return std::nullopt;
  return Fusion{std::make_shared<RopeOp>(),
                &root,
                {x, cos, sin},
                {},
                {first, second, a_cos.op, b_sin.op, b_cos.op, a_sin.op, split}};
}

}  // namespace anemone::exec
