// SPDX-License-Identifier: Apache-2.0
#include "grammar/automaton/grammar_builder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "grammar/automaton/grammar_compiler.h"

namespace anemone::grammar {
namespace {

constexpr std::uint64_t kMostSize = std::uint64_t{1} << 40;  // sizes saturate here

}  // namespace

NodeId GrammarBuilder::add(Node node) {
  node.size = std::min(node.size, kMostSize);
  nodes_.push_back(node);
  byte_size_ += sizeof(Node);
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId GrammarBuilder::never() {
  return add({.kind = Kind::kNever});
}

NodeId GrammarBuilder::bytes(const ByteSet& set) {
  if (set.empty()) return never();
  byte_sets_.push_back(set);
  byte_size_ += sizeof(ByteSet);
  return add({.kind = Kind::kBytes,
              .value = static_cast<std::uint32_t>(byte_sets_.size() - 1),
              .size = 1});
}

NodeId GrammarBuilder::literal(std::string_view text) {
  if (text.empty()) return empty();
  texts_.emplace_back(text);
  byte_size_ += sizeof(std::string) + text.size();
  return add({.kind = Kind::kLiteral,
              .value = static_cast<std::uint32_t>(texts_.size() - 1),
              .count = 1,
              .size = text.size()});
}

NodeId GrammarBuilder::literals(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  if (texts.empty()) return never();
  Node node{.kind = Kind::kLiterals,
            .value = static_cast<std::uint32_t>(texts_.size()),
            .count = static_cast<std::uint32_t>(texts.size())};
  for (std::string& text : texts) {
    node.size += text.size();
    byte_size_ += sizeof(std::string) + text.size();
    texts_.push_back(std::move(text));
  }
  return add(node);
}

NodeId GrammarBuilder::add_list(Kind kind, const std::vector<NodeId>& parts) {
  Node node{.kind = kind,
            .value = static_cast<std::uint32_t>(children_.size()),
            .count = static_cast<std::uint32_t>(parts.size())};
  for (const NodeId part : parts) {
    node.depth = std::max(node.depth, nodes_[part].depth + 1);
    node.size = std::min(node.size + nodes_[part].size + 1, kMostSize);
  }
  children_.insert(children_.end(), parts.begin(), parts.end());
  byte_size_ += parts.size() * sizeof(NodeId);
  return add(node);
}

NodeId GrammarBuilder::sequence(const std::vector<NodeId>& parts) {
  if (parts.empty()) return empty();
  return parts.size() == 1 ? parts[0] : add_list(Kind::kSequence, parts);
}

NodeId GrammarBuilder::choice(const std::vector<NodeId>& alternatives) {
  if (alternatives.empty()) return never();
  return alternatives.size() == 1 ? alternatives[0] : add_list(Kind::kChoice, alternatives);
}

NodeId GrammarBuilder::repeat(NodeId part, std::uint64_t least, std::uint64_t most) {
  ANEMONE_CHECK(least <= most);
  if (most == 0 || nodes_[part].kind == Kind::kEmpty) return empty();
  if (least == 1 && most == 1) return part;
  const std::uint64_t times = most == kUnbounded ? least + 1 : most;
  const std::uint64_t part_size = nodes_[part].size + 1;
  Node node{.kind = Kind::kRepeat,
            .value = part,
            .depth = nodes_[part].depth + 1,
            .least = least,
            .most = most};
  // A large count is counted at run time (GrammarCompiler), which takes the states of one round.
  node.size = times <= kMostUnrolled / part_size ? part_size * times : part_size;
  return add(node);
}

RuleId GrammarBuilder::add_rule(std::string name) {
  byte_size_ += sizeof(Rule) + name.size();
  rules_.push_back({std::move(name)});
  return static_cast<RuleId>(rules_.size() - 1);
}

void GrammarBuilder::define(RuleId rule, NodeId body) {
  rules_[rule].body = body;
  rules_[rule].is_defined = true;
}

NodeId GrammarBuilder::call(RuleId rule) {
  return add({.kind = Kind::kCall, .value = rule, .size = 1});
}

NodeId GrammarBuilder::texts_of(std::shared_ptr<const Grammar> grammar) {
  byte_size_ += sizeof(grammar);
  grammars_.push_back(std::move(grammar));
  return add({.kind = Kind::kGrammar,
              .value = static_cast<std::uint32_t>(grammars_.size() - 1),
              .size = 1});
}

Result<std::shared_ptr<const Grammar>> GrammarBuilder::build(RuleId root) const {
  return GrammarCompiler(*this).compile(root);
}

}  // namespace anemone::grammar
