// SPDX-License-Identifier: Apache-2.0
#include "grammar/notation/marked_text.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"

namespace anemone::grammar {
namespace {

enum class Reached : std::uint8_t { kNothing, kMarker, kExcluded };

// The longest beginning of a marker that the text ends with.
struct MarkerState {
  std::array<std::size_t, 256> next{};  // by the byte that follows; 0: no beginning
  Reached reached = Reached::kNothing;  // a whole marker at the end of the text
};

// The automaton of Aho and Corasick, which begins at state 0.
std::vector<MarkerState> automaton_of(std::string_view marker,
                                      std::span<const std::string_view> excluded) {
  std::vector<MarkerState> states(1);
  const auto add = [&](std::string_view text, Reached reached) {
    ANEMONE_CHECK(!text.empty());
    std::size_t at = 0;
    for (const char letter : text) {
      const auto byte = static_cast<unsigned char>(letter);
      if (states[at].next[byte] == 0) {
        const std::size_t added = states.size();
        states.emplace_back();
        states[at].next[byte] = added;
      }
      at = states[at].next[byte];
    }
    states[at].reached = reached;
  };
  for (const std::string_view text : excluded) add(text, Reached::kExcluded);
  add(marker, Reached::kMarker);
  // From short beginnings to long ones: where a byte does not go on with one, it goes on with the
  // longest other beginning that the text ends with, which is shorter and complete already.
  std::vector<std::size_t> border(states.size(), 0);
  std::vector<std::size_t> order{0};
  for (std::size_t i = 0; i < order.size(); ++i) {
    MarkerState& state = states[order[i]];
    const MarkerState& shorter = states[border[order[i]]];
    if (state.reached == Reached::kNothing) state.reached = shorter.reached;
    for (std::size_t byte = 0; byte < state.next.size(); ++byte) {
      const std::size_t fallback = order[i] == 0 ? 0 : shorter.next[byte];
      if (state.next[byte] == 0) {
        state.next[byte] = fallback;
      } else {
        border[state.next[byte]] = fallback;
        order.push_back(state.next[byte]);
      }
    }
  }
  return states;
}

// A rule per state, each of which ends with a call of the next one, so that the text needs no
// stack.
NodeId text_around(GrammarBuilder& builder, std::string_view marker,
                   std::span<const std::string_view> excluded, bool ends_with_marker) {
  const auto states = automaton_of(marker, excluded);
  std::vector<std::optional<RuleId>> rules;
  for (const MarkerState& state : states) {
    rules.emplace_back();
    if (state.reached == Reached::kNothing)
      rules.back() = builder.add_rule("text beside " + std::string(marker));
  }
  for (std::size_t state = 0; state < states.size(); ++state) {
    if (!rules[state]) continue;
    std::map<std::size_t, ByteSet> by_next;
    for (unsigned byte = 0; byte < 256; ++byte) by_next[states[state].next[byte]].add(byte, byte);
    std::vector<NodeId> ways;
    for (const auto& [after, bytes] : by_next) {
      const bool is_end = states[after].reached == Reached::kMarker;
      if (states[after].reached == Reached::kExcluded || (is_end && !ends_with_marker)) continue;
      const NodeId taken = builder.bytes(bytes);
      ways.push_back(is_end ? taken : builder.sequence({taken, builder.call(*rules[after])}));
    }
    if (!ends_with_marker) ways.push_back(builder.empty());
    builder.define(*rules[state], builder.choice(ways));
  }
  return builder.call(*rules[0]);
}

}  // namespace

NodeId text_up_to(GrammarBuilder& builder, std::string_view marker,
                  std::span<const std::string_view> excluded) {
  return text_around(builder, marker, excluded, /*ends_with_marker=*/true);
}

NodeId text_without(GrammarBuilder& builder, std::string_view marker) {
  return text_around(builder, marker, {}, /*ends_with_marker=*/false);
}

}  // namespace anemone::grammar
