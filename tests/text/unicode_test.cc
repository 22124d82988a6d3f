// SPDX-License-Identifier: Apache-2.0
// Normal forms, case and character classes of all code points against Hugging Face's tokenizers.
#include "text/unicode.h"

#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/support/shared_data.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

constexpr char32_t kBlock = 0x1000;

std::uint32_t crc32(const std::string& text) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

std::string one(char32_t value) {
  std::string out;
  append_utf8(value, out);
  return out;
}

// tests/interop/unicode_goldens.py writes the same from the tokenizers package: a checksum per
// block of 4096 code points, of what `f` makes of each.
void check_blocks(const std::string& name, const std::function<std::string(char32_t)>& f) {
  const auto golden = read_json_file(testing::source_path("tests/text/data/unicode_goldens.json"));
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  const auto want = (*golden)[name].get<std::vector<std::uint32_t>>();
  ASSERT_EQ(want.size(), 0x110000 / kBlock);
  for (char32_t block = 0; block < 0x110000; block += kBlock) {
    std::string all;
    for (char32_t value = block; value < block + kBlock; ++value)
      if (value < 0xD800 || value >= 0xE000) all += f(value);
    EXPECT_EQ(crc32(all), want[block / kBlock])
        << fmt::format("{} of U+{:04X} and the 4095 after it", name, static_cast<unsigned>(block));
  }
}

class NormalForms : public ::testing::TestWithParam<std::pair<const char*, NormalForm>> {};

TEST_P(NormalForms, OfAllCodePointsAreThoseOfHuggingFace) {
  const auto [name, form] = GetParam();
  check_blocks(name, [form = form](char32_t value) { return normalize_unicode(one(value), form); });
}

// Between two marks, the combining class decides the order.
TEST_P(NormalForms, OfAllCodePointsAmongMarksAreThoseOfHuggingFace) {
  const auto [name, form] = GetParam();
  check_blocks(std::string(name) + " among marks", [form = form](char32_t value) {
    return normalize_unicode("\xCD\x85" + one(value) + "\xCC\xB4", form);
  });
}

// The canonical decomposition of a code point, which NFC and NFKC compose again.
TEST_P(NormalForms, OfDecomposedCodePointsAreThoseOfHuggingFace) {
  const auto [name, form] = GetParam();
  check_blocks(std::string(name) + " decomposed", [form = form](char32_t value) {
    return normalize_unicode(normalize_unicode(one(value), NormalForm::kNfd), form);
  });
}

INSTANTIATE_TEST_SUITE_P(All, NormalForms,
                         ::testing::Values(std::pair("NFC", NormalForm::kNfc),
                                           std::pair("NFD", NormalForm::kNfd),
                                           std::pair("NFKC", NormalForm::kNfkc),
                                           std::pair("NFKD", NormalForm::kNfkd)));

TEST(NormalForms, KeepWhatCameAfterUnicode9) {
  for (const NormalForm form :
       {NormalForm::kNfc, NormalForm::kNfd, NormalForm::kNfkc, NormalForm::kNfkd}) {
    EXPECT_EQ(normalize_unicode("\u32FF", form), "\u32FF");  // Unicode 12.1
    // U+11938, added in Unicode 13.0, decomposes to these two.
    EXPECT_EQ(normalize_unicode("\U00011935\U00011930", form), "\U00011935\U00011930");
    EXPECT_EQ(normalize_unicode("\U00011938", form), "\U00011938");
    // What stands around is composed all the same.
    if (form == NormalForm::kNfc) {
      EXPECT_EQ(normalize_unicode("e\u0301\u32FF\u0301e\u0301", form), "\u00E9\u32FF\u0301\u00E9");
    }
  }
}

TEST(LowerCase, OfAllCodePointsIsThatOfHuggingFace) {
  check_blocks("Lowercase", [](char32_t value) { return to_lower(one(value)); });
}

TEST(CharacterClasses, OfAllCodePointsAreThoseOfHuggingFace) {
  check_blocks("numeric",
               [](char32_t value) { return is_numeric(value) ? one(value) : std::string(); });
  check_blocks(
      "word", [](char32_t value) { return is_word_character(value) ? one(value) : std::string(); });
}

}  // namespace
}  // namespace anemone::text
