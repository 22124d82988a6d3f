// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton/byte_set.h"
#include "grammar/automaton/grammar.h"

namespace anemone::grammar {

using NodeId = std::uint32_t;
using RuleId = std::uint32_t;

// Bound of what a front end may put into a builder (byte_size()) for one request.
inline constexpr std::size_t kMaxBuilderBytes = std::size_t{64} << 20;

// Puts a grammar together from expressions over bytes, as the front ends (JSON schema, GBNF,
// regular expressions) do. An expression may be used in several places; each use costs states, a
// call of a rule does not. Single-thread.
class GrammarBuilder {
 public:
  NodeId empty() { return 0; }  // the empty text
  NodeId never();               // no text at all
  NodeId bytes(const ByteSet& set);
  NodeId literal(std::string_view text);
  // One of the texts, as a prefix tree: the cost of a step does not grow with their number.
  NodeId literals(std::vector<std::string> texts);
  NodeId sequence(const std::vector<NodeId>& parts);
  NodeId choice(const std::vector<NodeId>& alternatives);  // of none: never()
  // `least` to `most` times, `most` >= `least`; kUnbounded: without end.
  NodeId repeat(NodeId part, std::uint64_t least, std::uint64_t most);
  NodeId optional(NodeId part) { return repeat(part, 0, 1); }

  // A rule that is called before it is defined: rules may be recursive.
  RuleId add_rule(std::string name);
  void define(RuleId rule, NodeId body);
  NodeId call(RuleId rule);
  // The texts of another grammar, which becomes part of this one. Each use costs its states.
  NodeId texts_of(std::shared_ptr<const Grammar> grammar);

  // About what it holds, for front ends that bound what a request may cost.
  std::size_t byte_size() const { return byte_size_; }

  // The automaton. kInvalidArgument for a rule that calls itself before it takes a byte (left
  // recursion), that was not defined, and for a grammar that matches no text; kUnsupported for what
  // is beyond the limits: nesting, states, or a large count of a part that may be empty.
  Result<std::shared_ptr<const Grammar>> build(RuleId root) const;

 private:
  friend class GrammarCompiler;
  enum class Kind : std::uint8_t {
    kEmpty,
    kNever,
    kBytes,
    kLiteral,
    kLiterals,
    kSequence,
    kChoice,
    kRepeat,
    kCall,
    kGrammar
  };
  struct Node {
    Kind kind = Kind::kEmpty;
    // A byte set, a rule, a grammar, or the first of several texts or children.
    std::uint32_t value = 0;
    std::uint32_t count = 0;  // texts or children
    std::uint32_t depth = 0;  // nesting of the expression
    std::uint64_t size = 0;   // states that it takes about
    std::uint64_t least = 0;
    std::uint64_t most = 0;
  };
  struct Rule {
    std::string name;
    NodeId body = 0;
    bool is_defined = false;
  };
  NodeId add(Node node);
  NodeId add_list(Kind kind, const std::vector<NodeId>& parts);

  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<NodeId> children_;
  std::vector<ByteSet> byte_sets_;
  std::vector<std::string> texts_;
  std::vector<Rule> rules_;
  std::vector<std::shared_ptr<const Grammar>> grammars_;
  std::size_t byte_size_ = 0;
};

}  // namespace anemone::grammar
