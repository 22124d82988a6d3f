// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/chain.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "exec/cpu/fusion/chain_writer.h"

namespace anemone::exec {
namespace {

constexpr std::size_t kMaxChainOps = 32;

class ChainFinder {
 public:
  explicit ChainFinder(FusionGraph& graph) : graph_(graph) { mark_known(); }

  // The search begins at the end of the program, so that a group begins with its last operation.
  void run() {
    for (auto it = graph_.ops().rbegin(); it != graph_.ops().rend(); ++it)
      if (auto fusion = match(*it); fusion && graph_.is_closed(*fusion))
        graph_.apply(std::move(*fusion));
  }

 private:
  // What follows from constants alone is computed once when the program is loaded; it must stay
  // what it is for that.
  void mark_known() {
    known_.resize(graph_.function().initial.size());
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const Register& reg = graph_.function().initial[i];
      known_[i] = reg.view.data != nullptr || reg.text.has_value();
    }
    for (const PreparedOp& op : graph_.ops()) {
      if (op.kind != PreparedOp::Kind::kKernel) continue;
      const bool is_known = std::ranges::all_of(op.operands, [this](const Operand& operand) {
        return std::ranges::all_of(operand.registers,
                                   [this](int reg) { return is_known_register(reg); });
      });
      for (const int reg : op.outputs) known_[static_cast<std::size_t>(reg)] = is_known;
    }
  }
  bool is_known_register(int reg) const { return known_[static_cast<std::size_t>(reg)]; }

  // The operation as part of a chain over `shape`.
  std::optional<ChainMember> member(PreparedOp& op, const Shape& shape) const {
    if (!FusionGraph::is_statically_checked(op) || op.outputs.size() != 1 ||
        is_known_register(op.outputs[0]))
      return std::nullopt;
    const ir::Type& type = graph_.type(op.outputs[0]);
    if (!type.is_tensor() || type.dtype != DType::kFp16 || type.shape != shape) return std::nullopt;
    auto node = chain_node(graph_, op);
    if (!node) return std::nullopt;
    for (const int reg : node->operands) {
      if (reg < 0) continue;
      const TensorView* constant = graph_.constant(reg);
      const Shape& part = constant != nullptr ? constant->shape : graph_.type(reg).shape;
      if (!is_static(part) || !chain_input(part, shape)) return std::nullopt;
    }
    return ChainMember{&op, *node};
  }

  static int uses_in(const std::vector<ChainMember>& members, int reg) {
    int uses = 0;
    for (const ChainMember& member : members)
      for (const Operand& operand : member.op->operands)
        uses += static_cast<int>(std::ranges::count(operand.registers, reg));
    return uses;
  }

  // The root and what goes into it alone, up to `limit` operations, in the order of the program.
  std::vector<ChainMember> group(const ChainMember& root, const Shape& shape,
                                 std::size_t limit) const {
    std::vector<ChainMember> members = {root};
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      for (std::size_t i = 0; i < members.size(); ++i) {
        const auto operands = members[i].node.operands;  // the members move as the group grows
        for (const int reg : operands) {
          if (reg < 0 || members.size() == limit) continue;
          PreparedOp* producer = graph_.producer(reg);
          if (producer == nullptr || graph_.use_count(reg) != uses_in(members, reg) ||
              std::ranges::find(members, producer, &ChainMember::op) != members.end())
            continue;
          if (auto more = member(*producer, shape)) {
            members.push_back(*more);
            has_grown = true;
          }
        }
      }
    }
    std::ranges::sort(members, {}, &ChainMember::op);
    return members;
  }

  bool is_plain_sum(const ChainMember& member) const {
    const auto& [x, y] = member.node.operands;
    return member.op->op->type == "add" && x >= 0 && y >= 0 && graph_.constant(x) == nullptr &&
           graph_.constant(y) == nullptr && graph_.type(x).shape == graph_.type(y).shape;
  }

  std::optional<Fusion> match(PreparedOp& root) const {
    if (root.outputs.size() != 1) return std::nullopt;
    const ir::Type& type = graph_.type(root.outputs[0]);
    if (!type.is_tensor() || !is_static(type.shape) || element_count(type.shape) == 0)
      return std::nullopt;
    const auto last = member(root, type.shape);
    if (!last) return std::nullopt;
    for (std::size_t limit = kMaxChainOps; limit > 0; limit /= 2) {
      const auto members = group(*last, type.shape, limit);
      if (members.size() == 1 && is_plain_sum(*last)) return std::nullopt;
      ChainWriter writer(graph_, type.shape, members);
      if (!writer.write()) continue;
      std::vector<PreparedOp*> inner;
      for (const ChainMember& one : members)
        if (one.op != &root) inner.push_back(one.op);
      return Fusion{
          std::make_shared<ChainOp>(type.shape, std::move(writer.inputs), std::move(writer.steps)),
          &root,
          std::move(writer.registers),
          {},
          std::move(inner)};
    }
    return std::nullopt;
  }

  FusionGraph& graph_;
  std::vector<bool> known_;
};

}  // namespace

void fuse_chains(FusionGraph& graph) {
  ChainFinder(graph).run();
}

}  // namespace anemone::exec
