// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/memory_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "exec/cpu/fusion/fused_op.h"
#include "exec/cpu/prepared_program.h"
#include "exec/cpu/red_zone.h"

namespace anemone::exec {
namespace {

using Kind = PreparedOp::Kind;

// Pairs of places that are compared before the rest, which are the smaller ones, get memory of
// their own: all of more than ten thousand values.
constexpr std::int64_t kMaxComparisons = std::int64_t{1} << 27;
constexpr std::int64_t kLine = 64;  // bytes; memory of its own begins and ends with a line

std::int64_t size_of(const ir::Type& type) {
  return static_cast<std::int64_t>(
      dtype_bytes(type.dtype, static_cast<std::uint64_t>(element_count(type.shape))));
}

// Fills PreparedOp::dead_after and PreparedBlock::owned_outputs. A value dies in the block that
// defines it, after the last operation there that uses it, itself or in its inner blocks.
class Lifetimes {
 public:
  explicit Lifetimes(PreparedFunction& function)
      : function_(function),
        home_(function.initial.size(), nullptr),
        last_(function.initial.size()) {}

  void run() {
    mark_homes(function_.block);
    Path path;
    walk(function_.block, path);
    for (std::size_t reg = 0; reg < last_.size(); ++reg) {
      if (home_[reg] == nullptr) continue;
      if (last_[reg].is_kept)
        home_[reg]->owned_outputs.push_back(static_cast<int>(reg));
      else if (last_[reg].op != nullptr)
        last_[reg].op->dead_after.push_back(static_cast<int>(reg));
    }
  }

 private:
  struct Use {
    PreparedOp* op = nullptr;  // null: an input of a block that nothing uses
    bool is_kept = false;
  };
  // The place of the walk: an operation of each block, the outermost block first.
  using Path = std::vector<std::pair<PreparedBlock*, PreparedOp*>>;

  void mark_homes(PreparedBlock& block) {
    for (const int reg : block.inputs) home_[static_cast<std::size_t>(reg)] = &block;
    for (PreparedOp& op : block.ops) {
      for (const int reg : op.outputs) {
        home_[static_cast<std::size_t>(reg)] = &block;
        last_[static_cast<std::size_t>(reg)].op = &op;
      }
      for (PreparedBlock& inner : op.blocks) mark_homes(inner);
    }
  }

  void use(int reg, const Path& path) {
    const auto index = static_cast<std::size_t>(reg);
    for (const auto& [block, op] : path)
      if (block == home_[index]) last_[index].op = op;
  }

  void walk(PreparedBlock& block, Path& path) {
    for (PreparedOp& op : block.ops) {
      path.emplace_back(&block, &op);
      for (const Operand& operand : op.operands)
        for (const int reg : operand.registers) use(reg, path);
      for (PreparedBlock& inner : op.blocks) walk(inner, path);
      path.pop_back();
    }
    for (const int reg : block.outputs) {
      if (home_[static_cast<std::size_t>(reg)] == &block)
        last_[static_cast<std::size_t>(reg)].is_kept = true;
      else
        use(reg, path);
    }
  }

  PreparedFunction& function_;
  std::vector<PreparedBlock*> home_;
  std::vector<Use> last_;
};

class MemoryPlanner {
 public:
  explicit MemoryPlanner(const PreparedFunction& function)
      : function_(function),
        registers_(function.initial.size()),
        end_(registers_, static_cast<int>(function.block.ops.size())),
        is_kept_(registers_, false),
        place_of_(registers_, kNoPlace),
        begin_(registers_, 0) {}

  MemoryPlan run() {
    const std::vector<PreparedOp>& ops = function_.block.ops;
    for (std::size_t k = 0; k < ops.size(); ++k) {
      for (const int reg : ops[k].dead_after) end_[index(reg)] = static_cast<int>(k);
      mark_kept(ops[k]);
    }
    for (std::size_t k = 0; k < ops.size(); ++k) {
      if (ops[k].kind == Kind::kView)
        add_view(ops[k]);
      else if (is_planned(ops[k]))
        add_values(ops[k], static_cast<int>(k));
    }
    return arrange();
  }

 private:
  static constexpr int kNoPlace = -1;

  // Memory that one value has, or several one after the other, and views of them.
  struct Place {
    std::int64_t size = 0;
    int begin = 0;  // the operations, both included
    int end = 0;
    bool is_kept = false;
    std::vector<int> values = {};  // that are no views, the first of them first
    std::vector<int> views = {};
    std::int64_t offset = 0;
  };

  static std::size_t index(int reg) { return static_cast<std::size_t>(reg); }
  static bool is_planned(const PreparedOp& op) {
    return (op.kind == Kind::kKernel || op.kind == Kind::kFused) && op.has_static_outputs;
  }

  // Operations other than kernels, fusions and views hand on the memory of their operands.
  void mark_kept(const PreparedOp& op) {
    if (op.kind != Kind::kKernel && op.kind != Kind::kFused && op.kind != Kind::kView)
      for (const Operand& operand : op.operands)
        for (const int reg : operand.registers) is_kept_[index(reg)] = true;
    for (const PreparedBlock& block : op.blocks) mark_kept(block);
  }
  void mark_kept(const PreparedBlock& block) {
    for (const PreparedOp& op : block.ops) {
      for (const Operand& operand : op.operands)
        for (const int reg : operand.registers) is_kept_[index(reg)] = true;
      for (const PreparedBlock& inner : op.blocks) mark_kept(inner);
    }
    for (const int reg : block.outputs) is_kept_[index(reg)] = true;
  }

  void add_view(const PreparedOp& op) {
    const int place = place_of_[index(op.reg("x"))];
    if (place == kNoPlace) return;
    std::int64_t begin = begin_[index(op.reg("x"))];
    for (const int reg : op.outputs) {
      put(reg, place);
      places_[index(place)].views.push_back(reg);
      begin_[index(reg)] = begin;
      begin += size_of(function_.type(reg));
    }
  }

  void add_values(const PreparedOp& op, int k) {
    for (const int reg : op.outputs) {
      const std::int64_t size = size_of(function_.type(reg));
      int place = overwritten(op, k, size);
      if (place == kNoPlace || is_kept_[index(reg)]) {
        place = static_cast<int>(places_.size());
        places_.push_back({.size = size, .begin = k, .end = k});
      }
      put(reg, place);
      places_[index(place)].values.push_back(reg);
    }
  }

  void put(int reg, int index_of_place) {
    Place& place = places_[index(index_of_place)];
    place_of_[index(reg)] = index_of_place;
    place.end = std::max(place.end, end_[index(reg)]);
    place.is_kept = place.is_kept || is_kept_[index(reg)];
  }

  // The place of an input of the same size that the output may take.
  int overwritten(const PreparedOp& op, int k, std::int64_t size) const {
    std::vector<int> inputs;
    for (const Operand& operand : op.operands)
      inputs.insert(inputs.end(), operand.registers.begin(), operand.registers.end());
    for (const int input : inputs) {
      const int found = place_of_[index(input)];
      if (found == kNoPlace || !can_overwrite(op, input)) continue;
      const Place& place = places_[index(found)];
      // A view of the same memory may read elements in another order.
      const bool is_alone = std::ranges::none_of(
          inputs, [&](int other) { return other != input && place_of_[index(other)] == found; });
      if (is_alone && !place.is_kept && place.end == k && place.size == size &&
          size_of(function_.type(input)) == size)
        return found;
    }
    return kNoPlace;
  }

  MemoryPlan arrange() {
    std::vector<Place*> waiting;
    for (Place& place : places_)
      if (!place.is_kept) waiting.push_back(&place);
    std::ranges::stable_sort(waiting, std::ranges::greater(), &Place::size);
    MemoryPlan out;
    std::vector<Place*> placed;  // by offset
    std::int64_t comparisons = 0;
    for (Place* place : waiting) {
      comparisons += static_cast<std::int64_t>(placed.size());
      if (comparisons > kMaxComparisons) break;
      std::int64_t at = 0;
      for (const Place* other : placed) {
        if (other->end < place->begin || place->end < other->begin) continue;
        if (at + lines(place->size) <= other->offset) break;
        at = std::max(at, other->offset + lines(other->size));
      }
      place->offset = at;
      placed.insert(std::ranges::upper_bound(placed, at, {}, &Place::offset), place);
      out.arena_bytes = std::max(out.arena_bytes, at + lines(place->size));
    }
    waiting.resize(placed.size());
    out.least_bytes = peak_bytes(waiting);
    out.offsets.assign(registers_, MemoryPlan::kNone);
    for (const Place* place : waiting)
      for (const int reg : place->values) {
        out.offsets[index(reg)] = place->offset;
        out.value_bytes += place->size;
      }
    for (const Place* place : waiting)
      for (const int reg : place->views)
        out.offsets[index(reg)] = place->offset + begin_[index(reg)];
    find_movable_outputs(out);
    return out;
  }

  void find_movable_outputs(MemoryPlan& plan) const {
    std::vector<int> outputs_in(places_.size(), 0);
    for (const PreparedOutput& output : function_.outputs)
      if (const int place = place_of_[index(output.reg)]; place != kNoPlace)
        ++outputs_in[index(place)];
    for (std::size_t i = 0; i < function_.outputs.size(); ++i) {
      const int reg = function_.outputs[i].reg;
      if (!plan.has_place(reg)) continue;
      const int at = place_of_[index(reg)];
      const Place& place = places_[index(at)];
      if (outputs_in[index(at)] != 1 || size_of(function_.type(reg)) != place.size) continue;
      plan.movable_outputs.push_back({i, place.values});
      std::vector<int>& all = plan.movable_outputs.back().registers;
      all.insert(all.end(), place.views.begin(), place.views.end());
    }
  }

  static std::int64_t lines(std::int64_t bytes) { return MemoryPlan::place_bytes(bytes); }

  std::int64_t peak_bytes(const std::vector<Place*>& places) const {
    std::vector<std::int64_t> change(function_.block.ops.size() + 2, 0);
    for (const Place* place : places) {
      change[index(place->begin)] += lines(place->size);
      change[index(place->end) + 1] -= lines(place->size);
    }
    std::int64_t most = 0;
    std::int64_t now = 0;
    for (const std::int64_t each : change) most = std::max(most, now += each);
    return most;
  }

  const PreparedFunction& function_;
  const std::size_t registers_;
  std::vector<int> end_;  // of each register: the operation after which it is dead
  std::vector<bool> is_kept_;
  std::vector<int> place_of_;
  std::vector<std::int64_t> begin_;  // of each view: its first byte in the place
  std::vector<Place> places_;
};

// Fills PreparedFunction::unplaced.
class UnplacedRegisters {
 public:
  explicit UnplacedRegisters(PreparedFunction& function) : function_(function) {}

  void run() {
    function_.unplaced.clear();
    for (const PreparedInput& input : function_.inputs) add(input.reg);
    // Where no operation gives the output of a cache, bind_caches() sets it for a caller that does
    // not bind the cache.
    for (const PreparedCache& cache : function_.caches) add(function_.outputs[cache.output].reg);
    walk(function_.block);
  }

 private:
  void add(int reg) {
    if (!function_.memory.has_place(reg)) function_.unplaced.push_back(reg);
  }
  void walk(const PreparedBlock& block) {
    for (const int reg : block.inputs) add(reg);
    for (const PreparedOp& op : block.ops) {
      for (const int reg : op.outputs) add(reg);
      for (const PreparedBlock& inner : op.blocks) walk(inner);
    }
  }

  PreparedFunction& function_;
};

}  // namespace

std::int64_t MemoryPlan::place_bytes(std::int64_t bytes) {
  return (std::max<std::int64_t>(bytes, 1) + kLine - 1) / kLine * kLine + kRedZone;
}

bool can_overwrite(const PreparedOp& op, int reg) {
  if (op.kind == Kind::kFused) {
    const std::vector<int>& inputs = op.operands.front().registers;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == reg && !op.fused->can_overwrite(i)) return false;
    return std::ranges::find(inputs, reg) != inputs.end();
  }
  // What is not replaced is there already.
  return op.kind == Kind::kKernel && op.updated_register() == reg;
}

void plan_memory(PreparedFunction& function) {
  Lifetimes(function).run();
  function.memory = MemoryPlanner(function).run();
  for (PreparedOp& op : function.block.ops)
    op.is_placed_view = op.kind == Kind::kView && function.memory.has_place(op.outputs.front());
  UnplacedRegisters(function).run();
}

}  // namespace anemone::exec
