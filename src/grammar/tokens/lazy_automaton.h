// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "grammar/automaton/grammar.h"
#include "grammar/automaton/parser_state.h"

namespace anemone::grammar {

// The deterministic automaton whose states are the parser states of a grammar, made as far as it
// is asked for. Equal parser states are one state of it. Single-thread.
class LazyAutomaton {
 public:
  using StateId = std::uint32_t;
  static constexpr StateId kDead = 0;

  explicit LazyAutomaton(std::shared_ptr<const Grammar> grammar);

  StateId intern(ParserState state);
  StateId next(StateId from, unsigned char byte) {
    const std::size_t slot = from * classes_ + grammar_->byte_class(byte);
    const StateId known = next_[slot];
    return known != kUnknown ? known : step(from, byte);
  }
  bool meets_unknown(StateId id) const { return meets_unknown_[id]; }
  // Frames of the deepest stack of the state.
  std::size_t depth(StateId id) const { return depths_[id]; }
  // A text that leads here went on in more ways than the limits allow.
  bool is_too_ambiguous() const { return is_too_ambiguous_; }

  Stepper& stepper() { return stepper_; }
  const Grammar& grammar() const { return *grammar_; }
  std::size_t byte_size() const { return byte_size_; }
  // Forgets all states but the dead one: earlier ids are no longer valid.
  void clear();

 private:
  static constexpr StateId kUnknown = UINT32_MAX;
  StateId step(StateId from, unsigned char byte);

  std::shared_ptr<const Grammar> grammar_;
  Stepper stepper_;
  std::size_t classes_;
  std::unordered_map<Hash128, StateId, Hash128Hasher> ids_;
  std::vector<ParserState> states_;
  std::vector<bool> meets_unknown_;
  std::vector<std::size_t> depths_;
  std::vector<StateId> next_;  // by state and byte class
  std::size_t byte_size_ = 0;
  bool is_too_ambiguous_ = false;
};

}  // namespace anemone::grammar
