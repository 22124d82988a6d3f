// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "grammar/automaton/grammar.h"
#include "grammar/automaton/grammar_builder.h"

namespace anemone::grammar {

// A repetition becomes copies of its part as long as they take no more states than this; counting
// at run time costs more for each byte.
inline constexpr std::uint64_t kMostUnrolled = 48;

// Turns the expressions of a builder into the automaton of a Grammar. Used once.
class GrammarCompiler {
 public:
  explicit GrammarCompiler(const GrammarBuilder& builder) : builder_(builder) {}
  Result<std::shared_ptr<const Grammar>> compile(RuleId root);

 private:
  struct FullEdge {
    std::uint32_t from;
    Edge edge;
  };
  using Node = GrammarBuilder::Node;
  using Kind = GrammarBuilder::Kind;

  std::uint32_t add_state();
  void add_edge(std::uint32_t from, EdgeKind kind, std::uint32_t value, std::uint32_t target) {
    edges_.push_back({from, {kind, value, target}});
  }
  void add_literal(std::string_view text, std::uint32_t from, std::uint32_t to);
  void add_literals(const Node& node, std::uint32_t from, std::uint32_t to);
  void add_repeat(const Node& node, std::uint32_t from, std::uint32_t to);
  // Adds the paths of an expression between two states.
  void add_paths(NodeId id, std::uint32_t from, std::uint32_t to);
  // Adds the rules of a grammar that is used after those that were added before.
  void add_grammar(const Grammar& grammar);
  // The states from which the end of their rule or round can be reached, with or without bytes.
  std::vector<bool> states_that_end(bool with_bytes) const;
  Status check_counted_parts(const std::vector<bool>& may_be_empty) const;
  Status check_left_recursion(const std::vector<bool>& may_be_empty) const;
  // The rules that a rule calls before it takes a byte.
  std::vector<std::uint32_t> left_calls(std::uint32_t rule,
                                        const std::vector<bool>& may_be_empty) const;
  void drop_dead_edges(const std::vector<bool>& can_end);
  void order_edges();
  void find_byte_classes();

  const GrammarBuilder& builder_;
  std::shared_ptr<Grammar> out_ = std::make_shared<Grammar>();
  std::vector<FullEdge> edges_;
  std::uint32_t states_ = 0;
  std::uint32_t rule_ = 0;                    // the one being compiled
  std::vector<std::uint32_t> grammar_roots_;  // the first rules of the grammars that are used
  bool is_too_large_ = false;
};

}  // namespace anemone::grammar
