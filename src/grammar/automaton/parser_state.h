// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/automaton/grammar.h"
#include "grammar/automaton/stack.h"

namespace anemone::grammar {

// Frames of a stack, which is about how deep a text may nest; no edge goes deeper. The bound keeps
// what walks a stack recursively within the stack of a thread.
inline constexpr std::size_t kMaxStackDepth = 1000;
// Work for one byte (states and frames visited), beyond which the grammar counts as too ambiguous.
inline constexpr std::size_t kMaxStepWork = 200'000;

struct Config {
  std::uint32_t state = 0;  // one that takes bytes
  StackPtr stack;
};

// All that the automaton may be doing at one place of a text. A value; immutable once made.
struct ParserState {
  std::vector<Config> configs;  // by state, each state once
  bool is_complete = false;     // the text may end here
  bool meets_unknown = false;   // an unknown stack (Stack::unknown) was popped
  bool is_too_ambiguous = false;
  Hash128 hash;

  bool is_dead() const { return configs.empty() && !is_complete && !meets_unknown; }
};

// Computes the states of a grammar. Single-thread.
class Stepper {
 public:
  explicit Stepper(const Grammar& grammar) : grammar_(&grammar) {}

  // The state before the first byte.
  ParserState start();
  // The state of these configurations; any states, whether they take bytes or not.
  ParserState close(std::span<const Config> configs);
  ParserState step(const ParserState& from, unsigned char byte);
  // Visits of all calls together.
  std::size_t work() const { return total_work_; }

 private:
  void add(std::uint32_t state, StackPtr stack) { open_.push_back({state, std::move(stack)}); }
  void follow(const Config& config);
  void end_rule(const Stack& stack);
  void end_round(const Stack& stack);
  ParserState finish();

  const Grammar* grammar_;
  std::vector<Config> open_;
  std::unordered_map<std::uint32_t, StackPtr> reached_;
  ParserState out_;
  std::size_t work_ = 0;
  std::size_t total_work_ = 0;
};

}  // namespace anemone::grammar
