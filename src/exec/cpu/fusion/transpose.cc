// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

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
            transpose(in + m * size, shape[shape.size() - 2], shape.back(), out + m * size);
        });
    return {};
  }

 private:
  // Transposes in squares that stay in the nearest cache.
  static void transpose(const Half* in, std::int64_t rows, std::int64_t columns, Half* out) {
    constexpr std::int64_t kSquare = 32;
    for (std::int64_t r = 0; r < rows; r += kSquare)
      for (std::int64_t c = 0; c < columns; c += kSquare)
        transpose_square(in + r * columns + c, std::min(rows - r, kSquare),
                         std::min(columns - c, kSquare), columns, out + c * rows + r, rows);
  }

  static void transpose_square(const Half* in, std::int64_t rows, std::int64_t columns,
                               std::int64_t in_stride, Half* out, std::int64_t out_stride) {
    const std::int64_t whole_rows = rows / kEight * kEight;
    const std::int64_t whole_columns = columns / kEight * kEight;
    for (std::int64_t r = 0; r < whole_rows; r += kEight)
      for (std::int64_t c = 0; c < whole_columns; c += kEight)
        transpose_eight(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
        out[c * out_stride + r] = in[r * in_stride + c];
  }

  static constexpr std::int64_t kEight = 8;
  using Eight = std::uint16_t __attribute__((vector_size(16)));

  // Eight rows of eight. After the first round the elements of row i alternate with those of row
  // i + 4; after the third, those of a column lie beside each other.
  static void transpose_eight(const Half* in, std::int64_t in_stride, Half* out,
                              std::int64_t out_stride) {
    Eight a[kEight];
    Eight b[kEight];
    for (int i = 0; i < kEight; ++i) std::memcpy(&a[i], in + i * in_stride, sizeof(Eight));
    interleave_halves(a, b);
    interleave_halves(b, a);
    interleave_halves(a, b);
    for (int i = 0; i < kEight; ++i)
      std::memcpy(static_cast<void*>(out + i * out_stride), &b[i], sizeof(Eight));
  }
  static void interleave_halves(const Eight* from, Eight* to) {
    for (int i = 0; i < kEight / 2; ++i) {
      to[2 * i] = __builtin_shufflevector(from[i], from[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
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
