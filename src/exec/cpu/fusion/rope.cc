// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/cpu/fusion/axis_slice.h"
#include "exec/cpu/fusion/matchers.h"

namespace anemone::exec {
namespace {

constexpr std::int64_t kRopeGrain = 4096;  // elements

// Inputs: x [..., T, 2 half], cos and sin [1..., T, half], or [1..., T, 2 half] with entries of
// their own for the second elements of pairs.
class RopeOp : public FusedOp {
 public:
  explicit RopeOp(bool is_whole) : is_whole_(is_whole) {}
  std::string_view name() const override { return "rope"; }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    const std::int64_t width = std::max<std::int64_t>(1, calls[0].inputs[0]->shape.back());
    const std::int64_t half = width / 2;
    parallel_for_calls(
        calls, context.threads,
        [&](const FusedCall& call) { return call.inputs[0]->size() / width; },
        std::max<std::int64_t>(1, kRopeGrain / width),
        [&](FusedCall& call, std::int64_t begin, std::int64_t end) {
          const std::int64_t table_width = is_whole_ ? width : half;
          const std::int64_t table_rows = call.inputs[1]->size() / table_width;
          const Half* x = call.inputs[0]->as<Half>().data();
          const Half* cos = call.inputs[1]->as<Half>().data();
          const Half* sin = call.inputs[2]->as<Half>().data();
          Half* y = call.outputs[0].as<Half>().data();
          for (std::int64_t r = begin; r < end; ++r) {
            const std::int64_t t = r % table_rows;
            const Half* c = cos + t * table_width;
            const Half* s = sin + t * table_width;
            const std::int64_t second = table_width - half;
            context.kernels.rotate(x + r * width, {{c, c + second}, {s, s + second}}, half,
                                   y + r * width);
          }
        });
    return {};
  }

 private:
  bool is_whole_;
};

struct Products {
  PreparedOp* op = nullptr;
  int value = -1;
  int table = -1;
};

// The mul of one of the halves and a table.
Products product_of(const FusionGraph& graph, int reg, int half) {
  Products out;
  out.op = graph.producer(reg, "mul");
  if (out.op == nullptr) return out;
  out.table = FusionGraph::other(*out.op, half);
  out.value = out.table < 0 ? -1 : half;
  return out;
}

// Axes before the last two are ones, then the rows of x and so many columns.
bool is_table(const FusionGraph& graph, int reg, const Shape& x, std::int64_t columns) {
  if (reg < 0) return false;
  const ir::Type& type = graph.type(reg);
  if (!type.is_tensor() || type.dtype != DType::kFp16 || type.shape.size() > x.size() ||
      type.shape.size() < 2)
    return false;
  const Shape& shape = type.shape;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i)
    if (shape[i] != 1) return false;
  return shape.back() == columns && shape[shape.size() - 2] == x[x.size() - 2] &&
         x[x.size() - 2] != kDynamic;
}

// The elements [begin, end) of the last axis of x, all of the others; nullptr unless it is that.
PreparedOp* slice_of(const FusionGraph& graph, int reg, int x, std::int64_t begin,
                     std::int64_t end) {
  const auto slice = axis_slice(graph, reg);
  if (!slice || slice->x != x || slice->axis + 1 != graph.type(x).shape.size() ||
      slice->begin != begin || graph.type(reg).shape.back() != end - begin)
    return nullptr;
  return slice->op;
}

// x * cos + concat(-second half, first half) * sin, as transformers writes it.
std::optional<Fusion> match_rotated_halves(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "add") return std::nullopt;
  for (const std::string_view side : {"x", "y"}) {
    const int rotated_register = FusionGraph::argument(root, side);
    PreparedOp* rotated = graph.producer(rotated_register, "mul");
    PreparedOp* kept = graph.producer(FusionGraph::other(root, rotated_register), "mul");
    if (rotated == nullptr || kept == nullptr) continue;
    for (const std::string_view part : {"x", "y"}) {
      const int halves_register = FusionGraph::argument(*rotated, part);
      PreparedOp* halves = graph.producer(halves_register, "concat");
      if (halves == nullptr || graph.flag(*halves, "interleave")) continue;
      const Operand* values = halves->operand("values");
      if (values == nullptr || values->registers.size() != 2) continue;
      PreparedOp* negated = graph.producer(values->registers[0], "mul");
      if (negated == nullptr) continue;
      int second = -1;
      for (const std::string_view factor : {"x", "y"})
        if (graph.number(*negated, factor).value_or(0) == -1)
          second = FusionGraph::argument(*negated, factor == "x" ? "y" : "x");
      for (const std::string_view which : {"x", "y"}) {
        const int x = FusionGraph::argument(*kept, which);
        const int cos = FusionGraph::other(*kept, x);
        const int sin = FusionGraph::other(*rotated, halves_register);
        const ir::Type& type = graph.type(x);
        if (second < 0 || !type.is_tensor() || type.dtype != DType::kFp16 ||
            type.shape.size() < 2 || type.shape.back() <= 0 || type.shape.back() % 2 != 0)
          continue;
        const std::int64_t width = type.shape.back();
        const auto axis = static_cast<std::int64_t>(graph.number(*halves, "axis").value_or(99));
        const auto rank = static_cast<std::int64_t>(type.shape.size());
        PreparedOp* upper = slice_of(graph, second, x, width / 2, width);
        PreparedOp* lower = slice_of(graph, values->registers[1], x, 0, width / 2);
        if (upper == nullptr || lower == nullptr || (axis != -1 && axis != rank - 1) ||
            graph.type(root.outputs[0]).shape != type.shape ||
            !is_table(graph, cos, type.shape, width) || !is_table(graph, sin, type.shape, width))
          continue;
        return Fusion{std::make_shared<RopeOp>(true),
                      &root,
                      {x, cos, sin},
                      {},
                      {kept, rotated, halves, negated, upper, lower}};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fusion> match_rope(const FusionGraph& graph, PreparedOp& root) {
  if (auto fusion = match_rotated_halves(graph, root)) return fusion;
  if (root.op->type != "concat" || graph.flag(root, "interleave")) return std::nullopt;
  const Operand* values = root.operand("values");
  if (values == nullptr || values->registers.size() != 2) return std::nullopt;
  PreparedOp* first = graph.producer(values->registers[0], "sub");
  PreparedOp* second = graph.producer(values->registers[1], "add");
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
  return Fusion{std::make_shared<RopeOp>(false),
                &root,
                {x, cos, sin},
                {},
                {first, second, a_cos.op, b_sin.op, b_cos.op, a_sin.op, split}};
}

}  // namespace anemone::exec
