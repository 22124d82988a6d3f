// SPDX-License-Identifier: Apache-2.0
#include "grammar/tokens/lazy_automaton.h"

#include <algorithm>
#include <utility>

namespace anemone::grammar {
namespace {

// What a configuration takes: itself, and about a frame of a stack of its own.
constexpr std::size_t kConfigBytes = sizeof(Config) + sizeof(Stack) + sizeof(Frame) + 64;
constexpr std::size_t kStateBytes = sizeof(ParserState) + 64;

}  // namespace

LazyAutomaton::LazyAutomaton(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)), stepper_(*grammar_), classes_(grammar_->byte_class_count()) {
  clear();
}

void LazyAutomaton::clear() {
  ids_.clear();
  states_.assign(1, {});
  meets_unknown_.assign(1, false);
  depths_.assign(1, 0);
  next_.assign(classes_, kDead);
  byte_size_ = 0;
  is_too_ambiguous_ = false;
}

LazyAutomaton::StateId LazyAutomaton::intern(ParserState state) {
  is_too_ambiguous_ |= state.is_too_ambiguous;
  if (state.is_dead()) return kDead;
  const auto id = static_cast<StateId>(states_.size());
  const auto [found, is_new] = ids_.try_emplace(state.hash, id);
  if (!is_new) return found->second;
  byte_size_ += kStateBytes + state.configs.size() * kConfigBytes + classes_ * sizeof(StateId);
  meets_unknown_.push_back(state.meets_unknown);
  std::size_t depth = 0;
  for (const Config& config : state.configs) depth = std::max(depth, config.stack->depth());
  depths_.push_back(depth);
  states_.push_back(std::move(state));
  next_.resize(next_.size() + classes_, kUnknown);
  return id;
}

LazyAutomaton::StateId LazyAutomaton::step(StateId from, unsigned char byte) {
  const StateId id = intern(stepper_.step(states_[from], byte));
  next_[from * classes_ + grammar_->byte_class(byte)] = id;
  return id;
}

}  // namespace anemone::grammar
