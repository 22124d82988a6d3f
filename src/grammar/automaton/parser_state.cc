// SPDX-License-Identifier: Apache-2.0
#include "grammar/automaton/parser_state.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace anemone::grammar {

ParserState Stepper::start() {
  add(grammar_->start(), Stack::bottom());
  return finish();
}

ParserState Stepper::close(std::span<const Config> configs) {
  open_.assign(configs.begin(), configs.end());
  return finish();
}

ParserState Stepper::step(const ParserState& from, unsigned char byte) {
  for (const Config& config : from.configs)
    for (const Edge& edge : grammar_->edges(config.state))
      if (edge.kind == EdgeKind::kBytes && grammar_->byte_set(edge.value).has(byte))
        add(edge.target, config.stack);
  return finish();
}

void Stepper::end_rule(const Stack& stack) {
  out_.is_complete |= stack.has_bottom();
  out_.meets_unknown |= stack.has_unknown();
  for (const Frame& frame : stack.frames()) {
    ANEMONE_DCHECK(!frame.is_loop);
    ++work_;
    add(frame.place, frame.below);
  }
}

void Stepper::end_round(const Stack& stack) {
  for (const Frame& frame : stack.frames()) {
    ANEMONE_DCHECK(frame.is_loop);
    ++work_;
    const Loop& loop = grammar_->loop(frame.place);
    const std::uint64_t rounds = frame.rounds + 1;
    if (rounds >= loop.least) add(loop.exit, frame.below);
    if (rounds == loop.most) continue;
    // Without an upper bound, rounds beyond the least number make no difference.
    const std::uint64_t counted = loop.most == kUnbounded ? std::min(rounds, loop.least) : rounds;
    add(loop.begin, Stack::push({frame.place, true, counted, frame.below}));
  }
}

void Stepper::follow(const Config& config) {
  if (grammar_->is_rule_end(config.state)) return end_rule(*config.stack);
  if (grammar_->is_round_end(config.state)) return end_round(*config.stack);
  for (const Edge& edge : grammar_->edges(config.state)) {
    ++work_;
    switch (edge.kind) {
      case EdgeKind::kBytes:
        break;
      case EdgeKind::kEmpty:
        add(edge.target, config.stack);
        break;
      case EdgeKind::kCall:
        // A rule that ends with a call returns where the call does: right recursion needs no stack.
        if (grammar_->is_rule_end(edge.target))
          add(grammar_->rule_start(edge.value), config.stack);
        else if (config.stack->depth() < kMaxStackDepth)
          add(grammar_->rule_start(edge.value), Stack::push({edge.target, false, 0, config.stack}));
        break;
      case EdgeKind::kRepeat:
        if (config.stack->depth() < kMaxStackDepth)
          add(grammar_->loop(edge.value).begin, Stack::push({edge.value, true, 0, config.stack}));
        break;
    }
  }
}

ParserState Stepper::finish() {
  work_ = 0;
  while (!open_.empty() && work_ <= kMaxStepWork) {
    ++work_;
    Config config = std::move(open_.back());
    open_.pop_back();
    const auto [known, is_new] = reached_.try_emplace(config.state, config.stack);
    if (!is_new) {
      StackPtr both = Stack::merge(known->second, config.stack, work_);
      if (both->hash() == known->second->hash()) continue;
      known->second = std::move(both);
    }
    // Only the stacks that came now: those of before were followed already.
    follow(config);
  }
  if (!open_.empty()) {
    open_.clear();
    reached_.clear();
    out_ = {};
    out_.is_too_ambiguous = true;
  }
  for (auto& [state, stack] : reached_)
    if (grammar_->has_byte_edge(state)) out_.configs.push_back({state, std::move(stack)});
  reached_.clear();
  std::sort(out_.configs.begin(), out_.configs.end(),
            [](const Config& a, const Config& b) { return a.state < b.state; });
  for (const Config& config : out_.configs) {
    out_.hash.mix(config.state);
    out_.hash.mix(config.stack->hash());
  }
  out_.hash.mix(static_cast<std::uint64_t>(out_.is_complete) * 4 +
                static_cast<std::uint64_t>(out_.meets_unknown) * 2 +
                static_cast<std::uint64_t>(out_.is_too_ambiguous));
  total_work_ += work_;
  return std::exchange(out_, {});
}

}  // namespace anemone::grammar
