// SPDX-License-Identifier: Apache-2.0
#include "grammar/notation/marked_text.h"

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/check.h"

namespace anemone::grammar {
namespace {

// For each number of bytes of the marker that the text ends with, and each byte that follows: how
// many it ends with then (the automaton of Knuth, Morris and Pratt).
std::vector<std::array<std::size_t, 256>> automaton_of(std::string_view marker) {
  std::vector<std::array<std::size_t, 256>> next(marker.size());
  std::size_t border = 0;
  for (std::size_t state = 0; state < marker.size(); ++state) {
    const auto byte = static_cast<unsigned char>(marker[state]);
    if (state == 0)
      next[state].fill(0);
    else
      next[state] = next[border];
    const std::size_t fallback = next[state][byte];
    next[state][byte] = state + 1;
    if (state > 0) border = fallback;
  }
  return next;
}

// A rule per state, each of which ends with a call of the next one, so that the text needs no
// stack.
NodeId text_around(GrammarBuilder& builder, std::string_view marker, bool ends_with_marker) {
  ANEMONE_CHECK(!marker.empty());
  const auto next = automaton_of(marker);
  std::vector<RuleId> rules;
  for (std::size_t state = 0; state < marker.size(); ++state)
    rules.push_back(builder.add_rule("text beside " + std::string(marker)));
  for (std::size_t state = 0; state < marker.size(); ++state) {
    std::map<std::size_t, ByteSet> by_next;
    for (unsigned byte = 0; byte < 256; ++byte) by_next[next[state][byte]].add(byte, byte);
    std::vector<NodeId> ways;
    for (const auto& [after, bytes] : by_next) {
      const bool is_end = after == marker.size();
      if (is_end && !ends_with_marker) continue;
      const NodeId taken = builder.bytes(bytes);
      ways.push_back(is_end ? taken : builder.sequence({taken, builder.call(rules[after])}));
    }
    if (!ends_with_marker) ways.push_back(builder.empty());
    builder.define(rules[state], builder.choice(ways));
  }
  return builder.call(rules[0]);
}

}  // namespace

NodeId text_up_to(GrammarBuilder& builder, std::string_view marker) {
  return text_around(builder, marker, /*ends_with_marker=*/true);
}

NodeId text_without(GrammarBuilder& builder, std::string_view marker) {
  return text_around(builder, marker, /*ends_with_marker=*/false);
}

}  // namespace anemone::grammar
