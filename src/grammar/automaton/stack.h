// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace anemone::grammar {

// 128 bits that stand for what was hashed: equal hashes are taken for equal values.
struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Hash128&) const = default;

  void mix(std::uint64_t value);
  void mix(const Hash128& other) {
    mix(other.low);
    mix(other.high);
  }
};

struct Hash128Hasher {
  std::size_t operator()(const Hash128& hash) const { return static_cast<std::size_t>(hash.low); }
};

class Stack;
using StackPtr = std::shared_ptr<const Stack>;

// What the end of a rule or of a round returns to.
struct Frame {
  std::uint32_t place = 0;  // a state; with is_loop: a loop
  bool is_loop = false;
  std::uint64_t rounds = 0;  // complete ones of the loop
  StackPtr below;
};

// All the stacks with which the automaton may be in one state, with what they share in common (a
// graph-structured stack; Tomita 1986). Immutable; threads may share it.
class Stack {
 public:
  // The bottom: the end of the first rule ends the text.
  static StackPtr bottom();
  // A place below which nothing is known: matching notes when it gets there (TokenMasks).
  static StackPtr unknown();
  static StackPtr push(Frame frame);
  // The stacks of both. `work` grows with what it takes.
  static StackPtr merge(const StackPtr& a, const StackPtr& b, std::size_t& work);

  bool has_bottom() const { return has_bottom_; }
  bool has_unknown() const { return has_unknown_; }
  const std::vector<Frame>& frames() const { return frames_; }
  const Hash128& hash() const { return hash_; }
  std::size_t depth() const { return depth_; }  // frames of the deepest one

 private:
  static StackPtr make(bool has_bottom, bool has_unknown, std::vector<Frame> frames);

  bool has_bottom_ = false;
  bool has_unknown_ = false;
  std::vector<Frame> frames_;  // by place and rounds, each pair once
  Hash128 hash_;
  std::size_t depth_ = 0;
};

}  // namespace anemone::grammar
