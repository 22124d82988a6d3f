// SPDX-License-Identifier: Apache-2.0
#include "grammar/automaton/stack.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace anemone::grammar {
namespace {

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t scramble(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31);
}

auto key_of(const Frame& frame) {
  return std::tuple(frame.is_loop, frame.place, frame.rounds);
}

}  // namespace

void Hash128::mix(std::uint64_t value) {
  low = scramble(low + value + 0x9E3779B97F4A7C15U);
  high = scramble(high ^ (value + low));
}

StackPtr Stack::make(bool has_bottom, bool has_unknown, std::vector<Frame> frames) {
  const auto stack = std::make_shared<Stack>();
  stack->has_bottom_ = has_bottom;
  stack->has_unknown_ = has_unknown;
  stack->hash_.mix(static_cast<std::uint64_t>(has_bottom) * 2 +
                   static_cast<std::uint64_t>(has_unknown));
  for (const Frame& frame : frames) {
    stack->hash_.mix(std::uint64_t{frame.place} * 2 + static_cast<std::uint64_t>(frame.is_loop));
    stack->hash_.mix(frame.rounds);
    stack->hash_.mix(frame.below->hash_);
    stack->depth_ = std::max(stack->depth_, frame.below->depth_ + 1);
  }
  stack->frames_ = std::move(frames);
  return stack;
}

StackPtr Stack::bottom() {
  static const StackPtr stack = make(true, false, {});
  return stack;
}

StackPtr Stack::unknown() {
  static const StackPtr stack = make(false, true, {});
  return stack;
}

StackPtr Stack::push(Frame frame) {
  std::vector<Frame> frames;
  frames.push_back(std::move(frame));
  return make(false, false, std::move(frames));
}

StackPtr Stack::merge(const StackPtr& a, const StackPtr& b, std::size_t& work) {
  ++work;
  if (a == b || a->hash_ == b->hash_) return a;
  std::vector<Frame> frames;
  frames.reserve(a->frames_.size() + b->frames_.size());
  auto left = a->frames_.begin();
  auto right = b->frames_.begin();
  while (left != a->frames_.end() || right != b->frames_.end()) {
    ++work;
    if (right == b->frames_.end() || (left != a->frames_.end() && key_of(*left) < key_of(*right))) {
      frames.push_back(*left++);
    } else if (left == a->frames_.end() || key_of(*right) < key_of(*left)) {
      frames.push_back(*right++);
    } else {
      // As deep as the stack, which is limited (kMaxStackDepth).
      Frame both = *left++;
      both.below = merge(both.below, (right++)->below, work);
      frames.push_back(std::move(both));
    }
  }
  return make(a->has_bottom_ || b->has_bottom_, a->has_unknown_ || b->has_unknown_,
              std::move(frames));
}

}  // namespace anemone::grammar
