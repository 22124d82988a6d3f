// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/state_updates.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace anemone::exec {
namespace {

using Kind = PreparedOp::Kind;

constexpr std::size_t kForever = std::numeric_limits<std::size_t>::max();

class InPlace {
 public:
  explicit InPlace(PreparedFunction& function)
      : function_(function),
        ops_(function.block.ops),
        last_use_(function.initial.size(), 0),
        is_handed_on_(function.initial.size(), false),
        states_(function.states.size()) {}

  void run() {
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      see(ops_[k], k);
      if (is_access(ops_[k])) states_[index(ops_[k].state)].accesses.push_back(k);
    }
    for (const int reg : function_.block.outputs) last_use_[index(reg)] = kForever;
    for (std::size_t k = 0; k < ops_.size(); ++k) {
      PreparedOp& op = ops_[k];
      if (op.kind == Kind::kReadState)
        add_alias(op.state, op.outputs[0]);
      else if (const int updated = op.updated_register(); updated >= 0)
        update(op, updated, k);
    }
  }

 private:
  struct State {
    std::vector<std::size_t> accesses;  // of the outermost block, in order
    bool is_inside = false;             // accessed by an inner block
    // The two registers in the memory of the state that are used longest: (last use, register).
    std::pair<std::size_t, int> longest = {0, -1};
    std::pair<std::size_t, int> next_longest = {0, -1};
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static bool is_access(const PreparedOp& op) {
    return op.kind == Kind::kReadState || op.kind == Kind::kWriteState;
  }

  // Uses, and accesses to states by inner blocks.
  void see(const PreparedOp& op, std::size_t k) {
    // Kernels and fused operations give memory of their own.
    const bool hands_on = op.kind != Kind::kKernel && op.kind != Kind::kFused;
    for (const Operand& operand : op.operands)
      for (const int reg : operand.registers) {
        last_use_[index(reg)] = k;
        if (hands_on) is_handed_on_[index(reg)] = true;
      }
    for (const PreparedBlock& block : op.blocks) see(block, k);
  }
  void see(const PreparedBlock& block, std::size_t k) {
    for (const PreparedOp& op : block.ops) {
      see(op, k);
      if (is_access(op)) states_[index(op.state)].is_inside = true;
    }
    for (const int reg : block.outputs) {
      last_use_[index(reg)] = k;
      is_handed_on_[index(reg)] = true;
    }
  }

  void add_alias(int state, int reg) {
    state_of_[reg] = state;
    State& of = states_[index(state)];
    // A view of it, or whoever took it, may be there for as long as the run.
    const std::size_t last = is_handed_on_[index(reg)] ? kForever : last_use_[index(reg)];
    if (last >= of.longest.first)
      of.next_longest = std::exchange(of.longest, {last, reg});
    else if (last > of.next_longest.first)
      of.next_longest = {last, reg};
  }

  void update(PreparedOp& op, int updated, std::size_t k) {
    const auto found = state_of_.find(updated);
    if (found == state_of_.end()) return;
    State& state = states_[index(found->second)];
    const auto& others = state.longest.second == updated ? state.next_longest : state.longest;
    const bool is_last = last_use_[index(updated)] == k && !is_handed_on_[index(updated)] &&
                         (others.second < 0 || others.first < k);
    const auto next = std::ranges::upper_bound(state.accesses, k);
    if (!is_last || state.is_inside || next == state.accesses.end()) return;
    const PreparedOp& write = ops_[*next];
    if (write.kind != Kind::kWriteState || write.reg("data") != op.outputs[0] ||
        last_use_[index(op.outputs[0])] != *next)
      return;
    op.kind = Kind::kUpdateState;
    op.state = found->second;
    function_.states_in_place.push_back(op.state);
  }

  PreparedFunction& function_;
  std::vector<PreparedOp>& ops_;
  std::vector<std::size_t> last_use_;  // of each register
  std::vector<bool> is_handed_on_;     // whether its memory may have other names
  std::vector<State> states_;
  std::map<int, int> state_of_;  // by register
};

}  // namespace

void update_states_in_place(PreparedFunction& function) {
  InPlace(function).run();
}

}  // namespace anemone::exec
