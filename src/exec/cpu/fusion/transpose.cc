// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/transpose.h"

#include <algorithm>

#include "exec/cpu/fusion/matchers.h"

namespace anemone::exec {
namespace {

// Elements that one thread takes at a time.
constexpr std::int64_t kTransposeGrain = 16384;

class TransposeOp : public FusedOp {
 public:
  std::string_view name() const override { return "transpose"; }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    const auto matrix_size = [](const FusedCall& call) {
      const Shape& shape = call.inputs[0]->shape;
      return shape[shape.size() - 2] * shape.back();
    };
    const std::int64_t grain =
        std::max<std::int64_t>(1, kTransposeGrain / (matrix_size(calls[0]) + 1));
    parallel_for_calls(
        calls, context.threads,
        [&](const FusedCall& call) {
          return call.inputs[0]->size() / std::max<std::int64_t>(1, matrix_size(call));
        },
        grain,
        [&](FusedCall& call, std::int64_t begin, std::int64_t end) {
          const Shape& shape = call.inputs[0]->shape;
          const std::int64_t size = matrix_size(call);
          const Half* in = call.inputs[0]->as<Half>().data();
          Half* out = call.outputs[0].as<Half>().data();
          for (std::int64_t m = begin; m < end; ++m)
            kernels::simd::transpose_matrix(in + m * size, shape[shape.size() - 2], shape.back(),
                                            out + m * size);
        });
    return {};
  }
};

}  // namespace

std::optional<Fusion> match_transpose(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "transpose" || graph.is_view(root)) return std::nullopt;
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
