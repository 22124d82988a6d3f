// SPDX-License-Identifier: Apache-2.0
// The memory and the processor time that a tokenizer takes for a text (its copies, pieces and ids)
// are charged to one WorkBudget, and so is the decoding of an answer: hostile tokenizers and texts
// end with an error, not the process.
#include <atomic>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/work_budget.h"
#include "text/stream/text_streamer.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::text {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

Json charge_bpe() {
  return {{"type", "BPE"},
          {"vocab", {{"a", 0}, {"x", 1}, {"aa", 2}}},
          {"merges", Json::array({"a a"})}};
}

std::shared_ptr<const Tokenizer> make(Json parts) {
  if (!parts.contains("model")) parts["model"] = charge_bpe();
  auto loaded = Tokenizer::parse(dump_json(parts), "tokenizer.json");
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : nullptr;
}

Status encode_within(const Tokenizer& tokenizer, const std::string& text, std::size_t bytes) {
  WorkBudget budget("request", {std::chrono::milliseconds(60'000), bytes});
  return tokenizer.encode(text, {.budget = &budget}).status();
}

void expect_out_of_memory(const Status& status) {
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("of memory"), std::string::npos) << status.message();
}

Json split_everywhere() {
  return {{"type", "Split"}, {"pattern", {{"Regex", "."}}}, {"behavior", "Isolated"}};
}
Json metaspace() {
  return {{"type", "Metaspace"},
          {"replacement", "\xE2\x96\x81"},
          {"prepend_scheme", "always"},
          {"split", false}};
}
Json sequence(const char* list, Json steps) {
  return {{"type", "Sequence"}, {list, std::move(steps)}};
}
Json repeated(int times, const Json& step) {
  Json steps = Json::array();
  for (int i = 0; i < times; ++i) steps.push_back(step);
  return steps;
}
Json replace(const char* kind, const std::string& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}

TEST(TextCharges, TheStepsOfAllPartsTogetherAreBounded) {
  const auto load = [](Json parts) {
    parts["model"] = charge_bpe();
    return Tokenizer::parse(dump_json(parts), "tokenizer.json").status();
  };
  const Json lower = {{"type", "Lowercase"}};
  const Json fuse = {{"type", "Fuse"}};
  for (const int times : {100, 300}) {
    const Code expected = times > 256 ? Code::kUnsupported : Code::kOk;
    EXPECT_EQ(load({{"normalizer", sequence("normalizers", repeated(times, lower))}}).code(),
              expected);
    EXPECT_EQ(
        load({{"pre_tokenizer", sequence("pretokenizers", repeated(times, metaspace()))}}).code(),
        expected);
    EXPECT_EQ(
        load({{"post_processor", sequence("processors", repeated(times, {{"type", "ByteLevel"}}))}})
            .code(),
        expected);
    EXPECT_EQ(load({{"decoder", sequence("decoders", repeated(times, fuse))}}).code(), expected);
  }
  const Status nested =
      load({{"normalizer",
             sequence("normalizers", repeated(10, sequence("normalizers", repeated(20, lower))))},
            {"decoder", sequence("decoders", repeated(60, fuse))}});
  EXPECT_EQ(nested.code(), Code::kUnsupported);
  EXPECT_NE(nested.message().find("at most 256 steps"), std::string::npos) << nested.message();
}

TEST(TextCharges, ThePostProcessorAddsABoundedNumberOfTokens) {
  const Json special = {{"SpecialToken", {{"id", "s"}, {"type_id", 0}}}};
  const auto load = [&](int pieces, int ids) {
    Json single = repeated(pieces, special);
    single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    const Json post = {{"type", "TemplateProcessing"},
                       {"single", std::move(single)},
                       {"special_tokens", {{"s", {{"id", "s"}, {"ids", repeated(ids, 1)}}}}}};
    const Json parts = {{"model", charge_bpe()},
                        {"post_processor", sequence("processors", repeated(2, post))}};
    return Tokenizer::parse(dump_json(parts), "tokenizer.json").status().code();
  };
  EXPECT_EQ(load(10, 10), Code::kOk);
  // Each of the two processors adds 900 ids, fewer than the 1,024 that both may add together.
  EXPECT_EQ(load(30, 30), Code::kUnsupported) << "the ids of all processors count together";
  EXPECT_EQ(load(1000, 1000), Code::kUnsupported);
}

TEST(TextCharges, AStepFreesWhatTheOneBeforeItMade) {
  Json steps = Json::array({split_everywhere()});
  for (int i = 0; i < 100; ++i) steps.push_back(metaspace());
  const auto tokenizer = make({{"pre_tokenizer", sequence("pretokenizers", std::move(steps))}});
  const std::string text(100'000, 'a');
  // One step takes about 5 MB. If none freed what the one before it made, a hundred would take 500
  // MB.
  EXPECT_TRUE(encode_within(*tokenizer, text, 16 * kMegabyte).ok());
  expect_out_of_memory(encode_within(*tokenizer, text, 4 * kMegabyte));
}

TEST(TextCharges, ATextPaysForAllThatItsNormalizerMakes) {
  const std::string text(100'000, 'a');
  const auto longer = make({{"normalizer", replace("String", "a", std::string(64, 'x'))}});
  EXPECT_TRUE(encode_within(*longer, text, 1024 * kMegabyte).ok());
  expect_out_of_memory(encode_within(*longer, text, 4 * kMegabyte));

  // Each text between two special tokens is short, but the ids of all of them are charged to the
  // request.
  const auto pieces = make(
      {{"normalizer", {{"type", "Prepend"}, {"prepend", std::string(10'000, 'x')}}},
       {"added_tokens",
        Json::array({{{"id", 9}, {"content", "|"}, {"special", true}, {"normalized", false}}})}});
  std::string cut;
  for (int i = 0; i < 2'000; ++i) cut += "|a";
  expect_out_of_memory(encode_within(*pieces, cut, 32 * kMegabyte));
}

TEST(TextCharges, NormalFormsAreCharged) {
  std::string ligatures;
  for (int i = 0; i < 10'000; ++i) ligatures += "\xEF\xB7\xBA";  // U+FDFA: 18 characters in NFKD
  const auto tokenizer = make({{"normalizer", {{"type", "NFKD"}}}});
  expect_out_of_memory(encode_within(*tokenizer, ligatures, kMegabyte));
  EXPECT_TRUE(encode_within(*tokenizer, ligatures, 64 * kMegabyte).ok());
  EXPECT_TRUE(encode_within(*tokenizer, "abc", 10'000).ok());
}

TEST(TextCharges, AUnigramLatticeIsCharged) {
  const auto tokenizer =
      make({{"model",
             {{"type", "Unigram"},
              {"unk_id", 0},
              {"vocab", Json::array({Json::array({"<unk>", 0.0}), Json::array({"a", -1.0})})}}}});
  expect_out_of_memory(encode_within(*tokenizer, std::string(100'000, 'a'), kMegabyte));
}

TEST(TextCharges, ALongPrefixOfEachCharacterIsCharged) {
  Json model = charge_bpe();
  model["continuing_subword_prefix"] = std::string(100'000, '#');
  model["merges"] = Json::array();
  const auto tokenizer = make({{"model", std::move(model)}});
  // Without a budget of the caller, the default one applies (text_limits()).
  expect_out_of_memory(tokenizer->encode(std::string(1'000'000, 'a')).status());
}

TEST(TextCharges, ARequestKeepsTheIdsOfItsTexts) {
  const auto tokenizer = make({{"pre_tokenizer", split_everywhere()}});
  WorkBudget budget("request", {std::chrono::milliseconds(60'000), 2 * kMegabyte});
  const std::string text(10'000, 'x');
  int texts = 0;
  while (texts < 1000 && tokenizer->encode(text, {.budget = &budget}).ok()) ++texts;
  EXPECT_GT(texts, 1);
  EXPECT_LT(texts, 60) << "each keeps 40 kB";
}

// A tokenizer of one added token, id 9.
std::shared_ptr<const Tokenizer> one_token(const std::string& content, Json decoder) {
  return make({{"added_tokens", Json::array({{{"id", 9}, {"content", content}}})},
               {"decoder", std::move(decoder)}});
}

// "(a|aa)+[cd]" backtracks exponentially in the number of a's, as no c or d follows.
TEST(TextCharges, TheTokensOfAnAnswerShareOneBudget) {
  const auto tokenizer =
      one_token(std::string(22, 'a') + "b", replace("Regex", "(a|aa)+[cd]", "x"));
  TextStreamer streamer(tokenizer);
  Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i) status = streamer.push(9).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << "each token alone is cheap";
  EXPECT_NE(status.message().find("[answer]"), std::string::npos) << status.message();

  WorkBudget budget("request", {.cpu_time = std::chrono::milliseconds(100)});
  const std::vector<std::int32_t> ids(100'000, 9);
  EXPECT_NE(tokenizer->decode(ids, false, &budget).status().message().find("[request]"),
            std::string::npos);
}

TEST(TextCharges, APatternThatTakesTooManyStepsEndsTheAnswer) {
  const auto tokenizer =
      one_token(std::string(60, 'a') + "b", replace("Regex", "(a|aa)+[cd]", "x"));
  EXPECT_EQ(TextStreamer(tokenizer).push(9).status().code(), Code::kUnsupported);
  const std::vector<std::int32_t> ids = {9};
  EXPECT_EQ(tokenizer->decode(ids).status().code(), Code::kUnsupported);
  WorkBudget budget("request", {});
  EXPECT_EQ(tokenizer->token_bytes(9, budget).status().code(), Code::kUnsupported);
}

TEST(TextCharges, TheTextOfAnAnswerIsBounded) {
  const auto tokenizer = one_token("b", replace("String", "b", std::string(kMegabyte, 'x')));
  TextStreamer streamer(tokenizer);
  std::size_t bytes = 0;
  Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    const auto piece = streamer.push(9);
    status = piece.status();
    if (piece.ok()) bytes += piece->size();
  }
  expect_out_of_memory(status);
  EXPECT_LE(bytes, 64 * kMegabyte);
}

TEST(TextCharges, CancellingAnAnswerEndsItsDecoding) {
  std::atomic<bool> cancel = false;
  const auto tokenizer = one_token("b", replace("String", "b", std::string(kMegabyte, 'x')));
  TextStreamer streamer(tokenizer, {.cancel = &cancel});
  EXPECT_TRUE(streamer.push(9).ok());
  cancel = true;
  EXPECT_EQ(streamer.push(9).status().code(), Code::kCancelled);
}

}  // namespace
}  // namespace anemone::text
