// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/lifetimes.h"

#include <utility>
#include <vector>

namespace anemone::exec {
namespace {

class Lifetimes {
 public:
  explicit Lifetimes(PreparedFunction& function)
      : function_(function),
        home_(function.initial.size(), nullptr),
        last_(function.initial.size()) {}

  void run() {
    mark_homes(function_.block);
    std::vector<Place> path;
    walk(function_.block, path);
    for (std::size_t slot = 0; slot < last_.size(); ++slot) {
      if (home_[slot] == nullptr) continue;
      if (last_[slot].is_kept)
        home_[slot]->handed_on.push_back(static_cast<int>(slot));
      else if (last_[slot].op != nullptr)
        last_[slot].op->dead_after.push_back(static_cast<int>(slot));
    }
  }

 private:
  struct Use {
    PreparedOp* op = nullptr;  // null: an input of a block that nothing uses
    bool is_kept = false;
  };
  // The place of the walk: an operation of each block from the outermost in.
  using Place = std::pair<PreparedBlock*, PreparedOp*>;

  void mark_homes(PreparedBlock& block) {
    for (const int slot : block.inputs) home_[static_cast<std::size_t>(slot)] = &block;
    for (PreparedOp& op : block.ops) {
      for (const int slot : op.outputs) {
        home_[static_cast<std::size_t>(slot)] = &block;
        last_[static_cast<std::size_t>(slot)].op = &op;
      }
      for (PreparedBlock& inner : op.blocks) mark_homes(inner);
    }
  }

  void use(int slot, const std::vector<Place>& path) {
    const auto index = static_cast<std::size_t>(slot);
    for (const auto& [block, op] : path)
      if (block == home_[index]) last_[index].op = op;
  }

  void walk(PreparedBlock& block, std::vector<Place>& path) {
    for (PreparedOp& op : block.ops) {
      path.emplace_back(&block, &op);
      for (const Operand& operand : op.operands)
        for (const int slot : operand.slots) use(slot, path);
      for (PreparedBlock& inner : op.blocks) walk(inner, path);
      path.pop_back();
    }
    for (const int slot : block.outputs) {
      if (home_[static_cast<std::size_t>(slot)] == &block)
        last_[static_cast<std::size_t>(slot)].is_kept = true;
      else
        use(slot, path);
    }
  }

  PreparedFunction& function_;
  std::vector<PreparedBlock*> home_;
  std::vector<Use> last_;
};

}  // namespace

void find_lifetimes(PreparedFunction& function) {
  Lifetimes(function).run();
}

}  // namespace anemone::exec
