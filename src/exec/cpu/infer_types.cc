// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/infer_types.h"

#include <algorithm>
#include <optional>

#include "exec/cpu/constant_folder.h"
#include "exec/cpu/op_call.h"

namespace anemone::exec {
namespace {

// Values that shapes are computed from are short. Longer ones, such as tables and masks, are not
// computed here but by the constant folder. That runs after fusion, because a fusion pattern may
// contain the operations that compute them.
constexpr std::int64_t kMaxKnownElements = 64;

// How many rounds a loop gets until the types of its variables stop changing; after them the
// declared types are taken.
constexpr int kMaxRounds = 4;

// The declared type with its open dimensions taken from the inferred one; nullopt where the two
// contradict each other.
std::optional<ir::Type> refined(const ir::Type& declared, const ir::Type& inferred) {
  if (!ir::is_compatible(declared, inferred)) return std::nullopt;
  ir::Type out = declared;
  if (out.is_tensor())
    for (std::size_t i = 0; i < out.shape.size(); ++i)
      if (out.shape[i] == kDynamic) out.shape[i] = inferred.shape[i];
  return out;
}

// The type that includes values of types `a` and `b`: a dimension in which they differ becomes
// kDynamic. `declared` if there is no such type, or if it contradicts `declared`.
ir::Type common(const ir::Type& declared, const ir::Type& a, const ir::Type& b) {
  ir::Type both = a;
  if (!a.is_tensor() || !b.is_tensor() || a.shape.size() != b.shape.size()) return declared;
  for (std::size_t i = 0; i < both.shape.size(); ++i)
    if (both.shape[i] != b.shape[i]) both.shape[i] = kDynamic;
  return refined(declared, both).value_or(declared);
}

class TypeInference {
 public:
  TypeInference(PreparedFunction& function, const std::shared_ptr<MemoryLimit>& limit)
      : function_(function), allocate_(separate_buffers(limit)) {}

  void run() { infer(function_.block, false); }

 private:
  ir::Type& type(int reg) { return function_.types[static_cast<std::size_t>(reg)]; }

  void infer(PreparedBlock& block, bool is_inner) {
    for (PreparedOp& op : block.ops) {
      // Clears the values that an earlier round of a loop left.
      for (const int reg : op.outputs) function_.initial[static_cast<std::size_t>(reg)] = {};
      if (op.kind == PreparedOp::Kind::kKernel)
        infer_kernel(op);
      else if (op.kind == PreparedOp::Kind::kCond)
        infer_cond(op);
      else if (op.kind == PreparedOp::Kind::kWhile)
        infer_while(op, is_inner);
    }
  }

  void infer_kernel(PreparedOp& op) {
    op.has_static_outputs = false;
    op.is_statically_checked = false;
    std::vector<ir::Type> inferred;
    const RegisterInferContext context(op, function_.initial, &function_.types);
    // An operation whose type rule fails keeps its declared types; the rule is asked again when the
    // operation runs, and reports the error then.
    const bool is_accepted = op.schema->infer(context, inferred).ok();
    bool is_fixed = is_accepted && inferred.size() == op.outputs.size();
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const ir::Type& declared = op.op->outputs[i]->type;
      const auto better = is_accepted && i < inferred.size() ? refined(declared, inferred[i])
                                                             : std::optional<ir::Type>();
      type(op.outputs[i]) = better.value_or(declared);
      is_fixed = is_fixed && better && better->is_tensor() && is_static(inferred[i].shape);
    }
    op.has_static_outputs = is_fixed;
    // A rule that asked for nothing unknown gives the same answer in every run, so that no run asks
    // it again.
    op.is_statically_checked = is_fixed && !context.has_asked_unknown() && has_static_operands(op);
    if (is_fixed && wants_value(op)) evaluate(op);
  }

  bool has_static_operands(const PreparedOp& op) const {
    return std::ranges::all_of(op.operands, [this](const Operand& operand) {
      return std::ranges::all_of(operand.registers, [this](int reg) {
        const ir::Type& type = function_.type(reg);
        return is_known(function_, reg) || (type.is_tensor() && is_static(type.shape));
      });
    });
  }

  // Only scalars and short integers are computed, because shapes may depend on them. "constexpr_"
  // operations make weights: fusions read these in their compressed form.
  bool wants_value(const PreparedOp& op) const {
    return !op.schema->has_side_effects && !op.op->type.starts_with("constexpr_") &&
           std::ranges::all_of(op.outputs, [this](int reg) {
             const ir::Type& type = function_.type(reg);
             return type.shape.empty() || ((is_integer(type.dtype) || type.dtype == DType::kBool) &&
                                           element_count(type.shape) <= kMaxKnownElements);
           });
  }

  // Runs the operation and keeps its results in PreparedFunction::initial. A value is marked as
  // shape-dependent if it was computed from a shape that the program leaves open: it holds for the
  // input shapes of this plan alone.
  void evaluate(const PreparedOp& op) {
    std::vector<Register> results;
    bool is_shape_dependent = false;
    // All that "shape" reads is the type of its operand.
    const int x = op.op->type == "shape" ? op.reg("x") : -1;
    if (x >= 0 && !is_known(function_, x)) {
      const ir::Type& whole = function_.type(x);
      if (!whole.is_tensor() || !is_static(whole.shape)) return;
      is_shape_dependent = !is_static(op.op->input("x")->type.shape);
      Register& operand = function_.initial[static_cast<std::size_t>(x)];
      operand.view = {whole.dtype, whole.shape, nullptr};
      const Status status = call(op, results);
      operand = {};
      if (!status.ok()) return;
    } else {
      for (const Operand& operand : op.operands)
        for (const int reg : operand.registers) {
          const auto at = static_cast<std::size_t>(reg);
          // A scalar that is computed from a whole weight is left to the constant folder, too,
          // which computes it once for all plans.
          if (!is_known(function_, reg) || function_.initial[at].view.size() > kMaxKnownElements)
            return;
          is_shape_dependent = is_shape_dependent || function_.is_shape_dependent[at];
        }
      if (!call(op, results).ok()) return;
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto reg = static_cast<std::size_t>(op.outputs[i]);
      function_.initial[reg] = std::move(results[i]);
      function_.is_shape_dependent[reg] = is_shape_dependent;
    }
  }

  void infer_cond(PreparedOp& op) {
    for (PreparedBlock& block : op.blocks) infer(block, true);
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      type(op.outputs[i]) = common(op.op->outputs[i]->type, function_.type(op.blocks[0].outputs[i]),
                                   function_.type(op.blocks[1].outputs[i]));
  }

  // A loop inside another block uses the types that the program declares, so that nested loops cost
  // no more than one.
  void infer_while(PreparedOp& op, bool is_inner) {
    if (!is_inner) return infer_variables(op);
    for (PreparedBlock& block : op.blocks) infer(block, true);
  }

  // A loop variable gets the type of its first value; the dimensions that a round of the loop
  // changes become kDynamic.
  void infer_variables(PreparedOp& op) {
    const std::vector<int>& begin = op.operand("loop_vars")->registers;
    const auto declared = [&](std::size_t i) -> const ir::Type& { return op.op->outputs[i]->type; };
    std::vector<ir::Type> variables;
    for (std::size_t i = 0; i < begin.size(); ++i)
      variables.push_back(refined(declared(i), function_.type(begin[i])).value_or(declared(i)));
    bool is_stable = false;
    for (int round = 0; !is_stable; ++round) {
      is_stable = true;
      for (std::size_t b = 0; b < op.blocks.size(); ++b) {
        for (std::size_t i = 0; i < variables.size(); ++i) {
          const ir::Type& own = op.op->blocks[b]->inputs[i]->type;
          type(op.blocks[b].inputs[i]) = refined(own, variables[i]).value_or(own);
        }
        infer(op.blocks[b], true);
      }
      for (std::size_t i = 0; i < variables.size(); ++i) {
        ir::Type next = round < kMaxRounds ? common(declared(i), variables[i],
                                                    function_.type(op.blocks[1].outputs[i]))
                                           : declared(i);
        if (next == variables[i]) continue;
        variables[i] = std::move(next);
        is_stable = false;
      }
    }
    for (std::size_t i = 0; i < variables.size(); ++i)
      type(op.outputs[i]) = std::move(variables[i]);
  }

  Status call(const PreparedOp& op, std::vector<Register>& results) {
    return call_kernel(op, function_.types, function_.initial, allocate_, single_thread_, results);
  }

  PreparedFunction& function_;
  const Allocate allocate_;
  ThreadPool single_thread_{1};
};

}  // namespace

void infer_types(PreparedFunction& function, const std::shared_ptr<MemoryLimit>& limit) {
  TypeInference(function, limit).run();
  remove_known_operations(function);
}

}  // namespace anemone::exec
