// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of grammars do with one: they walk along it as the input says, and compare
// the token masks on the way with the matcher.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "grammar/automaton/matcher.h"
#include "grammar/tokens/token_masks.h"

namespace anemone::fuzz {

inline const std::vector<std::pair<std::string, std::int32_t>>& walk_tokens() {
  static const auto tokens = [] {
    std::vector<std::pair<std::string, std::int32_t>> all;
    for (int byte = 0; byte < 256; ++byte)
      all.emplace_back(std::string(1, static_cast<char>(byte)), byte);
    for (const char* text :
         {"{\"", "\":", "\": ", "\",\"", "\"}", "}]", "},{", "true", "null", "12", "-1.5", "ab",
          "abc", "\\u00", "\xC3\xA9", "  ", "]}", "[[", "aaaaaaaa"})
      all.emplace_back(text, static_cast<std::int32_t>(all.size()));
    return all;
  }();
  return tokens;
}

// Visits (GrammarMatcher::work) beyond which a walk ends: a step tries hundreds of continuations,
// and each byte may take kMaxStepWork of them.
inline constexpr std::size_t kMaxWalkWork = 2'000'000;

// The text that `choices` lead to; each byte of them picks one of the bytes that may follow. The
// walk ends early where a step is too ambiguous, and where it has taken kMaxWalkWork.
inline std::string walk(const std::shared_ptr<const grammar::Grammar>& grammar,
                        std::string_view choices, bool& is_complete) {
  using namespace grammar;
  static const auto trie = [] {
    const auto& tokens = walk_tokens();
    auto built = TokenTrie::build(tokens, static_cast<std::int32_t>(tokens.size()), {});
    ANEMONE_CHECK(built.ok());
    return *built;
  }();
  TokenMasks masks(trie, {std::size_t{4} << 20});
  GrammarMatcher matcher(grammar);
  std::size_t work = 0;
  std::string text;
  for (std::size_t step = 0; step < choices.size() && step < 200; ++step) {
    if (!matcher.can_continue()) break;
    std::vector<char> bytes;
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      GrammarMatcher copy = matcher;
      if (copy.accept({&c, 1})) bytes.push_back(c);
      work += copy.work() - matcher.work();
      if (copy.is_too_ambiguous() || work > kMaxWalkWork) return text;
    }
    // A place that only nesting beyond the limit continues has none.
    if (bytes.empty()) break;
    if (step % 16 == 0) {
      const auto mask = masks.mask(matcher);
      if (!mask.ok()) {
        ANEMONE_CHECK(mask.status().code() == Code::kUnsupported);
        return text;
      }
      for (const auto& [token, id] : walk_tokens()) {
        GrammarMatcher copy = matcher;
        const bool fits = copy.accept(token);
        ANEMONE_CHECK(copy.is_too_ambiguous() || (*mask)->allows(id) == fits);
        work += copy.work() - matcher.work();
        if (work > kMaxWalkWork) return text;
      }
    }
    const char next = bytes[static_cast<unsigned char>(choices[step]) % bytes.size()];
    ANEMONE_CHECK(matcher.accept({&next, 1}));
    ANEMONE_CHECK(matcher.can_continue() || matcher.is_complete());
    text.push_back(next);
  }
  is_complete = matcher.is_complete();
  return text;
}

}  // namespace anemone::fuzz
