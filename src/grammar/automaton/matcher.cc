// SPDX-License-Identifier: Apache-2.0
#include "grammar/automaton/matcher.h"

#include <utility>

namespace anemone::grammar {
GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)) {
  Stepper stepper(*grammar_);
  state_ = std::make_shared<const ParserState>(stepper.start());
}

bool GrammarMatcher::accept(std::string_view bytes) {
  if (bytes.empty()) return true;
  Stepper stepper(*grammar_);
  ParserState state;
  const ParserState* from = state_.get();
  for (const char byte : bytes) {
    state = stepper.step(*from, static_cast<unsigned char>(byte));
    is_too_ambiguous_ = state.is_too_ambiguous;
    if (state.is_dead()) break;
    from = &state;
  }
  work_ += stepper.work();
  if (state.is_dead()) return false;
  state_ = std::make_shared<const ParserState>(std::move(state));
  return true;
}

}  // namespace anemone::grammar
