// SPDX-License-Identifier: Apache-2.0
// Tokenizers and templates are data from strangers: time and memory stay bounded whatever they say.
#include <chrono>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/json.h"
#include "text/chat_template.h"
#include "text/table_hash.h"
#include "text/tokenizer.h"

namespace anemone::text {
namespace {

// Generous: a busy machine under sanitizers. Without the limits each case takes minutes or forever.
constexpr std::chrono::seconds kPatience{60};

class Stopwatch {
 public:
  ~Stopwatch() { EXPECT_LT(std::chrono::steady_clock::now() - start_, kPatience); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Json bpe() {
  return {{"type", "BPE"},
          {"vocab", {{"a", 0}, {"x", 1}, {"aa", 2}}},
          {"merges", Json::array({"a a"})}};
}

Status encode(const Json& tokenizer, const std::string& text) {
  const auto loaded = Tokenizer::parse(dump_json(tokenizer), "tokenizer.json");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? (*loaded)->encode(text).status() : loaded.status();
}

TEST(TokenizerLimits, APatternThatBacktracksInEveryMatchIsGivenUp) {
  const Stopwatch stopwatch;
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
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("(a+)+b|x"), std::string::npos) << status.message();
}

TEST(TokenizerLimits, ReplacementsThatMultiplyTheTextAreRefused) {
  const Stopwatch stopwatch;
  const Json replace = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
  Json steps = Json::array();
  for (int i = 0; i < 10; ++i) steps.push_back(replace);
  EXPECT_EQ(encode({{"model", bpe()},
                    {"normalizer", {{"type", "Sequence"}, {"normalizers", std::move(steps)}}}},
                   "aaaa")
                .code(),
            Code::kUnsupported);
}

TEST(TokenizerLimits, LongEntriesThatShareTheirBeginningCostNoSearch) {
  const Stopwatch stopwatch;
  Json vocab = Json::array({Json::array({"<unk>", 0.0})});
  for (std::size_t i = 1; i < 1000; ++i)
    vocab.push_back(Json::array({std::string(i, 'a'), -static_cast<double>(i)}));
  EXPECT_TRUE(encode({{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", std::move(vocab)}}}},
                     std::string(20'000, 'a'))
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

class TemplateLimits : public ::testing::TestWithParam<const char*> {};

TEST_P(TemplateLimits, StopTheRender) {
  const Stopwatch stopwatch;
  const auto parsed = ChatTemplate::parse(GetParam());
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const auto text = parsed->render(Json{{"messages", Json::array()}});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), Code::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(
    Hostile, TemplateLimits,
    ::testing::Values(
        "{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% endfor %}",
        "{{ 'a' * 999999999999 }}", "{{ 9 ** 9 ** 9 }}",
        "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor "
        "%}",
        "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% set s = 'a' * 1000000 %}{% for i in range(99999) %}{{ '' if 'a' * 1000 ~ 'b' in s }}"
        "{% endfor %}",
        "{% set s = 'a' * 1000000 %}{% for i in range(99999) %}{{ s.find('a' * 1000 ~ 'b') }}"
        "{% endfor %}",
        "{% set s = 'z' * 1000000 %}{% set c = 'a' * 1000000 ~ 'z' %}{% for i in range(99999) %}"
        "{% set x = s.strip(c) %}{% endfor %}",
        "{% set s = 'a,' * 500000 %}{% for i in range(99999) %}{% set x = s.split(',') %}"
        "{% endfor %}"));

}  // namespace
}  // namespace anemone::text
