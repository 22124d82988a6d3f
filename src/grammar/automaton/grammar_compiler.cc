// SPDX-License-Identifier: Apache-2.0
#include "grammar/automaton/grammar_compiler.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <utility>

#include "base/error.h"

namespace anemone::grammar {
namespace {

constexpr std::uint32_t kMaxExpressionDepth = 1000;  // of an expression; compiling it is recursive
constexpr std::uint32_t kMaxStates = 1'000'000;      // about 40 MB
constexpr std::uint32_t kByteSetOfByte = 256;        // byte sets 0 to 255 are the single bytes

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

std::uint32_t GrammarCompiler::add_state() {
  if (states_ >= kMaxStates) {
    is_too_large_ = true;
    return 0;
  }
  out_->kinds_.push_back(Grammar::kPassing);
  return states_++;
}

void GrammarCompiler::add_literal(std::string_view text, std::uint32_t from, std::uint32_t to) {
  for (std::size_t i = 0; i < text.size() && !is_too_large_; ++i) {
    const std::uint32_t next = i + 1 == text.size() ? to : add_state();
    add_edge(from, EdgeKind::kBytes, static_cast<unsigned char>(text[i]), next);
    from = next;
  }
}

void GrammarCompiler::add_literals(const Node& node, std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> path{from};  // the states of the text before, which sorts before this
  std::string_view before;
  for (std::uint32_t i = 0; i < node.count && !is_too_large_; ++i) {
    const std::string_view text = builder_.texts_[node.value + i];
    const auto differ = std::mismatch(before.begin(), before.end(), text.begin(), text.end());
    path.resize(static_cast<std::size_t>(differ.second - text.begin()) + 1);
    for (std::size_t at = path.size() - 1; at < text.size() && !is_too_large_; ++at) {
      const std::uint32_t next = add_state();
      add_edge(path.back(), EdgeKind::kBytes, static_cast<unsigned char>(text[at]), next);
      path.push_back(next);
    }
    add_edge(path.back(), EdgeKind::kEmpty, 0, to);
    before = text;
  }
}

void GrammarCompiler::add_repeat(const Node& node, std::uint32_t from, std::uint32_t to) {
  const std::uint64_t part_size = builder_.nodes_[node.value].size + 1;
  const std::uint64_t times = node.most == kUnbounded ? node.least : node.most;
  if (times <= 1 || times <= kMostUnrolled / part_size) {
    for (std::uint64_t i = 0; i < times && !is_too_large_; ++i) {
      if (i >= node.least) add_edge(from, EdgeKind::kEmpty, 0, to);
      const std::uint32_t next = add_state();
      add_paths(node.value, from, next);
      from = next;
    }
    if (node.most == kUnbounded) {
      const std::uint32_t round = add_state();
      add_edge(from, EdgeKind::kEmpty, 0, round);
      add_paths(node.value, round, round);
      from = round;
    }
    add_edge(from, EdgeKind::kEmpty, 0, to);
    return;
  }
  if (node.least == 0) add_edge(from, EdgeKind::kEmpty, 0, to);
  const auto loop = static_cast<std::uint32_t>(out_->loops_.size());
  const std::uint32_t begin = add_state();
  const std::uint32_t end = add_state();
  if (is_too_large_) return;
  out_->kinds_[end] = Grammar::kRoundEnd;
  out_->loops_.push_back({begin, to, std::max<std::uint64_t>(node.least, 1), node.most});
  add_edge(from, EdgeKind::kRepeat, loop, to);
  add_paths(node.value, begin, end);
}

void GrammarCompiler::add_paths(NodeId id, std::uint32_t from, std::uint32_t to) {
  if (is_too_large_) return;
  const Node& node = builder_.nodes_[id];
  switch (node.kind) {
    case Kind::kEmpty:
      add_edge(from, EdgeKind::kEmpty, 0, to);
      return;
    case Kind::kNever:
      return;
    case Kind::kBytes:
      add_edge(from, EdgeKind::kBytes, kByteSetOfByte + node.value, to);
      return;
    case Kind::kLiteral:
      add_literal(builder_.texts_[node.value], from, to);
      return;
    case Kind::kLiterals:
      add_literals(node, from, to);
      return;
    case Kind::kSequence:
      for (std::uint32_t i = 0; i < node.count; ++i) {
        const std::uint32_t next = i + 1 == node.count ? to : add_state();
        add_paths(builder_.children_[node.value + i], from, next);
        from = next;
      }
      return;
    case Kind::kChoice:
      for (std::uint32_t i = 0; i < node.count; ++i)
        add_paths(builder_.children_[node.value + i], from, to);
      return;
    case Kind::kRepeat:
      add_repeat(node, from, to);
      return;
    case Kind::kCall:
      add_edge(from, EdgeKind::kCall, node.value, to);
      return;
    case Kind::kGrammar:
      add_edge(from, EdgeKind::kCall, grammar_roots_[node.value], to);
      return;
  }
}

void GrammarCompiler::add_grammar(const Grammar& grammar) {
  const std::uint32_t first_state = states_;
  const auto first_rule = static_cast<std::uint32_t>(out_->rule_starts_.size());
  const auto first_loop = static_cast<std::uint32_t>(out_->loops_.size());
  const auto first_set = static_cast<std::uint32_t>(out_->byte_sets_.size());
  const auto count = static_cast<std::uint32_t>(grammar.state_count());
  if (count > kMaxStates - states_) {
    is_too_large_ = true;
    return;
  }
  states_ += count;
  for (const Grammar::Kind kind : grammar.kinds_)
    out_->kinds_.push_back(kind == Grammar::kTakesBytes ? Grammar::kPassing : kind);
  for (const std::uint32_t start : grammar.rule_starts_)
    out_->rule_starts_.push_back(first_state + start);
  out_->rule_names_.insert(out_->rule_names_.end(), grammar.rule_names_.begin(),
                           grammar.rule_names_.end());
  for (Loop loop : grammar.loops_) {
    loop.begin += first_state;
    loop.exit += first_state;
    out_->loops_.push_back(loop);
  }
  out_->byte_sets_.insert(out_->byte_sets_.end(), grammar.byte_sets_.begin() + kByteSetOfByte,
                          grammar.byte_sets_.end());
  for (std::uint32_t state = 0; state < count; ++state)
    for (Edge edge : grammar.edges(state)) {
      edge.target += first_state;
      if (edge.kind == EdgeKind::kBytes && edge.value >= kByteSetOfByte)
        edge.value = edge.value - kByteSetOfByte + first_set;
      if (edge.kind == EdgeKind::kCall) edge.value += first_rule;
      if (edge.kind == EdgeKind::kRepeat) edge.value += first_loop;
      edges_.push_back({first_state + state, edge});
    }
}

Result<std::shared_ptr<const Grammar>> GrammarCompiler::compile(RuleId root) {
  const auto& rules = builder_.rules_;
  for (const auto& rule : rules)
    if (!rule.is_defined)
      return invalid_argument("[grammar] expected a definition of the rule {}, got none",
                              rule.name);
  for (const Node& node : builder_.nodes_)
    if (node.depth > kMaxExpressionDepth)
      return unsupported("[grammar] expected expressions nested at most {} deep, got {}",
                         kMaxExpressionDepth, node.depth);
  out_->id_ = next_id();
  out_->root_ = root;
  for (unsigned byte = 0; byte < kByteSetOfByte; ++byte)
    out_->byte_sets_.push_back(ByteSet::single(static_cast<unsigned char>(byte)));
  out_->byte_sets_.insert(out_->byte_sets_.end(), builder_.byte_sets_.begin(),
                          builder_.byte_sets_.end());
  auto next_rule = static_cast<std::uint32_t>(rules.size());
  for (const auto& grammar : builder_.grammars_) {
    grammar_roots_.push_back(next_rule + grammar->root_);
    next_rule += static_cast<std::uint32_t>(grammar->rule_starts_.size());
  }
  for (rule_ = 0; rule_ < rules.size() && !is_too_large_; ++rule_) {
    const std::uint32_t start = add_state();
    const std::uint32_t end = add_state();
    if (is_too_large_) break;
    out_->rule_names_.push_back(rules[rule_].name);
    out_->rule_starts_.push_back(start);
    out_->kinds_[end] = Grammar::kRuleEnd;
    add_paths(rules[rule_].body, start, end);
  }
  for (std::size_t i = 0; i < builder_.grammars_.size() && !is_too_large_; ++i)
    add_grammar(*builder_.grammars_[i]);
  if (is_too_large_)
    return unsupported("[grammar] expected at most {} states, got more (rule {})", kMaxStates,
                       rules[std::min<std::size_t>(rule_, rules.size() - 1)].name);
  const std::vector<bool> can_end = states_that_end(true);
  if (!can_end[out_->start()])
    return invalid_argument("[grammar] expected a text that ends, got rule {}, which matches none",
                            rules[root].name);
  drop_dead_edges(can_end);
  const std::vector<bool> may_be_empty = states_that_end(false);
  ANEMONE_RETURN_IF_ERROR(check_counted_parts(may_be_empty));
  order_edges();
  ANEMONE_RETURN_IF_ERROR(check_left_recursion(may_be_empty));
  find_byte_classes();
  return std::shared_ptr<const Grammar>(std::move(out_));
}

void GrammarCompiler::order_edges() {
  out_->first_edge_.assign(states_ + 1, 0);
  for (const FullEdge& edge : edges_) ++out_->first_edge_[edge.from + 1];
  for (std::uint32_t i = 0; i < states_; ++i) out_->first_edge_[i + 1] += out_->first_edge_[i];
  std::vector<std::uint32_t> next(out_->first_edge_.begin(), out_->first_edge_.end() - 1);
  out_->edges_.resize(edges_.size());
  for (const FullEdge& edge : edges_) {
    out_->edges_[next[edge.from]++] = edge.edge;
    if (edge.edge.kind == EdgeKind::kBytes) out_->kinds_[edge.from] = Grammar::kTakesBytes;
  }
}

void GrammarCompiler::find_byte_classes() {
  // The sets that edges use, each once.
  std::vector<bool> is_used(out_->byte_sets_.size());
  for (const Edge& edge : out_->edges_)
    if (edge.kind == EdgeKind::kBytes) is_used[edge.value] = true;
  std::vector<ByteSet> sets;
  for (std::size_t i = 0; i < is_used.size(); ++i)
    if (is_used[i]) sets.push_back(out_->byte_sets_[i]);
  std::sort(sets.begin(), sets.end());
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  // Each set splits the classes into those inside it and those outside.
  std::array<std::uint32_t, 256> classes{};
  std::uint32_t count = 1;
  for (const ByteSet& set : sets) {
    std::map<std::pair<std::uint32_t, bool>, std::uint32_t> split;
    for (unsigned byte = 0; byte < classes.size(); ++byte) {
      const auto key = std::pair(classes[byte], set.has(static_cast<unsigned char>(byte)));
      classes[byte] =
          split.try_emplace(key, static_cast<std::uint32_t>(split.size())).first->second;
    }
    count = static_cast<std::uint32_t>(split.size());
    if (count == classes.size()) break;
  }
  out_->byte_classes_ = classes;
  out_->byte_class_count_ = count;
}

std::string_view Grammar::rule_of(std::uint32_t state) const {
  const auto next = std::upper_bound(rule_starts_.begin(), rule_starts_.end(), state);
  return rule_names_[static_cast<std::size_t>(next - rule_starts_.begin()) - 1];
}

}  // namespace anemone::grammar
