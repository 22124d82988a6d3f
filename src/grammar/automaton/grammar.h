// SPDX-License-Identifier: Apache-2.0
// A grammar in the form in which it is matched: a pushdown automaton over bytes.
//
// Each rule is a nondeterministic automaton. Its edges take a byte of a class, take nothing, call
// another rule, or begin a counted repetition. A call puts the state to return to on a stack; a
// counted repetition puts its number of rounds there, so that a count of 10^9 costs
// no states. Every state that is left after GrammarBuilder::build() can reach the end of its rule,
// so a text that was accepted can always be completed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton/byte_set.h"

namespace anemone::grammar {

inline constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();
// The largest count that the front ends take.
inline constexpr std::uint64_t kMostRounds = std::uint64_t{1} << 40;

enum class EdgeKind : std::uint8_t { kBytes, kEmpty, kCall, kRepeat };

struct Edge {
  EdgeKind kind = EdgeKind::kEmpty;
  std::uint32_t value = 0;   // kBytes: a byte set; kCall: a rule; kRepeat: a loop
  std::uint32_t target = 0;  // the next state; of a call: the one after it; of a loop: its exit
};

// A repetition that is counted at run time. `most` may be kUnbounded.
struct Loop {
  std::uint32_t begin = 0;  // state in which a round begins
  std::uint32_t exit = 0;
  std::uint64_t least = 1;  // rounds; at least 1
  std::uint64_t most = 1;
};

// Immutable and thread-safe; shared by the sequences that it constrains.
class Grammar {
 public:
  // Unique in the process: the key under which what is derived from the grammar may be cached.
  std::uint64_t id() const { return id_; }
  std::size_t state_count() const { return first_edge_.size() - 1; }
  // The name of the rule that a state belongs to, for messages.
  std::string_view rule_of(std::uint32_t state) const;

  std::uint32_t start() const { return rule_starts_[root_]; }
  std::uint32_t rule_start(std::uint32_t rule) const { return rule_starts_[rule]; }
  std::span<const Edge> edges(std::uint32_t state) const {
    return std::span(edges_).subspan(first_edge_[state],
                                     first_edge_[state + 1] - first_edge_[state]);
  }
  const ByteSet& byte_set(std::uint32_t index) const { return byte_sets_[index]; }
  const Loop& loop(std::uint32_t index) const { return loops_[index]; }
  bool has_byte_edge(std::uint32_t state) const { return kinds_[state] == kTakesBytes; }
  // The state is the end of a rule: what follows is the state on the stack.
  bool is_rule_end(std::uint32_t state) const { return kinds_[state] == kRuleEnd; }
  // The state is the end of a round of the loop on the stack.
  bool is_round_end(std::uint32_t state) const { return kinds_[state] == kRoundEnd; }

  // Bytes that no edge tells apart have one class.
  std::uint32_t byte_class(unsigned char byte) const { return byte_classes_[byte]; }
  std::size_t byte_class_count() const { return byte_class_count_; }

 private:
  friend class GrammarCompiler;
  enum Kind : std::uint8_t { kPassing, kTakesBytes, kRuleEnd, kRoundEnd };

  std::uint64_t id_ = 0;
  std::uint32_t root_ = 0;
  std::vector<std::string> rule_names_;
  std::vector<std::uint32_t> rule_starts_;  // the states of a rule follow its start
  std::vector<std::uint32_t> first_edge_;   // by state, and one past the last
  std::vector<Edge> edges_;
  std::vector<Kind> kinds_;
  std::vector<ByteSet> byte_sets_;
  std::vector<Loop> loops_;
  std::array<std::uint32_t, 256> byte_classes_{};
  std::size_t byte_class_count_ = 0;
};

}  // namespace anemone::grammar
