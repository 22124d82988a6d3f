// SPDX-License-Identifier: Apache-2.0
// Patterns of one or two operations.
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
  Shape output_shape(const std::vector<const TensorView*>& inputs) const override {
    return inputs[0]->shape;
  }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    const BinaryKernel kernel = context.kernels.*kernel_;
    for (FusedCall& call : calls) {
      const auto a = call.inputs[0]->as<Half>();
      const auto b = call.inputs[1]->as<Half>();
      const auto out = call.outputs[0].as<Half>();
      context.threads.parallel_for(static_cast<std::int64_t>(out.size()), kElementGrain,
                                   [&](std::int64_t begin, std::int64_t end) {
                                     kernel(a.data() + begin, b.data() + begin, out.data() + begin,
                                            end - begin);
                                   });
    }
    return {};
  }

 private:
  std::string_view name_;
  BinaryKernel kernels::simd::Kernels::*kernel_;
};

class TransposeOp : public FusedOp {
 public:
  std::string_view name() const override { return "transpose"; }
  Shape output_shape(const std::vector<const TensorView*>& inputs) const override {
    Shape shape = inputs[0]->shape;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return shape;
  }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    for (FusedCall& call : calls) {
      const Shape& shape = call.inputs[0]->shape;
      const std::int64_t rows = shape[shape.size() - 2];
      const std::int64_t columns = shape.back();
      const std::int64_t matrices =
          rows * columns == 0 ? 0 : call.inputs[0]->size() / (rows * columns);
      const Half* in = call.inputs[0]->as<Half>().data();
      Half* out = call.outputs[0].as<Half>().data();
      const std::int64_t grain = std::max<std::int64_t>(1, kElementGrain / (rows * columns + 1));
      context.threads.parallel_for(matrices, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t m = begin; m < end; ++m)
          transpose(in + m * rows * columns, rows, columns, out + m * rows * columns);
      });
    }
    return {};
  }

 private:
  // In squares that stay in the nearest cache.
  static void transpose(const Half* in, std::int64_t rows, std::int64_t columns, Half* out) {
    constexpr std::int64_t kSquare = 32;
    for (std::int64_t r0 = 0; r0 < rows; r0 += kSquare)
      for (std::int64_t c0 = 0; c0 < columns; c0 += kSquare)
        for (std::int64_t r = r0; r < std::min(rows, r0 + kSquare); ++r)
          for (std::int64_t c = c0; c < std::min(columns, c0 + kSquare); ++c)
            out[c * rows + r] = in[r * columns + c];
  }
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

std::optional<Fusion> match_transpose(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "transpose") return std::nullopt;
  const int x = FusionGraph::argument(root, "x");
  if (x < 0 || graph.type(x).dtype != DType::kFp16) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(graph.type(x).shape.size());
  std::vector<std::int64_t> permutation = graph.ints(root, "perm");
  if (rank < 2 || static_cast<std::int64_t>(permutation.size()) != rank) return std::nullopt;
  for (std::int64_t i = 0; i < rank; ++i) {
    std::int64_t& axis = permutation[static_cast<std::size_t>(i)];
    if (axis < 0) axis += rank;
    const std::int64_t expected = i == rank - 2 ? rank - 1 : i == rank - 1 ? rank - 2 : i;
    if (axis != expected) return std::nullopt;
  }
  return Fusion{std::make_shared<TransposeOp>(), &root, {x}, {}, {}};
}

}  // namespace anemone::exec
