// SPDX-License-Identifier: Apache-2.0
// Whole tokenizers against what Hugging Face's library wrote for the same tokenizer.json.
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/support/shared_data.h"
#include "text/stream/text_streamer.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::text {
namespace {

std::string stream_all(const std::shared_ptr<const Tokenizer>& tokenizer,
                       const std::vector<std::int32_t>& ids) {
  TextStreamer streamer(tokenizer);
  std::string text;
  for (const std::int32_t id : ids) text += streamer.push(id).value();
  return text + streamer.finish().value();
}

// Encodes and decodes every case of golden.jsonl in `folder`; the number of cases.
int check_tokenizer_goldens(const std::string& folder) {
  const auto tokenizer = Tokenizer::load(folder);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  if (!tokenizer.ok()) return 0;
  std::ifstream lines(folder + "/golden.jsonl");
  int cases = 0;
  int wrong = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = parse_json(line, "golden");
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    if (!parsed.ok()) return 0;
    const auto text = (*parsed)["text"].get<std::string>();
    const EncodeOptions options{(*parsed)["add_special"].get<bool>(),
                                (*parsed)["parse_special"].get<bool>()};
    const auto ids = (*tokenizer)->encode(text, options);
    EXPECT_TRUE(ids.ok()) << ids.status().message();
    if (!ids.ok()) return 0;
    const auto want = (*parsed)["ids"].get<std::vector<std::int32_t>>();
    const auto decoded = (*parsed)["decoded"].get<std::string>();
    ++cases;
    const bool right = *ids == want && (*tokenizer)->decode(want).value() == decoded &&
                       stream_all(*tokenizer, want) == decoded;
    if (right) continue;
    if (++wrong > 10) continue;
    ADD_FAILURE() << (*parsed)["tag"] << " " << (*parsed)["text"] << "\n want " << Json(want)
                  << "\n  got " << Json(*ids) << "\n text "
                  << Json((*tokenizer)->decode(want).value())
                         .dump(-1, ' ', false, Json::error_handler_t::replace)
                  << "\n want " << (*parsed)["decoded"];
  }
  EXPECT_EQ(wrong, 0) << "of " << cases;
  std::printf("%s: %d of %d\n", folder.c_str(), cases - wrong, cases);
  return cases;
}

class TokenizerGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(TokenizerGolden, AgreesWithHuggingFaceOnEveryCase) {
  const auto folder = testing::shared_path("data/tokenizers/" + GetParam());
  if (!folder) GTEST_SKIP() << "shared/data/tokenizers/" << GetParam() << " is not here";
  EXPECT_GE(check_tokenizer_goldens(*folder), 500);
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerGolden,
                         ::testing::Values("qwen2_5", "llama3_2", "gpt4o", "llama2", "synth_smollm",
                                           "synth_split3", "synth_unigram", "synth_flags"));

// A small part of the same, in every checkout: tests/text/make_goldens.py.
class CommittedTokenizerGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(CommittedTokenizerGolden, AgreesWithHuggingFaceOnEveryCase) {
  EXPECT_GE(
      check_tokenizer_goldens(testing::source_path("tests/text/data/tokenizers/" + GetParam())),
      80);
}

INSTANTIATE_TEST_SUITE_P(All, CommittedTokenizerGolden,
                         ::testing::Values("synth_flags", "synth_split3", "synth_unigram"));

TEST(TinyTokenizerGolden, AgreesWithHuggingFaceOnTextsAndChats) {
  const auto folder = testing::shared_path("data/tokenizer");
  if (!folder) GTEST_SKIP() << "shared/data/tokenizer is not here";
  const auto tokenizer = Tokenizer::load(*folder);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const auto golden = read_json_file(*folder + "/tokenizer_golden.json");
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  for (const Json& item : (*golden)["texts"]) {
    const auto want = item["ids"].get<std::vector<std::int32_t>>();
    EXPECT_EQ((*tokenizer)->encode(item["text"].get<std::string>()).value(), want) << item["text"];
    EXPECT_EQ((*tokenizer)->decode(want).value(), item["decoded"].get<std::string>());
    EXPECT_EQ((*tokenizer)->decode(want, true).value(),
              item["decoded_skip_special"].get<std::string>());
  }
}

}  // namespace
}  // namespace anemone::text
