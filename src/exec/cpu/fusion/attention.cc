// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "exec/cpu/fusion/attention_tasks.h"
#include "exec/cpu/fusion/matchers.h"

namespace anemone::exec {
namespace {

// softmax(factor * q @ k^T + mask) @ v for every matrix of a batch. The inputs are q [..., L, dim],
// k and v [..., S, dim], and maybe a mask [..., L or 1, S]: one matrix for all, or as many as q.
class AttentionOp : public FusedOp {
 public:
  explicit AttentionOp(float factor) : factor_(factor) {}
  std::string_view name() const override { return "attention"; }
  Cost cost(const Shape& output, std::span<const Shape> /*states*/) const override {
    // Keys are not known from the output; a prompt attends to itself.
    return {0, 4 * element_count(output) * output[output.size() - 2]};
  }
  Status run(std::span<FusedCall> calls, const FusedContext& context) const override {
    const Shape& q = calls[0].inputs[0]->shape;
    const std::int64_t rows = q[q.size() - 2];
    const std::int64_t batches = element_count(q) / std::max<std::int64_t>(1, rows * q.back());
    const std::int64_t together =
        attention_rows_of_task(rows, batches * static_cast<std::int64_t>(calls.size()),
                               context.threads.threads(), context.kernels);
    const std::int64_t parts = (rows + together - 1) / together;
    parallel_for_calls(
        calls, context.threads, [&](const FusedCall&) { return batches * parts; }, 1,
        [&](FusedCall& call, std::int64_t task, std::int64_t) {
          attend(call, task / parts, task % parts * together, together, context);
        });
    return {};
  }

 private:
  void attend(FusedCall& call, std::int64_t batch, std::int64_t begin, std::int64_t count,
              const FusedContext& context) const {
    const Shape& q_shape = call.inputs[0]->shape;
    const Shape& k_shape = call.inputs[1]->shape;
    const std::int64_t dim = q_shape.back();
    const std::int64_t length = q_shape[q_shape.size() - 2];
    const std::int64_t positions = k_shape[k_shape.size() - 2];
    const Half* q = call.inputs[0]->as<Half>().data() + batch * length * dim;
    Half* out = call.outputs[0].as<Half>().data() + batch * length * dim;
    const kernels::simd::AttentionHead head{
        call.inputs[1]->as<Half>().data() + batch * positions * dim,
        call.inputs[2]->as<Half>().data() + batch * positions * dim, dim, factor_};
    AttentionTask& task = AttentionTask::begin();
    for (std::int64_t t = begin; t < std::min(length, begin + count); ++t)
      task.rows.push_back(
          {q + t * dim, out + t * dim, 0, positions,
           call.inputs.size() > 3 ? mask_row(*call.inputs[3], batch, t, length) : nullptr});
    task.run(context.kernels, head);
  }

  static const Half* mask_row(const TensorView& mask, std::int64_t batch, std::int64_t t,
                              std::int64_t length) {
    const std::int64_t positions = mask.shape.back();
    const std::int64_t rows = mask.shape.size() < 2 ? 1 : mask.shape[mask.shape.size() - 2];
    const std::int64_t matrices = mask.size() / (rows * positions);
    const std::int64_t row = (matrices == 1 ? 0 : batch * rows) + (rows == length ? t : 0);
    return mask.as<Half>().data() + row * positions;
  }

  float factor_;
};

// The operands and operations of one attention.
struct Parts {
  int q = -1, k = -1, v = -1, mask = -1;
  Shape k_shape;  // the shape that the memory of k is read as
  double factor = 1;
  std::vector<PreparedOp*> inner;
};

bool is_matrices(const FusionGraph& graph, int reg) {
  if (reg < 0) return false;
  const ir::Type& type = graph.type(reg);
  return type.is_tensor() && type.dtype == DType::kFp16 && type.shape.size() >= 2 &&
         is_static(type.shape) && element_count(type.shape) > 0;
}

bool fits(const FusionGraph& graph, const Parts& parts, const PreparedOp& root) {
  for (const int reg : {parts.q, parts.k, parts.v})
    if (!is_matrices(graph, reg)) return false;
  const Shape& q = graph.type(parts.q).shape;
  const Shape& k = parts.k_shape;
  const std::size_t rank = q.size();
  if (k.size() != rank || graph.type(parts.v).shape != k || q.back() != k.back() ||
      graph.type(root.outputs[0]).shape != q)
    return false;
  for (std::size_t i = 0; i + 2 < rank; ++i)
    if (q[i] != k[i]) return false;
  if (parts.mask < 0) return true;
  const ir::Type& mask = graph.type(parts.mask);
  if (!mask.is_tensor() || mask.dtype != DType::kFp16 || mask.shape.empty() ||
      mask.shape.size() > rank || mask.shape.back() != k[rank - 2])
    return false;
  const std::size_t skipped = rank - mask.shape.size();
  bool is_one = true;   // one matrix for all
  bool is_each = true;  // or one for each
  for (std::size_t i = 0; i + 1 < rank; ++i) {
    const std::int64_t dim = i < skipped ? 1 : mask.shape[i - skipped];
    if (i + 2 == rank) return (dim == 1 || dim == q[i]) && (is_one || is_each);
    is_one = is_one && dim == 1;
    is_each = is_each && dim == q[i];
  }
  return false;
}

PreparedOp* take(const FusionGraph& graph, Parts& parts, int reg, std::string_view type) {
  PreparedOp* found = graph.producer(reg, type);
  if (found != nullptr) parts.inner.push_back(found);
  return found;
}

// Where `reg` is x * c or x / c, takes c into the factor and makes `reg` x.
void take_factor(const FusionGraph& graph, Parts& parts, int& reg) {
  if (PreparedOp* scaled = graph.producer(reg, "mul")) {
    for (const std::string_view side : {"x", "y"})
      if (const auto constant = graph.number(*scaled, side)) {
        parts.factor *= *constant;
        parts.inner.push_back(scaled);
        reg = FusionGraph::argument(*scaled, side == "x" ? "y" : "x");
        return;
      }
  } else if (PreparedOp* divided = graph.producer(reg, "real_div")) {
    const auto constant = graph.number(*divided, "y");
    if (!constant || *constant == 0) return;
    parts.factor /= *constant;
    parts.inner.push_back(divided);
    reg = FusionGraph::argument(*divided, "x");
  }
}

// The keys [..., S, dim] behind `reg`, which holds them transposed: with the last two axes
// exchanged, and axes of one anywhere before them.
bool take_transposed_keys(const FusionGraph& graph, Parts& parts, int reg) {
  PreparedOp* transpose = take(graph, parts, reg, "transpose");
  if (transpose == nullptr) return false;
  parts.k = FusionGraph::argument(*transpose, "x");
  const Shape& from = graph.type(parts.k).shape;
  const auto rank = static_cast<std::int64_t>(from.size());
  auto permutation = graph.ints(*transpose, "perm");
  if (static_cast<std::int64_t>(permutation.size()) != rank || rank < 2) return false;
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < rank; ++i) {
    std::int64_t& axis = permutation[static_cast<std::size_t>(i)];
    if (axis < 0) axis += rank;
    if (i >= rank - 2) {
      if (axis != (i == rank - 2 ? rank - 1 : rank - 2)) return false;
    } else if (from[static_cast<std::size_t>(axis)] != 1) {
      if (axis < last) return false;
      last = axis;
    }
  }
  parts.k_shape = graph.type(reg).shape;
  std::swap(parts.k_shape[parts.k_shape.size() - 1], parts.k_shape[parts.k_shape.size() - 2]);
  return true;
}

// scores = factor * q @ k^T, scaled before or after.
bool match_scores(const FusionGraph& graph, Parts& parts, int reg) {
  take_factor(graph, parts, reg);
  PreparedOp* scores = take(graph, parts, reg, "matmul");
  if (scores == nullptr || graph.flag(*scores, "transpose_x")) return false;
  parts.q = FusionGraph::argument(*scores, "x");
  const int keys = FusionGraph::argument(*scores, "y");
  take_factor(graph, parts, parts.q);
  if (!graph.flag(*scores, "transpose_y")) return take_transposed_keys(graph, parts, keys);
  parts.k = keys;
  parts.k_shape = graph.type(keys).shape;
  return true;
}

std::optional<Parts> match_products(const FusionGraph& graph, const PreparedOp& root) {
  Parts parts;
  if (graph.is_transposed(root)) return std::nullopt;
  parts.v = FusionGraph::argument(root, "y");
  PreparedOp* softmax = take(graph, parts, FusionGraph::argument(root, "x"), "softmax");
  if (softmax == nullptr) return std::nullopt;
  const int weighed = FusionGraph::argument(*softmax, "x");
  const auto rank = static_cast<double>(graph.type(weighed).shape.size());
  const double axis = graph.number(*softmax, "axis").value_or(99);
  if (axis != -1 && axis != rank - 1) return std::nullopt;
  if (PreparedOp* masked = graph.producer(weighed, "add")) {
    for (const std::string_view side : {"x", "y"}) {
      Parts attempt = parts;
      attempt.inner.push_back(masked);
      const int scores = FusionGraph::argument(*masked, side);
      attempt.mask = FusionGraph::other(*masked, scores);
      if (match_scores(graph, attempt, scores)) return attempt;
    }
    return std::nullopt;
  }
  if (!match_scores(graph, parts, weighed)) return std::nullopt;
  return parts;
}

Parts parts_of(const FusionGraph& graph, const PreparedOp& attention) {
  Parts parts;
  parts.q = FusionGraph::argument(attention, "query");
  parts.k = FusionGraph::argument(attention, "key");
  parts.v = FusionGraph::argument(attention, "value");
  parts.mask = FusionGraph::argument(attention, "attn_mask");
  parts.k_shape = graph.type(parts.k).shape;
  const double depth = static_cast<double>(graph.type(parts.q).shape.back());
  parts.factor = depth > 0 ? 1 / std::sqrt(depth) : 1;
  return parts;
}

}  // namespace

std::optional<Fusion> match_attention(const FusionGraph& graph, PreparedOp& root) {
  std::optional<Parts> parts;
  if (root.op->type == "scaled_dot_product_attention")
    parts = parts_of(graph, root);
  else if (root.op->type == "matmul")
    parts = match_products(graph, root);
  if (!parts || !fits(graph, *parts, root)) return std::nullopt;
  std::vector<int> inputs = {parts->q, parts->k, parts->v};
  if (parts->mask >= 0) inputs.push_back(parts->mask);
  return Fusion{std::make_shared<AttentionOp>(static_cast<float>(parts->factor)),
                &root,
                std::move(inputs),
                {},
                std::move(parts->inner)};
}

}  // namespace anemone::exec
