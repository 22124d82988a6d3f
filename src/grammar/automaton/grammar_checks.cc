// SPDX-License-Identifier: Apache-2.0
// What a grammar must satisfy so that matching it ends: rules that can finish, no left recursion,
// no counted repetition of nothing.
#include <algorithm>
#include <string>

#include "base/error.h"
#include "grammar/automaton/grammar_compiler.h"

namespace anemone::grammar {

std::vector<bool> GrammarCompiler::states_that_end(bool with_bytes) const {
  // Backwards from the ends. An edge that calls a rule or repeats a part leads to an end if both
  // its target and the first state of what it calls do.
  const auto other_end = [&](const Edge& edge) {
    if (edge.kind == EdgeKind::kCall) return out_->rule_starts_[edge.value];
    if (edge.kind == EdgeKind::kRepeat) return out_->loops_[edge.value].begin;
    return edge.target;
  };
  std::vector<std::uint32_t> first(states_ + 1, 0);
  const auto for_each_end = [&](auto&& use) {
    for (std::uint32_t i = 0; i < edges_.size(); ++i) {
      const Edge& edge = edges_[i].edge;
      if (edge.kind == EdgeKind::kBytes && !with_bytes) continue;
      use(edge.target, i);
      if (other_end(edge) != edge.target) use(other_end(edge), i);
    }
  };
  for_each_end([&](std::uint32_t state, std::uint32_t) { ++first[state + 1]; });
  for (std::uint32_t i = 0; i < states_; ++i) first[i + 1] += first[i];
  std::vector<std::uint32_t> incoming(first.back());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for_each_end([&](std::uint32_t state, std::uint32_t edge) { incoming[next[state]++] = edge; });

  std::vector<bool> ends(states_);
  std::vector<std::uint32_t> work;
  for (std::uint32_t state = 0; state < states_; ++state) {
    if (out_->kinds_[state] != Grammar::kRuleEnd && out_->kinds_[state] != Grammar::kRoundEnd)
      continue;
    ends[state] = true;
    work.push_back(state);
  }
  while (!work.empty()) {
    const std::uint32_t state = work.back();
    work.pop_back();
    for (std::uint32_t i = first[state]; i < first[state + 1]; ++i) {
      const FullEdge& edge = edges_[incoming[i]];
      if (ends[edge.from] || !ends[edge.edge.target] || !ends[other_end(edge.edge)]) continue;
      ends[edge.from] = true;
      work.push_back(edge.from);
    }
  }
  return ends;
}

void GrammarCompiler::drop_dead_edges(const std::vector<bool>& can_end) {
  std::erase_if(edges_, [&](const FullEdge& full) {
    const Edge& edge = full.edge;
    if (!can_end[edge.target]) return true;
    if (edge.kind == EdgeKind::kCall) return !can_end[out_->rule_starts_[edge.value]];
    return edge.kind == EdgeKind::kRepeat && !can_end[out_->loops_[edge.value].begin];
  });
}

Status GrammarCompiler::check_counted_parts(const std::vector<bool>& may_be_empty) const {
  // A round that takes nothing could be counted again and again at one place of the text.
  for (std::size_t i = 0; i < out_->loops_.size(); ++i)
    if (may_be_empty[out_->loops_[i].begin])
      return unsupported(
          "[grammar] expected a part that takes text in a repetition of {} to {} times, got one "
          "that may be empty (rule {})",
          out_->loops_[i].least, out_->loops_[i].most, out_->rule_of(out_->loops_[i].begin));
  return {};
}

std::vector<std::uint32_t> GrammarCompiler::left_calls(
    std::uint32_t rule, const std::vector<bool>& may_be_empty) const {
  const std::uint32_t base = out_->rule_starts_[rule];
  std::vector<std::uint32_t> calls;
  std::vector<std::uint32_t> work{base};
  std::vector<bool> is_seen;  // by distance from the start of the rule
  while (!work.empty()) {
    const std::uint32_t state = work.back();
    work.pop_back();
    if (is_seen.size() <= state - base) is_seen.resize(state - base + 1);
    if (is_seen[state - base]) continue;
    is_seen[state - base] = true;
    for (const Edge& edge : out_->edges(state)) {
      if (edge.kind == EdgeKind::kEmpty) work.push_back(edge.target);
      if (edge.kind == EdgeKind::kRepeat) work.push_back(out_->loops_[edge.value].begin);
      if (edge.kind != EdgeKind::kCall) continue;
      calls.push_back(edge.value);
      if (may_be_empty[out_->rule_starts_[edge.value]]) work.push_back(edge.target);
    }
  }
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  return calls;
}

Status GrammarCompiler::check_left_recursion(const std::vector<bool>& may_be_empty) const {
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  struct Visit {
    std::uint32_t rule;
    std::vector<std::uint32_t> calls;
    std::size_t next = 0;
  };
  std::vector<Mark> marks(out_->rule_starts_.size(), Mark::kNew);
  for (std::uint32_t first = 0; first < marks.size(); ++first) {
    if (marks[first] != Mark::kNew) continue;
    std::vector<Visit> path;
    const auto enter = [&](std::uint32_t rule) {
      marks[rule] = Mark::kOpen;
      path.push_back({rule, left_calls(rule, may_be_empty)});
    };
    enter(first);
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.next == visit.calls.size()) {
        marks[visit.rule] = Mark::kDone;
        path.pop_back();
        continue;
      }
      const std::uint32_t called = visit.calls[visit.next++];
      if (marks[called] == Mark::kNew) {
        enter(called);
      } else if (marks[called] == Mark::kOpen) {
        return invalid_argument(
            "[grammar] expected rules that take text before they call themselves, got left "
            "recursion of rule {}{}",
            out_->rule_names_[called],
            visit.rule == called ? "" : " through " + out_->rule_names_[visit.rule]);
      }
    }
  }
  return {};
}

}  // namespace anemone::grammar
