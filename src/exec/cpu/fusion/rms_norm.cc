// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/cpu/fusion/matchers.h"

namespace anemone::exec {
namespace {

constexpr std::int64_t kNormGrain = 4096;  // elements
constexpr std::int64_t kNormColumns = 16;

class RmsNormOp : public FusedOp {
 public:
  RmsNormOp(std::size_t axis, float eps, const Half* weight)
      : axis_(axis), eps_(eps), weight_(weight) {}
  std::string_view name() const override { return "rms_norm"; }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    const kernels::simd::Kernels& k = context.kernels;
    // Columns of `channels` elements that lie `inner` apart; those of a row lie beside each other.
    const auto inner = [this](const FusedCall& call) {
      const Shape& shape = call.inputs[0]->shape;
      std::int64_t product = 1;
      for (std::size_t i = axis_ + 1; i < shape.size(); ++i) product *= shape[i];
      return product;
    };
    const std::int64_t channels = calls[0].inputs[0]->shape[axis_];
    const bool is_rows = inner(calls[0]) == 1;
    const std::int64_t grain =
        is_rows ? std::max<std::int64_t>(1, kNormGrain / channels) : kNormColumns;
    parallel_for_calls(
        calls, context.threads,
        [&](const FusedCall& call) {
          const std::int64_t columns = call.inputs[0]->size() / channels;
          // The count is rounded up so that each row of columns is split into whole ranges, and no
          // range reaches into the next row.
          const std::int64_t width = inner(call);
          return is_rows ? columns : columns / width * ((width + grain - 1) / grain * grain);
        },
        grain,
        [&](FusedCall& call, std::int64_t begin, std::int64_t end) {
          const Half* x = call.inputs[0]->as<Half>().data();
          Half* y = call.outputs[0].as<Half>().data();
          if (is_rows) {
            k.rms_norm_rows(x + begin * channels, weight_, eps_, channels, end - begin,
                            y + begin * channels);
            return;
          }
          const std::int64_t width = inner(call);
          const std::int64_t row = (width + grain - 1) / grain * grain;
          const std::int64_t first = begin % row;
          const std::int64_t at = begin / row * channels * width + first;
          k.rms_norm(x + at, weight_, eps_, channels, width, std::min(grain, width - first),
                     y + at);
        });
    return {};
  }

 private:
  std::size_t axis_;
  float eps_;
  const Half* weight_;
};

// Follows the operations of a norm from its end to x and notes them.
class NormMatch {
 public:
  explicit NormMatch(const FusionGraph& graph) : graph_(graph) {}

  std::optional<Fusion> match(PreparedOp& root) {
    // root = normed * weight
    for (const std::string_view side : {"x", "y"}) {
      inner_.clear();
      const int weight = FusionGraph::argument(root, side);
      const TensorView* gamma = graph_.constant(weight);
      if (gamma == nullptr || gamma->dtype != DType::kFp16) continue;
      const int input = FusionGraph::other(root, weight);
      PreparedOp* normed = take(input, "mul");
      if (normed == nullptr ? !match_layer_norm_half(input) : !match_normed(*normed)) continue;
      const ir::Type& type = graph_.type(x_);
      if (!type.is_tensor() || type.dtype != DType::kFp16 || axis_ >= type.shape.size() ||
          type.shape[axis_] != gamma->size() || !lies_along_axis(*gamma, type.shape.size()) ||
          graph_.type(root.outputs[0]).shape != type.shape)  // operands on the way may be larger
        continue;
      return Fusion{
          std::make_shared<RmsNormOp>(axis_, static_cast<float>(eps_), gamma->as<Half>().data()),
          &root,
          {x_},
          {},
          inner_};
    }
    return std::nullopt;
  }

 private:
  PreparedOp* take(int reg, std::string_view op) {
    PreparedOp* found = graph_.producer(reg, op);
    if (found != nullptr && std::ranges::find(inner_, found) == inner_.end())
      inner_.push_back(found);
    return found;
  }

  // The weight as it broadcasts: all ones but along the axis.
  bool lies_along_axis(const TensorView& gamma, std::size_t rank) const {
    const std::size_t skip = rank - std::min(rank, gamma.shape.size());
    for (std::size_t i = 0; i < gamma.shape.size(); ++i)
      if (gamma.shape[i] != 1 && i + skip != axis_) return false;
    return gamma.shape.size() <= rank;
  }

  // normed = the first half of layer_norm(concat(x, -x)), whose mean is 0.
  bool match_layer_norm_half(int normed) {
    PreparedOp* split = normed < 0 ? nullptr : take(normed, "split");
    if (split == nullptr || split->outputs.size() != 2 || split->outputs[0] != normed) return false;
    PreparedOp* norm = take(FusionGraph::argument(*split, "x"), "layer_norm");
    if (norm == nullptr || FusionGraph::argument(*norm, "gamma") >= 0 ||
        FusionGraph::argument(*norm, "beta") >= 0)
      return false;
    PreparedOp* both = take(FusionGraph::argument(*norm, "x"), "concat");
    const Operand* halves = both == nullptr ? nullptr : both->operand("values");
    const auto axes = graph_.ints(*norm, "axes");
    if (halves == nullptr || halves->registers.size() != 2 || axes.size() != 1 ||
        graph_.flag(*both, "interleave"))
      return false;
    x_ = halves->registers[0];
    PreparedOp* negative = take(halves->registers[1], "mul");
    const auto rank = static_cast<std::int64_t>(graph_.type(x_).shape.size());
    const auto is_axis = [&](double axis) {
      return static_cast<std::int64_t>(axis < 0 ? axis + static_cast<double>(rank) : axis) ==
             static_cast<std::int64_t>(axis_);
    };
    axis_ = static_cast<std::size_t>(axes[0] < 0 ? axes[0] + rank : axes[0]);
    if (negative == nullptr || !is_axis(graph_.number(*both, "axis").value_or(-99)) ||
        !is_axis(graph_.number(*split, "axis").value_or(-99)) || !is_half(normed))
      return false;
    const int factor = FusionGraph::other(*negative, x_);
    eps_ = graph_.number(*norm, "epsilon").value_or(1e-5);
    return factor >= 0 && graph_.scalar(factor) == -1.0;
  }
  // Whether the split gives x alone, as long as x is.
  bool is_half(int normed) const { return graph_.type(normed).shape == graph_.type(x_).shape; }

  // normed = source * rsqrt(mean(source^2) + eps), where source is x or x / divisor.
  bool match_normed(PreparedOp& normed) {
    for (const std::string_view side : {"x", "y"}) {
      const std::size_t before = inner_.size();
      const int factor = FusionGraph::argument(normed, side);
      PreparedOp* rsqrt = take(factor, "rsqrt");
      if (rsqrt != nullptr && match_factor(*rsqrt, FusionGraph::other(normed, factor))) return true;
      inner_.resize(before);
    }
    return false;
  }

  bool match_factor(PreparedOp& rsqrt, int source) {
    // Core ML's rsqrt adds an epsilon of its own.
    const double own_eps = graph_.number(rsqrt, "epsilon").value_or(0);
    PreparedOp* sum = take(FusionGraph::argument(rsqrt, "x"), "add");
    if (sum == nullptr) return false;
    for (const std::string_view side : {"x", "y"}) {
      const int mean_register = FusionGraph::argument(*sum, side);
      PreparedOp* mean = take(mean_register, "reduce_mean");
      if (mean == nullptr || !match_mean(*mean, source)) continue;
      const int eps = FusionGraph::other(*sum, mean_register);
      if (const auto constant = graph_.scalar(eps)) {
        x_ = source;
        eps_ = *constant + own_eps;
        return true;
      }
      return own_eps < 1e-10 && match_scaled(source, eps);
    }
    return false;
  }

  bool match_mean(PreparedOp& mean, int source) {
    const auto axes = graph_.ints(mean, "axes");
    if (axes.size() != 1 || !graph_.flag(mean, "keep_dims")) return false;
    const auto rank = static_cast<std::int64_t>(graph_.type(source).shape.size());
    axis_ = static_cast<std::size_t>(axes[0] < 0 ? axes[0] + rank : axes[0]);
    const int squares = FusionGraph::argument(mean, "x");
    if (PreparedOp* square = take(squares, "square"))
      return FusionGraph::argument(*square, "x") == source;
    if (PreparedOp* product = take(squares, "mul"))
      return FusionGraph::argument(*product, "x") == source &&
             FusionGraph::argument(*product, "y") == source;
    if (PreparedOp* power = take(squares, "pow"))
      return FusionGraph::argument(*power, "x") == source &&
             graph_.number(*power, "y").value_or(0) == 2;
    return false;
  }

  // source = x * inverse and eps = (inverse * c)^2 with inverse = 1 / max(max|x|, least): the same
  // as x with the eps c^2, but for values so small that fp16 loses them.
  bool match_scaled(int source, int eps) {
    PreparedOp* squared = take(eps, "square");
    PreparedOp* scaled = take(source, "mul");
    if (squared == nullptr || scaled == nullptr) return false;
    PreparedOp* root_eps = take(FusionGraph::argument(*squared, "x"), "mul");
    if (root_eps == nullptr) return false;
    for (const std::string_view side : {"x", "y"}) {
      const int inverse_register = FusionGraph::argument(*root_eps, side);
      PreparedOp* inverse = take(inverse_register, "inverse");
      const auto c = graph_.scalar(FusionGraph::other(*root_eps, inverse_register));
      if (inverse == nullptr || !c || graph_.number(*inverse, "epsilon").value_or(0) != 0) continue;
      x_ = FusionGraph::other(*scaled, inverse_register);
      PreparedOp* divisor = take(FusionGraph::argument(*inverse, "x"), "maximum");
      if (x_ < 0 || divisor == nullptr) return false;
      eps_ = *c * *c;
      return match_divisor(*divisor);
    }
    return false;
  }

  bool match_divisor(PreparedOp& divisor) {
    for (const std::string_view side : {"x", "y"}) {
      const int largest_register = FusionGraph::argument(divisor, side);
      PreparedOp* largest = take(largest_register, "reduce_max");
      if (largest == nullptr) continue;
      const auto axes = graph_.ints(*largest, "axes");
      const auto rank = static_cast<std::int64_t>(graph_.type(x_).shape.size());
      PreparedOp* magnitude = take(FusionGraph::argument(*largest, "x"), "abs");
      return graph_.scalar(FusionGraph::other(divisor, largest_register)) && axes.size() == 1 &&
             static_cast<std::size_t>(axes[0] < 0 ? axes[0] + rank : axes[0]) == axis_ &&
             magnitude != nullptr && FusionGraph::argument(*magnitude, "x") == x_;
    }
    return false;
  }

  const FusionGraph& graph_;
  std::vector<PreparedOp*> inner_;
  int x_ = -1;
  std::size_t axis_ = 0;
  double eps_ = 0;
};

}  // namespace

std::optional<Fusion> match_rms_norm(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "mul") return std::nullopt;
  return NormMatch(graph).match(root);
}

}  // namespace anemone::exec
