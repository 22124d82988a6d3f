// SPDX-License-Identifier: Apache-2.0
// Texts of the grammars of generated schemas, judged by a validator of their own.
#include "tests/grammar/random_schema.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/json.h"
#include "grammar/automaton/matcher.h"
#include "grammar/json/schema_grammar.h"
#include "tests/grammar/validator.h"
#include "text/utf8.h"

namespace anemone::grammar {
namespace {

constexpr int kSchemas = 1500;
constexpr int kTextsEach = 4;
constexpr int kChangesEach = 12;

// nlohmann's parser and not parse_json(): a map may have a name twice.
Json parsed(const std::string& text) {
  return Json::parse(text, nullptr, false);
}

TEST(RandomSchemas, EveryTextOfTheGrammarIsValidJsonForTheSchema) {
  std::mt19937 random(20);
  int refused = 0;
  int texts = 0;
  int endless = 0;
  int changed_texts_taken = 0;
  for (int i = 0; i < kSchemas; ++i) {
    const Json schema = random_schema(random);
    JsonGrammarOptions options;
    options.spacing = i % 3 == 0 ? JsonSpacing::kFree : JsonSpacing::kCompact;
    const auto grammar = grammar_from_json_schema(schema, options);
    if (!grammar.ok()) {
      // allOf of two lists of items and the like; and parts that exclude each other.
      EXPECT_TRUE(grammar.status().code() == Code::kUnsupported ||
                  grammar.status().code() == Code::kInvalidArgument)
          << grammar.status().message();
      ++refused;
      continue;
    }
    for (int j = 0; j < kTextsEach; ++j) {
      const std::string text = random_text(*grammar, random, 4000);
      if (text.empty()) {
        ++endless;
        continue;
      }
      ++texts;
      const Json value = parsed(text);
      ASSERT_FALSE(value.is_discarded()) << text << "\n" << schema;
      ASSERT_TRUE(text::is_valid_utf8(text)) << text;
      ASSERT_TRUE(is_valid(value, schema, schema)) << text << "\n" << schema;
      // A text cut anywhere is the beginning of one.
      const std::size_t cut = random() % text.size();
      GrammarMatcher matcher(*grammar);
      ASSERT_TRUE(matcher.accept(text.substr(0, cut))) << text;
      ASSERT_TRUE(matcher.can_continue()) << text << " cut at " << cut;
      ASSERT_TRUE(matcher.accept(text.substr(cut)) && matcher.is_complete()) << text;
      // A text with a change is refused, unless it is still valid.
      for (int k = 0; k < kChangesEach; ++k) {
        std::string other = text;
        const std::size_t at = random() % other.size();
        const char bytes[] = "\"{}[],:0123456789-.eE\\u truefalsn\x80\xC3\x01";
        const char byte = bytes[random() % (sizeof bytes - 1)];
        switch (random() % 3) {
          case 0:
            other[at] = byte;
            break;
          case 1:
            other.insert(at, 1, byte);
            break;
          default:
            other.erase(at, 1 + random() % 3);
            break;
        }
        GrammarMatcher again(*grammar);
        if (!again.accept(other) || !again.is_complete()) continue;
        ++changed_texts_taken;
        const Json changed = parsed(other);
        ASSERT_FALSE(changed.is_discarded()) << other << "\n" << schema;
        ASSERT_TRUE(is_valid(changed, schema, schema)) << other << "\n" << schema;
      }
    }
  }
  EXPECT_GE(kSchemas - refused, 1000);
  EXPECT_GE(texts, 4000);
  EXPECT_LE(endless, texts / 20);
  EXPECT_GE(changed_texts_taken, 1000);
}

}  // namespace
}  // namespace anemone::grammar
