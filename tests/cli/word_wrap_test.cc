// SPDX-License-Identifier: Apache-2.0
#include "cli/word_wrap.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace anemone::cli {
namespace {

// The text, in pieces of so many bytes.
std::string wrapped_in(std::optional<int> columns, std::string_view text, std::size_t piece) {
  WordWrap wrap([=] { return columns; });
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    out += wrap.add(text.substr(0, piece));
  return out + wrap.finish();
}

TEST(WordWrap, BreaksLinesBetweenWordsWhateverThePieces) {
  const std::pair<std::string, std::string> cases[] = {
      {"one two three four", "one two\nthree four"},
      {"one two thre", "one two\nthre"},
      {"0123456789 0123456789", "0123456789\n0123456789"},
      {"one two   three", "one two\nthree"},
      {"one\ntwo three four", "one\ntwo three\nfour"},
      {"one two  \n\nthree", "one two  \n\nthree"},
      {"  indented", "  indented"},
      {"a\tbcd efg", "a\t\nbcd efg"},
      {"see 0123456789abcdefg and so on", "see 0123456789abcdefg and so\non"},
      {"a\n```\nint main() { return 0; }\n```\nthat is all of it",
       "a\n```\nint main() { return 0; }\n```\nthat is\nall of it"}};
  for (const auto& [text, expected] : cases)
    for (const std::size_t piece : {1u, 2u, 3u, 100u})
      EXPECT_EQ(wrapped_in(10, text, piece), expected) << piece;
}

TEST(WordWrap, CountsWideCharactersTwice) {
  // Three bytes each, so that pieces of three hold whole characters.
  EXPECT_EQ(wrapped_in(10, "\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e\u65e5", 3),
            "\u65e5\u672c\u8a9e\u65e5\u672c\n\u8a9e\u65e5");
  EXPECT_EQ(wrapped_in(5, "ab \u65e5\u672c", 100), "ab \u65e5\n\u672c");
}

TEST(WordWrap, LeavesATextOfUnknownWidthAsItIs) {
  const std::string text = "one two three four  \n0123456789abcdef\n  five ";
  for (const std::size_t piece : {1u, 2u, 3u, 100u})
    EXPECT_EQ(wrapped_in(std::nullopt, text, piece), text);
}

// A person sees each word as soon as it is complete.
TEST(WordWrap, KeepsNothingBackButTheLastWord) {
  WordWrap wrap([] { return std::optional<int>(20); });
  EXPECT_EQ(wrap.add("one tw"), "one");
  EXPECT_EQ(wrap.add("o"), "");
  EXPECT_EQ(wrap.add(" "), " two");
  EXPECT_EQ(wrap.finish(), " ");
}

}  // namespace
}  // namespace anemone::cli
