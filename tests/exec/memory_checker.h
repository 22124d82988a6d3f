// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include "exec/cpu/fusion/fused_op.h"
#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Walks a plan as a run does and checks every two values that are there at a time: they overlap
// only if one is a view of the other, or if the operation that makes one may overwrite the other,
// which nobody needs afterwards.
class MemoryChecker {
 public:
  explicit MemoryChecker(const PreparedFunction& function) : function_(function) {}

  void run() {
    for (const PreparedOp& op : function_.block.ops) {
      SCOPED_TRACE(op.op->name);
      const bool is_made_here =
          op.kind == PreparedOp::Kind::kKernel || op.kind == PreparedOp::Kind::kFused;
      if (op.kind == PreparedOp::Kind::kView) {
        add_views(op);
      } else if (is_made_here) {
        for (const int reg : op.outputs)
          if (const std::int64_t at = offset(reg); at != MemoryPlan::kNone)
            add(op, {reg, reg, at, at + size(reg)});
      } else {
        expect_outside(op);
      }
      for (const int dead : op.dead_after)
        std::erase_if(alive_, [&](const Value& value) { return value.reg == dead; });
    }
  }
  std::size_t values() const { return values_; }
  std::size_t overwritten() const { return overwritten_; }

 private:
  struct Value {
    int reg = 0;
    int root = 0;  // the register that it is a view of, or itself
    std::int64_t begin = 0, end = 0;
  };

  std::int64_t offset(int reg) const {
    return function_.memory.offsets[static_cast<std::size_t>(reg)];
  }
  std::int64_t size(int reg) const {
    return static_cast<std::int64_t>(
        TensorView{function_.type(reg).dtype, function_.type(reg).shape, nullptr}.size_bytes());
  }
  const Value* find(int reg) const {
    const auto it = std::ranges::find(alive_, reg, &Value::reg);
    return it == alive_.end() ? nullptr : &*it;
  }

  void add_views(const PreparedOp& op) {
    const Value* found = find(op.reg("x"));
    if (found == nullptr) return;
    const Value whole = *found;
    std::int64_t at = whole.begin;
    for (const int reg : op.outputs) {
      EXPECT_EQ(offset(reg), at);
      add(op, {reg, whole.root, at, at + size(reg)});
      at += size(reg);
    }
    EXPECT_LE(at, whole.end);
  }

  void add(const PreparedOp& op, const Value& value) {
    EXPECT_GE(value.begin, 0);
    EXPECT_LE(value.end, function_.memory.arena_bytes);
    if (value.reg == value.root) {
      EXPECT_EQ(value.begin % 64, 0);
      ++values_;
    }
    for (const Value& other : alive_) {
      if (other.end <= value.begin || value.end <= other.begin || other.root == value.root)
        continue;
      EXPECT_TRUE(may_overwrite(op, other)) << value.reg << " lies over " << other.reg;
      ++overwritten_;
    }
    alive_.push_back(value);
  }

  static bool may_overwrite(const PreparedOp& op, const Value& other) {
    return std::ranges::find(op.dead_after, other.reg) != op.dead_after.end() &&
           can_overwrite(op, other.reg);
  }

  // Lists, states and blocks may keep what they are given.
  void expect_outside(const PreparedOp& op) const {
    for (const Operand& operand : op.operands)
      for (const int reg : operand.registers) EXPECT_EQ(find(reg), nullptr) << reg;
    for (const PreparedBlock& block : op.blocks) {
      for (const PreparedOp& inner : block.ops) expect_outside(inner);
      for (const int reg : block.outputs) EXPECT_EQ(find(reg), nullptr) << reg;
    }
  }

  const PreparedFunction& function_;
  std::vector<Value> alive_;
  std::size_t values_ = 0;
  std::size_t overwritten_ = 0;
};

}  // namespace anemone::exec
