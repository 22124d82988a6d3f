// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/token_finder.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace anemone::text {
namespace {

// Leftmost, longest, without overlap, by trying all keys at all places.
std::vector<TokenFinder::Hit> search(const std::vector<std::string>& keys,
                                     const std::string& text) {
  std::vector<TokenFinder::Hit> hits;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t longest = 0;
    std::int32_t value = -1;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (keys[k].size() <= longest || text.compare(at, keys[k].size(), keys[k]) != 0) continue;
      longest = keys[k].size();
      value = static_cast<std::int32_t>(k);
    }
    if (longest > 0) hits.push_back({at, at + longest, value});
    at += longest > 0 ? longest : 1;
  }
  return hits;
}

TEST(TokenFinder, FindsWhatTryingAllKeysFinds) {
  std::mt19937 random(7);
  const auto word = [&](std::size_t most) {
    std::string out;
    for (std::size_t i = random() % most + 1; i > 0; --i)
      out += static_cast<char>('a' + random() % 2);
    return out;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> keys;
    TokenFinder finder;
    for (std::size_t i = random() % 8; i > 0; --i) {
      keys.push_back(word(6));
      finder.insert(keys.back(), static_cast<std::int32_t>(keys.size() - 1));
    }
    finder.build();
    const std::string text = word(40);
    WorkBudget work("text", {});
    ChargedVector<TokenFinder::Hit> hits(work);
    ASSERT_TRUE(finder.find_all(text, hits).ok());
    const auto expected = search(keys, text);
    ASSERT_EQ(hits.size(), expected.size()) << text;
    for (std::size_t i = 0; i < hits.size(); ++i) {
      EXPECT_EQ(hits[i].begin, expected[i].begin) << text;
      EXPECT_EQ(hits[i].end, expected[i].end) << text;
      EXPECT_EQ(keys[static_cast<std::size_t>(hits[i].value)],
                keys[static_cast<std::size_t>(expected[i].value)]);
    }
  }
}

}  // namespace
}  // namespace anemone::text
