// SPDX-License-Identifier: Apache-2.0
// The tokens that a short convolution looks back to: the columns of a step after those of a state,
// of which the state keeps the last ones.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "exec/cpu/fusion/matchers.h"
#include "exec/cpu/fusion/replaced_state.h"
#include "exec/cpu/fusion/scratch.h"
#include "kernels/reference/linear/dot.h"

namespace anemone::exec {
namespace {

// Elements that one thread writes at a time.
constexpr std::int64_t kExtendGrain = 16384;

thread_local Scratch extend_scratch;

// Inputs: the columns of the step [A, B, C, T], and a mask [1, 1, K + T, K] that says which columns
// the state keeps. State: [A, B, C, K], replaced in place. Gives the state as it was and the
// columns after it, [A, B, C, K + T]; the state becomes their product with the mask, with its
// bits.
class ExtendedStateOp : public FusedOp {
 public:
  explicit ExtendedStateOp(std::int64_t kept) : kept_(kept) {}
  std::string_view name() const override { return "extended_state"; }
  Cost cost(const Shape& output, std::span<const Shape> /*states*/) const override {
    return {0, 2 * element_count(output) * kept_};
  }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    std::vector<const WriteMask*> masks;
    for (const FusedCall& call : calls) masks.push_back(&context.masks.write_mask(*call.inputs[1]));
    const std::int64_t columns = calls.front().outputs[0].shape.back();
    const std::int64_t rows = calls.front().outputs[0].size() / columns;
    const std::int64_t written = columns * static_cast<std::int64_t>(calls.size());
    // A thread takes some rows through all calls, because several may go on from the same state.
    context.threads.parallel_for_runs(rows, std::max<std::int64_t>(1, kExtendGrain / written),
                                      [&](std::int64_t begin, std::int64_t end) {
                                        for (std::size_t i = 0; i < calls.size(); ++i)
                                          run_rows(calls[i], *masks[i], begin, end);
                                      });
    return {};
  }

 private:
  void run_rows(FusedCall& call, const WriteMask& mask, std::int64_t begin,
                std::int64_t end) const {
    const std::int64_t columns = call.outputs[0].shape.back();
    const std::int64_t tokens = columns - kept_;
    const Half* x = call.inputs[0]->as<Half>().data() + begin * tokens;
    Half* state = reinterpret_cast<Half*>(call.states[0].data) + begin * kept_;
    Half* out = call.outputs[0].as<Half>().data() + begin * columns;
    for (std::int64_t row = begin; row < end; ++row) {
      std::copy_n(state, kept_, out);
      std::copy_n(x, tokens, out + kept_);
      // A product with zeros takes infinities and NaNs into every sum of their row.
      if (mask.is_one_hot && are_finite(out, columns))
        select(out, mask, state);
      else
        multiply(out, columns, *call.inputs[1], state);
      x += tokens;
      state += kept_;
      out += columns;
    }
  }

  static bool are_finite(const Half* values, std::int64_t count) {
    bool are = true;
    for (std::int64_t i = 0; i < count; ++i) are &= (values[i].bits & 0x7c00) != 0x7c00;
    return are;
  }

  // A sum of products with zeros and a one: what stands there, but 0 for -0.
  void select(const Half* row, const WriteMask& mask, Half* state) const {
    for (std::int64_t k = 0; k < kept_; ++k) {
      const std::int64_t from = mask.position_of_token[static_cast<std::size_t>(k)];
      const Half value = from < 0 ? Half{} : row[from];
      state[k] = value.bits == 0x8000 ? Half{} : value;
    }
  }

  void multiply(const Half* row, std::int64_t columns, const TensorView& mask, Half* state) const {
    float* floats = extend_scratch.take<float>(2 * columns);
    float* weights = floats + columns;
    for (std::int64_t i = 0; i < columns; ++i) floats[i] = to_float(row[i]);
    const Half* entries = mask.as<Half>().data();
    for (std::int64_t k = 0; k < kept_; ++k) {
      for (std::int64_t i = 0; i < columns; ++i) weights[i] = to_float(entries[i * kept_ + k]);
      state[k] = to_half(kernels::reference::dot(floats, weights, columns));
    }
  }

  const std::int64_t kept_;
};

// concat(before, x) along the last axis, and matmul(it, mask), which becomes the state. The root is
// the concat, so that the state changes where it is read.
class ExtendedStateMatch {
 public:
  ExtendedStateMatch(const FusionGraph& graph, PreparedOp& root) : graph_(graph), root_(root) {}

  std::optional<Fusion> find() const {
    const auto values = graph_.joined_pair(root_, 3);
    if (!values) return std::nullopt;
    const auto [before, x] = *values;
    for (PreparedOp* product : graph_.users(root_.outputs[0])) {
      const auto fusion = with_product(before, x, product);
      if (fusion) return fusion;
    }
    return std::nullopt;
  }

 private:
  std::optional<Fusion> with_product(int before, int x, PreparedOp* product) const {
    if (!FusionGraph::is_statically_checked(*product) || product->op->type != "matmul" ||
        FusionGraph::argument(*product, "x") != root_.outputs[0] || graph_.is_transposed(*product))
      return std::nullopt;
    const int mask = FusionGraph::argument(*product, "y");
    if (before == x || before == mask) return std::nullopt;
    const auto state = match_replaced_state(graph_, before, product->outputs[0]);
    if (!state || !have_shapes(*state, x, mask) || !is_made_before(mask)) return std::nullopt;
    Fusion fusion{std::make_shared<ExtendedStateOp>(state->shape[3]), &root_, {x, mask}, {}, {}};
    fusion.inner = state->inner;
    fusion.inner.push_back(product);
    state->add_to(fusion);
    return fusion;
  }

  bool have_shapes(const ReplacedState& state, int x, int mask) const {
    if (state.dtype != DType::kFp16 || state.shape.size() != 4 || !is_static(state.shape) ||
        x < 0 || mask < 0)
      return false;
    const ir::Type& columns = graph_.type(root_.outputs[0]);
    Shape step = state.shape;
    if (!columns.is_tensor() || columns.shape.size() != 4 || !is_static(columns.shape))
      return false;
    step[3] = columns.shape[3] - state.shape[3];
    if (step[3] < 1) return false;
    return graph_.type(x) == ir::Type::tensor(DType::kFp16, step) &&
           graph_.type(mask) ==
               ir::Type::tensor(DType::kFp16, {1, 1, columns.shape[3], state.shape[3]});
  }

  // The mask has to be there where the root stands.
  bool is_made_before(int mask) const {
    if (graph_.input(mask) || graph_.constant(mask) != nullptr) return true;
    const PreparedOp* maker = graph_.producer(mask);
    return maker != nullptr && maker < &root_;
  }

  const FusionGraph& graph_;
  PreparedOp& root_;
};

}  // namespace

std::optional<Fusion> match_extended_state(const FusionGraph& graph, PreparedOp& root) {
  if (root.op->type != "concat") return std::nullopt;
  return ExtendedStateMatch(graph, root).find();
}

}  // namespace anemone::exec
