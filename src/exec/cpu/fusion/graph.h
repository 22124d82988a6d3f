// SPDX-License-Identifier: Apache-2.0
// The operations of a function as a graph over registers, for matchers: who makes a value, who uses
// it, and what is constant.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/cpu/fusion/fused_op.h"
#include "exec/cpu/fusion/sliced_states.h"
#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// What takes the place of some operations: it stands where `root` was.
struct Fusion {
  std::shared_ptr<const FusedOp> op;
  PreparedOp* root = nullptr;  // its output is the fusion's
  std::vector<int> inputs;
  std::vector<StateRow> states;
  std::vector<PreparedOp*> inner;  // the others that go away
  std::vector<PreparedCache> caches = {};
};

class FusionGraph {
 public:
  explicit FusionGraph(PreparedFunction& function);

  const ir::Type& type(int reg) const { return function_.type(reg); }
  // The operation of the outermost block that makes the value; nullptr for inputs, constants and
  // values of inner blocks. nullptr as well once the budget of look-ups is spent: operations in
  // which no pattern was found run as they are, and a program whose parts all look like the
  // beginning of long patterns loads in time.
  PreparedOp* producer(int reg) const {
    return look_ups_left_ > 0 && --look_ups_left_ > 0 ? producers_[static_cast<std::size_t>(reg)]
                                                      : nullptr;
  }
  // Whether a pattern may have it: an operation that is still as the program has it, and whose type
  // rule no run asks. What is fused runs without the rule, in memory of the size that the plan has.
  static bool is_statically_checked(const PreparedOp& op) {
    return op.kind == PreparedOp::Kind::kKernel && op.is_statically_checked;
  }
  // The producer when it is statically checked and of this type, else nullptr.
  PreparedOp* producer(int reg, std::string_view op) const;
  int use_count(int reg) const { return uses_[static_cast<std::size_t>(reg)]; }
  // Operations of the outermost block that take the value, each once, and maybe some that did so
  // before they were fused.
  const std::vector<PreparedOp*>& users(int reg) const {
    return users_[static_cast<std::size_t>(reg)];
  }
  // What writes a state that is read once and written once, both in the outermost block; nullptr
  // for other states.
  PreparedOp* only_write(int state) const;
  // Whether an inner block reads or writes the state.
  bool is_accessed_inside(int state) const {
    return states_[static_cast<std::size_t>(state)].is_inside;
  }
  // The states of the program as it was before the first fusion; valid until
  // remove_unread_updates().
  const SlicedStates& sliced_states() const { return sliced_states_; }
  // nullptr unless it is a constant tensor.
  const TensorView* constant(int reg) const;
  std::optional<double> scalar(int reg) const;  // of a constant of one element

  // The index of an input of the function, or of the one output that is this value; nullopt for
  // others.
  std::optional<std::size_t> input(int reg) const;
  std::optional<std::size_t> output(int reg) const;

  // Parameters of an operation; -1 or nullopt when absent or not constant.
  static int argument(const PreparedOp& op, std::string_view name, std::size_t i = 0);
  std::optional<double> number(const PreparedOp& op, std::string_view name) const;
  std::vector<std::int64_t> ints(const PreparedOp& op, std::string_view name) const;
  bool flag(const PreparedOp& op, std::string_view name) const;

  // Whether a product takes one of its matrices transposed.
  bool is_transposed(const PreparedOp& matmul) const;
  // The two values of four dimensions that `concat` joins along `axis`, one after the other;
  // nullopt for other ones.
  std::optional<std::array<int, 2>> joined_pair(const PreparedOp& concat, int axis) const;

  // x and y of a commutative operation, either way round: `wanted` is one of them; gives the other,
  // or -1.
  static int other(const PreparedOp& op, int wanted);

  // Whether the operation gives the elements of its input in the same order: with a result of fixed
  // shape it is another view of the same memory.
  bool is_view(const PreparedOp& op) const;
  // Whether all users of everything that `inner` makes are in the fusion, so that it can go away.
  bool is_closed(const Fusion& fusion) const;
  void apply(Fusion fusion);
  void remove(PreparedOp& op);
  void replace_uses(int from, int to);
  // SlicedStates::remove_unread().
  void remove_unread_updates();
  // Takes operations away whose results nobody uses.
  void drop_unused();

  const PreparedFunction& function() const { return function_; }
  std::vector<PreparedOp>& ops() { return function_.block.ops; }

 private:
  struct StateUse {
    int accesses = 0;
    PreparedOp* write = nullptr;  // the last one in the outermost block
    bool is_inside = false;
  };

  void count();
  void count_accesses(PreparedBlock& block, bool is_outermost);
  void count_uses(const PreparedBlock& block);
  void add_uses(PreparedOp& op);
  void drop_uses(PreparedOp& op);

  PreparedFunction& function_;
  std::vector<PreparedOp*> producers_;
  std::vector<int> uses_;
  std::vector<std::vector<PreparedOp*>> users_;
  std::vector<StateUse> states_;
  SlicedStates sliced_states_;
  mutable std::int64_t look_ups_left_;  // of producer()
};

}  // namespace anemone::exec
