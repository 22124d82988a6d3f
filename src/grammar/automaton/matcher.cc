// SPDX-License-Identifier: Apache-2.0
#include "grammar/automaton/matcher.h"

#include <optional>
#include <utility>

namespace anemone::grammar {
namespace {

// The only byte that may follow.
std::optional<unsigned char> only_byte(const Grammar& grammar, const ParserState& state) {
  if (state.is_complete) return std::nullopt;
  ByteSet all;
  for (const Config& config : state.configs)
    for (const Edge& edge : grammar.edges(config.state)) {
      if (edge.kind != EdgeKind::kBytes) continue;
      const ByteSet& set = grammar.byte_set(edge.value);
      for (std::size_t i = 0; i < set.words.size(); ++i) all.words[i] |= set.words[i];
    }
  std::optional<unsigned char> only;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!all.has(static_cast<unsigned char>(byte))) continue;
    if (only) return std::nullopt;
    only = static_cast<unsigned char>(byte);
  }
  return only;
}

}  // namespace

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
    if (state.is_dead()) return false;
    from = &state;
  }
  state_ = std::make_shared<const ParserState>(std::move(state));
  return true;
}

std::string GrammarMatcher::forced_bytes(std::size_t most) const {
  std::string forced;
  Stepper stepper(*grammar_);
  ParserState state = *state_;
  while (forced.size() < most) {
    const auto byte = only_byte(*grammar_, state);
    if (!byte) break;
    state = stepper.step(state, *byte);
    if (state.is_dead()) break;
    forced.push_back(static_cast<char>(*byte));
  }
  return forced;
}

}  // namespace anemone::grammar
