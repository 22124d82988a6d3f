// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "grammar/automaton/grammar.h"
#include "grammar/automaton/parser_state.h"

namespace anemone::grammar {

// A place in a text that follows a grammar. Copies are cheap and independent of each other.
// Single-thread; the grammar may be shared by threads.
class GrammarMatcher {
 public:
  explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar);

  // Takes more of the text. False, and nothing is taken, if the text would not be the beginning of
  // one that follows the grammar, or nests beyond kMaxStackDepth.
  bool accept(std::string_view bytes);
  // The text may end here.
  bool is_complete() const { return state_->is_complete; }
  // There is a byte that may follow.
  bool can_continue() const { return !state_->configs.empty(); }
  // Why the last accept() failed, if it was for the grammar and not for the text: more than
  // kMaxStepWork ways to read it.
  bool is_too_ambiguous() const { return is_too_ambiguous_; }
  // Visits (Stepper::work) of all accept() so far; a copy goes on counting from those.
  std::size_t work() const { return work_; }

  const std::shared_ptr<const Grammar>& grammar() const { return grammar_; }
  const ParserState& state() const { return *state_; }

 private:
  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const ParserState> state_;
  bool is_too_ambiguous_ = false;
  std::size_t work_ = 0;
};

}  // namespace anemone::grammar
