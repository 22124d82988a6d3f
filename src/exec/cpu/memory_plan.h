// SPDX-License-Identifier: Apache-2.0
// Where the values of a function lie while it runs: places in one arena, planned from their
// lifetimes. To find the smallest arena is a hard problem; here the largest value is placed first,
// each as low as those placed before allow. The arena is at least as large as the values that live
// at any one time together, and at most as all of them; the tests hold it to a quarter above the
// least for the models that there are.
#pragma once

#include <cstdint>
#include <vector>

namespace anemone::exec {

struct PreparedFunction;
struct PreparedOp;

struct MemoryPlan {
  static constexpr std::int64_t kNone = -1;
  // Bytes of the arena that a value of so many has to itself: whole lines of the cache.
  static std::int64_t place_bytes(std::int64_t bytes);
  // Offset of each register's first byte in the arena: a multiple of 64, but for views. kNone:
  // constants, inputs, states, views of these, and values with memory of their own from the
  // BufferPool. Those are the values whose size depends on data, those inside the blocks of loops
  // and conditions, and those that such a block, a list or a state may keep beyond the operations
  // that use them here.
  std::vector<std::int64_t> offsets;
  bool has_place(int reg) const { return offsets[static_cast<std::size_t>(reg)] != kNone; }
  // An output that may be written to memory of the caller's in place of the arena: nothing but
  // values of its size and views of them lie where it lies.
  struct MovableOutput {
    std::size_t output = 0;      // index into PreparedFunction::outputs
    std::vector<int> registers;  // all that lie there
  };
  std::vector<MovableOutput> movable_outputs;
  std::int64_t arena_bytes = 0;
  std::int64_t value_bytes = 0;  // of all values in the arena
  std::int64_t least_bytes = 0;  // the most that live together: no arena can be smaller
};

// Finds the lifetimes of the values of a function whose types are known (PreparedOp::dead_after,
// PreparedBlock::owned_outputs), and from them PreparedFunction::memory and what follows from it
// (PreparedOp::is_placed_view, PreparedFunction::unplaced). A value takes the place of
// one that dies with the operation that makes it, where can_overwrite() allows that; a view lies
// where the value lies of which it is a part. The time grows with the square of the number of
// values: milliseconds for a thousand.
void plan_memory(PreparedFunction& function);

// Whether the output of the operation may take the memory of this operand.
bool can_overwrite(const PreparedOp& op, int reg);

}  // namespace anemone::exec
