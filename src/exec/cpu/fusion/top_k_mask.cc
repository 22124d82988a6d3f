// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/top_k_mask.h"

#include <algorithm>
#include <cmath>

#include "exec/cpu/fusion/matchers.h"
#include "exec/cpu/fusion/scratch.h"

namespace anemone::exec {
namespace {

thread_local Scratch score_scratch;

// cast(comparison(other, own)) as a number.
PreparedOp* counted(const FusionGraph& graph, int reg, std::string_view comparison,
                    std::vector<PreparedOp*>& inner) {
  PreparedOp* cast = graph.producer(reg, "cast");
  if (cast == nullptr) return nullptr;
  PreparedOp* compared = graph.producer(FusionGraph::argument(*cast, "x"), comparison);
  if (compared != nullptr) inner.insert(inner.end(), {cast, compared});
  return compared;
}

// [1, count, 1, count]: 1 at (i, j) where j is before i, else 0.
bool is_earlier(const TensorView& mask, std::int64_t count) {
  if (mask.shape != Shape{1, count, 1, count}) return false;
  const std::vector<float> values = to_floats(mask);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < count; ++j)
      if (values[static_cast<std::size_t>(i * count + j)] != (j < i ? 1.0f : 0.0f)) return false;
  return true;
}

}  // namespace

Status TopKMaskOp::run(std::span<FusedCall> calls, const FusedContext& context) const {
  const std::int64_t count = calls.front().inputs[0]->shape[1];
  if (count == 0) return {};
  parallel_for_calls(
      calls, context.threads, [&](const FusedCall& call) { return call.inputs[0]->size() / count; },
      16,
      [&](FusedCall& call, std::int64_t begin, std::int64_t end) {
        const std::int64_t tokens = call.inputs[0]->size() / count;
        const Half* scores = call.inputs[0]->as<Half>().data();
        std::byte* out = call.outputs[0].bytes().data();
        float* own = score_scratch.take<float>(count);
        for (std::int64_t t = begin; t < end; ++t) {
          for (std::int64_t i = 0; i < count; ++i) own[i] = to_float(scores[i * tokens + t]);
          for (std::int64_t i = 0; i < count; ++i) {
            std::int64_t rank = 0;
            for (std::int64_t j = 0; j < i; ++j) rank += own[j] >= own[i] ? 1 : 0;
            for (std::int64_t j = i + 1; j < count; ++j) rank += own[j] > own[i] ? 1 : 0;
            out[i * tokens + t] = std::byte{rank < k_};
          }
        }
      });
  return {};
}

std::optional<Fusion> match_top_k_mask(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "less") return std::nullopt;
  const auto k = graph.scalar(FusionGraph::argument(root, "y"));
  PreparedOp* sum = graph.producer(FusionGraph::argument(root, "x"), "reduce_sum");
  if (!k || std::isnan(*k) || sum == nullptr || !graph.flag(*sum, "keep_dims")) return std::nullopt;
  const auto axes = graph.ints(*sum, "axes");
  PreparedOp* ahead = graph.producer(FusionGraph::argument(*sum, "x"), "add");
  if (ahead == nullptr || axes.size() != 1 || (axes[0] != -1 && axes[0] != 3)) return std::nullopt;
  for (const std::string_view side : {"x", "y"}) {
    Fusion fusion{nullptr, &root, {}, {}, {sum, ahead}};
    const int beaten_register = FusionGraph::argument(*ahead, side);
    PreparedOp* beaten = counted(graph, beaten_register, "greater", fusion.inner);
    PreparedOp* tied_before = graph.producer(FusionGraph::other(*ahead, beaten_register), "mul");
    if (beaten == nullptr || tied_before == nullptr) continue;
    const int own = FusionGraph::argument(*beaten, "y");
    const int other = FusionGraph::argument(*beaten, "x");
    const ir::Type& type = graph.type(own);
    PreparedOp* transposed = graph.producer(other, "transpose");
    if (transposed == nullptr || FusionGraph::argument(*transposed, "x") != own ||
        !type.is_tensor() || type.dtype != DType::kFp16 || type.shape.size() != 4 ||
        type.shape[0] != 1 || type.shape[1] == kDynamic || type.shape[3] != 1 ||
        graph.ints(*transposed, "perm") != std::vector<std::int64_t>{0, 3, 2, 1})
      continue;
    for (const std::string_view factor : {"x", "y"}) {
      const int tied_register = FusionGraph::argument(*tied_before, factor);
      const TensorView* earlier = graph.constant(FusionGraph::other(*tied_before, tied_register));
      Fusion whole = fusion;
      PreparedOp* tied = counted(graph, tied_register, "equal", whole.inner);
      if (tied == nullptr || earlier == nullptr || FusionGraph::other(*tied, own) != other ||
          !is_earlier(*earlier, type.shape[1]))
        continue;
      whole.inner.insert(whole.inner.end(), {tied_before, transposed});
      // Ranks are whole numbers.
      const double most = std::clamp(std::ceil(*k), 0.0, static_cast<double>(type.shape[1]));
      whole.op = std::make_shared<TopKMaskOp>(static_cast<std::int64_t>(most));
      whole.inputs = {own};
      return whole;
    }
  }
  return std::nullopt;
}

}  // namespace anemone::exec
