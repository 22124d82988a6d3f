// SPDX-License-Identifier: Apache-2.0
// Tokenizers and templates are data from strangers: time and memory stay bounded whatever they say.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/json.h"
#include "base/work_budget.h"
#include "tests/support/cpu_time_bound.h"
#include "tests/support/sanitized.h"
#include "text/chat/chat_template.h"
#include "text/table_hash.h"
#include "text/text_work.h"
#include "text/tokenizer/regex.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::text {
namespace {

Json bpe() {
  return {{"type", "BPE"},
          {"vocab", {{"a", 0}, {"x", 1}, {"aa", 2}}},
          {"merges", Json::array({"a a"})}};
}

// Encodes within the limits of a text without a request; a sanitizer's share of the time is not the
// text's.
Status encode(const Json& tokenizer, const std::string& text) {
  const auto loaded = Tokenizer::parse(dump_json(tokenizer), "tokenizer.json");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  if (!loaded.ok()) return loaded.status();
  WorkBudget::Limits limits = text_limits(text.size());
  if constexpr (testing::kIsSanitized) limits.cpu_time *= 10;
  WorkBudget budget("text", limits);
  EncodeOptions options;
  options.budget = &budget;
  return (*loaded)->encode(text, options).status();
}

// Encodes with a budget of a fifth of a second.
void expect_out_of_time(const Json& tokenizer, const std::string& text) {
  const auto loaded = Tokenizer::parse(dump_json(tokenizer), "tokenizer.json");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  WorkBudget::Limits limits;
  limits.cpu_time = std::chrono::milliseconds(200);
  WorkBudget budget("request", limits);
  EncodeOptions options;
  options.budget = &budget;
  const Status status = (*loaded)->encode(text, options).status();
  EXPECT_NE(status.message().find("[request]"), std::string::npos) << status.message();
}

TEST(TokenizerLimits, APatternThatBacktracksInEveryMatchIsGivenUp) {
  const testing::CpuTimeBound bound;
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", "(a+)+b|x"}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", true},
                           {"use_regex", false}};
  const Json tokenizer = {
      {"model", bpe()},
      {"pre_tokenizer",
       {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level})}}}};
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::string(24, 'a') + "x";
  const Status status = encode(tokenizer, text);
  EXPECT_FALSE(status.ok());
}

// Each piece is a text of its own for the second step: the limit is one for all of them.
TEST(TokenizerLimits, TheLimitIsOfATextNotOfItsPieces) {
  const testing::CpuTimeBound bound;
  const auto split = [](const char* regex) {
    return Json{{"type", "Split"},
                {"pattern", {{"Regex", regex}}},
                {"behavior", "Isolated"},
                {"invert", false}};
  };
  const Json tokenizer = {
      {"model", bpe()},
      {"pre_tokenizer",
       {{"type", "Sequence"}, {"pretokenizers", Json::array({split("x"), split("(a+)+b|a")})}}}};
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::string(17, 'a') + "x";
  expect_out_of_time(tokenizer, text);
}

// One search that tries a match at each of many places, each within the limit of a match.
TEST(TokenizerLimits, ASearchThatIsSlowAtEveryPlaceIsGivenUp) {
  const testing::CpuTimeBound bound;
  const Json tokenizer = {{"model", bpe()},
                          {"pre_tokenizer",
                           {{"type", "Split"},
                            {"pattern", {{"Regex", "(?:[ax]{2})*[yw]"}}},
                            {"behavior", "Isolated"},
                            {"invert", false}}}};
  expect_out_of_time(tokenizer, std::string(1'000'000, 'a'));
}

TEST(TokenizerLimits, TheRequestPaysForItsText) {
  const testing::CpuTimeBound bound;
  const Json tokenizer = {{"model", bpe()},
                          {"pre_tokenizer",
                           {{"type", "Split"},
                            {"pattern", {{"Regex", "(a+)+b|x"}}},
                            {"behavior", "Isolated"},
                            {"invert", false}}}};
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::string(17, 'a') + "x";
  expect_out_of_time(tokenizer, text);
}

TEST(TokenizerLimits, TheRequestHoldsWhatEncodingTakes) {
  const auto loaded = Tokenizer::parse(dump_json(Json{{"model", bpe()}}), "tokenizer.json");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  WorkBudget small("request", {std::chrono::milliseconds(10'000), 1000});
  EncodeOptions options;
  options.budget = &small;
  EXPECT_TRUE((*loaded)->encode("aaaa", options).ok());
  EXPECT_FALSE((*loaded)->encode(std::string(1000, 'a'), options).ok());
}

Json added(const Json& contents, const char* flag = "lstrip") {
  Json tokens = Json::array();
  int id = 10;
  for (const Json& content : contents)
    tokens.push_back({{"id", id++}, {"content", content}, {flag, true}, {"special", true}});
  return {{"model", bpe()}, {"added_tokens", std::move(tokens)}};
}

TEST(TokenizerLimits, LongAddedTokensTakeLinearTime) {
  const testing::CpuTimeBound bound;
  // The token begins at each place of the text, and fails at its end a million bytes later.
  const std::string text(1'000'000, 'q');
  EXPECT_TRUE(encode(added(Json::array({text + "b"})), text).ok());
  EXPECT_TRUE(encode(added(Json::array({"b" + text})), text).ok());
  EXPECT_TRUE(encode(added(Json::array({"q", text + "b"})), text).ok());
  // White space that each of many tokens could take.
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) {
    EXPECT_TRUE(encode(added(Json::array({" "}), flag), std::string(1'000'000, ' ')).ok());
    EXPECT_TRUE(encode(added(Json::array({"q"}), flag), text).ok());
  }
}

TEST(TokenizerLimits, ManyAddedTokensWithOneBeginningTakeLinearTime) {
  const testing::CpuTimeBound bound;
  Json contents = Json::array();
  constexpr int kTokens = testing::kIsSanitized ? 20'000 : 100'000;
  for (int i = 0; i < kTokens; ++i)
    contents.push_back(std::string(50, 'a') + std::to_string(1'000'000 + i));
  EXPECT_TRUE(encode(added(contents), std::string(1'000'000, 'a')).ok());
}

TEST(TokenizerLimits, AddedTokensHaveALimitOfLength) {
  const testing::CpuTimeBound bound;
  const std::string text(5'000'000, 'a');
  const Json tokenizer = added(Json::array({text + "b", text + "c"}));
  EXPECT_EQ(Tokenizer::parse(dump_json(tokenizer), "tokenizer.json").status().code(),
            Code::kCorrupt);
}

TEST(TokenizerLimits, OneLongWordMergesInNLogN) {
  const testing::CpuTimeBound bound;
  EXPECT_TRUE(encode({{"model", bpe()}}, std::string(1'000'000, 'a')).ok());
}

TEST(TokenizerLimits, ALongLiteralIsFoundInLinearTime) {
  const testing::CpuTimeBound bound;
  const std::string part(200'000, 'a');
  EXPECT_TRUE(
      encode(
          {{"model", bpe()},
           {"normalizer",
            {{"type", "Replace"}, {"pattern", {{"String", part + "b" + part}}}, {"content", "x"}}}},
          std::string(2'000'000, 'a'))
          .ok());
}

TEST(TokenizerLimits, ReplacementsThatMultiplyTheTextAreRefused) {
  const testing::CpuTimeBound bound;
  const Json replace = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
  Json steps = Json::array();
  for (int i = 0; i < 10; ++i) steps.push_back(replace);
  EXPECT_EQ(encode({{"model", bpe()},
                    {"normalizer", {{"type", "Sequence"}, {"normalizers", std::move(steps)}}}},
                   "aaaa")
                .code(),
            Code::kInvalidArgument);
}

TEST(TokenizerLimits, LongEntriesThatShareTheirBeginningCostNoSearch) {
  const testing::CpuTimeBound bound;
  Json vocab = Json::array({Json::array({"<unk>", 0.0})});
  for (std::size_t i = 1; i < 1000; ++i)
    vocab.push_back(Json::array({std::string(i, 'a'), -static_cast<double>(i)}));
  EXPECT_TRUE(encode({{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", std::move(vocab)}}}},
                     std::string(5'000, 'a'))
                  .ok());
}

// A vocabulary of entries that all fall on one place takes quadratic time. Whoever writes one has
// to know the multiplier.
TEST(TokenizerLimits, PlacesInTheTablesCannotBeForeseen) {
  constexpr int kShift = 64 - 18;
  for (const std::uint64_t known : {std::uint64_t{1}, std::uint64_t{0x9E3779B97F4A7C15}}) {
    std::set<std::uint64_t> places;
    int found = 0;
    for (std::uint64_t key = 1; found < 300; ++key) {
      if (table_place(key, known, kShift) != 12345) continue;
      ++found;
      places.insert(table_place(key, table_multiplier(), kShift));
    }
    EXPECT_GT(places.size(), 250U);
  }
}

// Errors are kept and printed, so they hold the beginning of a long pattern, and whole characters.
TEST(Messages, SayThatAKindOfTokenizerIsNotSupported) {
  Json model = bpe();
  model["byte_fallback"] = true;
  const Json tokenizer = {{"model", model}, {"pre_tokenizer", {{"type", "ByteLevel"}}}};
  const Status refused = Tokenizer::parse(dump_json(tokenizer), "tokenizer.json").status();
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_NE(refused.message().find("is a kind of tokenizer that is not supported"),
            std::string_view::npos)
      << refused.message();
}

TEST(Messages, ShowTheBeginningOfALongPattern) {
  std::string e_acute;
  for (int i = 0; i < 1000; ++i) e_acute += "\u00e9";
  for (const std::string open : {"(", "(?i:", "(?<"}) {
    const Status refused = Regex::compile(open + e_acute).status();
    ASSERT_FALSE(refused.ok()) << open;
    const std::string_view message = refused.message();
    EXPECT_LT(message.size(), 400U) << message;
    EXPECT_NE(message.find("\u00e9...] expected "), std::string_view::npos) << message;
  }
}

}  // namespace
}  // namespace anemone::text
