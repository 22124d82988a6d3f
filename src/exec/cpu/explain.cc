// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/explain.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace anemone::exec {
namespace {

// A dimension that depends on data counts as one.
Shape at_least(Shape shape) {
  for (std::int64_t& dim : shape) dim = std::max<std::int64_t>(dim, 1);
  return shape;
}

std::int64_t bytes_of(DType dtype, const Shape& shape) {
  return static_cast<std::int64_t>(
      dtype_bytes(dtype, static_cast<std::uint64_t>(element_count(shape))));
}

class Explainer {
 public:
  explicit Explainer(const PreparedFunction& function) : function_(function) {}

  // `bytes_read` a run, where a run told.
  PlanStep step(const PreparedOp& op, std::optional<std::int64_t> bytes_read) const {
    PlanStep out;
    out.operation = op.op->name;
    out.is_fused = op.kind == PreparedOp::Kind::kFused;
    out.is_view = op.kind == PreparedOp::Kind::kView;
    out.name = out.is_fused ? std::string(op.fused->name()) : op.op->type;
    if (op.kind == PreparedOp::Kind::kUpdateState) out.name += " in place";
    if (out.is_view || op.outputs.empty()) return out;
    const ir::Type& type = function_.type(op.outputs[0]);
    const Shape output = type.is_tensor() ? at_least(type.shape) : Shape{};
    out.weight_bytes = constant_bytes(op);
    if (out.is_fused) {
      std::vector<Shape> states;
      for (const StateRow& row : op.fused_states) {
        const Feature* feature = function_.states[static_cast<std::size_t>(row.state)];
        Shape shape = at_least(feature->shape);
        if (row.row >= 0) shape.erase(shape.begin(), shape.end() - 3);
        states.push_back(std::move(shape));
        out.state_bytes += bytes_of(feature->dtype, states.back());
      }
      for (const int cache : op.fused_caches) {
        const PreparedCache& one = function_.caches[static_cast<std::size_t>(cache)];
        states.push_back(at_least(one.shape));
        out.state_bytes += bytes_of(one.dtype, states.back());
      }
      const Cost cost = op.fused->cost(output, states);
      out.weight_bytes +=
          cost.depends_on_inputs ? bytes_read.value_or(cost.weight_bytes) : cost.weight_bytes;
      out.flops = cost.flops;
      out.form = cost.form;
      out.experts = cost.experts.total;
      out.active_experts = cost.experts.active;
    } else if (op.kind == PreparedOp::Kind::kKernel) {
      // Rows that a table is asked for, not the table.
      if (op.op->type.starts_with("gather") && type.is_tensor())
        out.weight_bytes = std::min(out.weight_bytes, bytes_of(type.dtype, output));
      out.flops = 2 * element_count(output) * terms_of(op);
    }
    return out;
  }

 private:
  std::int64_t constant_bytes(const PreparedOp& op) const {
    std::int64_t bytes = 0;
    for (const Operand& operand : op.operands)
      for (const int reg : operand.registers) {
        const TensorView& view = function_.initial[static_cast<std::size_t>(reg)].view;
        if (view.data != nullptr) bytes += static_cast<std::int64_t>(view.size_bytes());
      }
    return bytes;
  }

  // An element of the output of a matrix product is a sum of so many terms; 0 for other operations.
  std::int64_t terms_of(const PreparedOp& op) const {
    if (op.op->type == "conv" || op.op->type == "linear") {
      const Shape weight = shape_of(op, "weight");
      return weight.empty() ? 0 : element_count(weight) / weight[0];
    }
    if (op.op->type != "matmul") return 0;
    const Shape x = shape_of(op, "x");
    const Shape y = shape_of(op, "y");
    const Shape out = at_least(function_.type(op.outputs[0]).shape);
    if (x.size() < 2 || y.size() < 2 || out.size() < 2) return 0;
    // One of the last two dimensions of x is that of the output, the other the one summed over.
    return x[x.size() - 1] * x[x.size() - 2] / out[out.size() - 2];
  }

  Shape shape_of(const PreparedOp& op, std::string_view parameter) const {
    const int reg = op.reg(parameter);
    const TensorView& constant = function_.initial[static_cast<std::size_t>(reg)].view;
    return at_least(constant.data != nullptr ? constant.shape : function_.type(reg).shape);
  }

  const PreparedFunction& function_;
};

}  // namespace

std::vector<PlanStep> explain(const ExecutionPlan& plan) {
  const OpTimes& times = plan.times();
  const Explainer explainer(plan.function());
  std::vector<PlanStep> steps;
  for (const PreparedOp& op : plan.function().block.ops) {
    const std::int64_t runs = times.runs();
    PlanStep step = explainer.step(
        op, runs > 0 ? std::optional(times.bytes(steps.size()) / runs) : std::nullopt);
    step.runs = runs;
    step.seconds = times.seconds(steps.size());
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace anemone::exec
