// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "engine/loop/engine.h"
#include "tests/engine/scripted_model.h"

namespace anemone::engine {
namespace {

using testing::bytes_of;
using testing::kImEnd;
using testing::kImStart;
using testing::ScriptedModel;
using testing::ScriptOptions;

using Ids = std::vector<std::int32_t>;

const Ids kPrompt = {10, 11, 12};

Ids join(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Outcome {
  GenerateResult result;
  std::vector<std::string> pieces;
};

Outcome run(const ScriptedModel& scripted, GenerateOptions options = {},
            const Ids& prompt = kPrompt) {
  Outcome out;
  options.on_piece = [&](const TextPiece& piece) {
    out.pieces.emplace_back(piece.text);
    return Status();
  };
  Engine engine({});
  auto result = generate(engine, scripted.model(), prompt, options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (result.ok()) out.result = *std::move(result);
  std::string joined;
  for (const std::string& piece : out.pieces) joined += piece;
  EXPECT_EQ(joined, out.result.text);
  return out;
}

TEST(Generate, StopsAtTheEndOfTextToken) {
  ScriptedModel scripted;
  scripted.say(3, join(bytes_of("Hello"), {kImEnd, 'x'}));
  const Outcome got = run(scripted);
  EXPECT_EQ(got.result.text, "Hello");
  EXPECT_EQ(got.result.ids, join(bytes_of("Hello"), {kImEnd}));
  EXPECT_EQ(got.result.finish, FinishReason::kStop);
  EXPECT_EQ(got.result.stop, "");
  EXPECT_EQ(got.pieces, (std::vector<std::string>{"H", "e", "l", "l", "o", ""}));
}

TEST(Generate, StopsAtAnyOfSeveralEndOfTextTokens) {
  ScriptOptions options;
  options.eos_ids = {kImEnd, 'q'};
  ScriptedModel scripted(options);
  scripted.say(3, bytes_of("abq?"));
  const Outcome got = run(scripted);
  EXPECT_EQ(got.result.text, "ab");  // an end-of-text token is no text, special or not
  EXPECT_EQ(got.result.finish, FinishReason::kStop);
}

TEST(Generate, GoesOnPastTheEndOfTextTokenWhenAsked) {
  ScriptedModel scripted;
  scripted.say(3, {'a', kImEnd, 'b', kImEnd, 'c'});
  GenerateOptions options;
  options.ignore_eos = true;
  options.max_new_tokens = 5;
  const Outcome got = run(scripted, options);
  EXPECT_EQ(got.result.text, "abc");
  EXPECT_EQ(got.result.ids, (Ids{'a', kImEnd, 'b', kImEnd, 'c'}));
  EXPECT_EQ(got.result.finish, FinishReason::kLength);
}

TEST(Generate, StopsAfterTheNumberOfTokensThatWasAskedFor) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("abcdef"));
  GenerateOptions options;
  options.max_new_tokens = 4;
  const Outcome got = run(scripted, options);
  EXPECT_EQ(got.result.text, "abcd");
  EXPECT_EQ(got.result.finish, FinishReason::kLength);
  EXPECT_EQ(got.result.timing.new_tokens, 4);
  EXPECT_EQ(got.result.timing.decode_steps, 3);
}

TEST(Generate, ReadsThePromptOnlyWhenNoTokensAreAskedFor) {
  ScriptedModel scripted;
  GenerateOptions options;
  options.max_new_tokens = 0;
  int positions = 0;
  options.on_prompt_logits = [&](std::int64_t position, std::span<const float> logits) -> Status {
    EXPECT_EQ(position, positions++);
    EXPECT_EQ(logits.size(), static_cast<std::size_t>(testing::kPaddedVocab));
    return {};
  };
  const Outcome got = run(scripted, options);
  EXPECT_TRUE(got.result.ids.empty());
  EXPECT_EQ(got.result.finish, FinishReason::kLength);
  EXPECT_EQ(positions, 3);
}

TEST(Generate, EndsWhenTheContextIsFull) {
  ScriptOptions options;
  options.context = 8;
  ScriptedModel scripted(options);
  scripted.say(3, bytes_of("abcdefghij"));
  const Outcome got = run(scripted);
  // Five tokens fit after the prompt; the logits after the last of them give one more.
  EXPECT_EQ(got.result.text, "abcdef");
  EXPECT_EQ(got.result.finish, FinishReason::kLength);
}

TEST(Generate, PromptThatDoesNotFitNamesTheContext) {
  ScriptOptions script;
  script.context = 8;
  const ScriptedModel scripted(script);
  Engine engine({});
  const auto result = generate(engine, scripted.model(), Ids(9, 1), {});
  EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(
      result.status().message(),
      "[prompt] expected at most 8 tokens (the context of the compiled model), got 9: shorten "
      "it, or compile with a larger --context");
}

TEST(Generate, NeverEmitsHalfACharacter) {
  const std::string text = "a\u00e9\u20ac\U0001F30Az";
  ScriptedModel scripted;
  scripted.say(3, join(bytes_of(text), {kImEnd}));
  const Outcome got = run(scripted);
  EXPECT_EQ(got.result.text, text);
  EXPECT_EQ(got.pieces, (std::vector<std::string>{"a", "", "\u00e9", "", "", "\u20ac", "", "", "",
                                                  "\U0001F30A", "z", ""}));
}

TEST(Generate, CharacterThatIsCutAtTheEndBecomesAReplacement) {
  ScriptedModel scripted;
  scripted.say(3, {'a', 0xe2, 0x82});
  GenerateOptions options;
  options.max_new_tokens = 3;
  const Outcome got = run(scripted, options);
  EXPECT_EQ(got.result.text, "a\ufffd");
  EXPECT_EQ(got.pieces.back(), "\ufffd");
}

TEST(Generate, SpecialTokensGiveNoText) {
  ScriptedModel scripted;
  scripted.say(3, {'a', kImStart, 'b', kImEnd});
  EXPECT_EQ(run(scripted).result.text, "ab");
}

TEST(Generate, StopStringAcrossTokensNeverShows) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("one\n\nQ: two"));
  GenerateOptions options;
  options.stop = {"\nQ:", "\nA:"};
  const Outcome got = run(scripted, options);
  EXPECT_EQ(got.result.text, "one\n");
  EXPECT_EQ(got.result.finish, FinishReason::kStop);
  EXPECT_EQ(got.result.stop, "\nQ:");
  EXPECT_EQ(got.result.ids, bytes_of("one\n\nQ:"));
}

TEST(Generate, BeginningOfAStopStringComesOutAtTheEnd) {
  ScriptedModel scripted;
  scripted.say(3, join(bytes_of("ab\nQ"), {kImEnd}));
  GenerateOptions options;
  options.stop = {"\nQ:"};
  const Outcome got = run(scripted, options);
  EXPECT_EQ(got.result.text, "ab\nQ");
  EXPECT_EQ(got.result.stop, "");
}

TEST(Generate, StopStringsNeedATokenizer) {
  ScriptOptions script;
  script.has_tokenizer = false;
  const ScriptedModel scripted(script);
  Engine engine({});
  GenerateOptions options;
  options.stop = {"x"};
  EXPECT_EQ(generate(engine, scripted.model(), kPrompt, options).status().code(),
            Code::kInvalidArgument);
}

TEST(Generate, PaddingRowsAreNeverPickedForText) {
  ScriptedModel scripted;
  scripted.set_padding_logit(50);
  scripted.say(3, bytes_of("ab"));
  GenerateOptions options;
  options.max_new_tokens = 2;
  EXPECT_EQ(run(scripted, options).result.text, "ab");
  options.sampling.greedy = false;
  options.sampling.temperature = 0.01;
  EXPECT_EQ(run(scripted, options).result.text, "ab");
}

TEST(Generate, RawIdsAreTheHighestOfAllColumns) {
  ScriptedModel scripted;
  scripted.set_padding_logit(50);
  scripted.say(3, bytes_of("ab"));
  GenerateOptions options;
  options.max_new_tokens = 2;
  options.as_text = false;
  const Outcome got = run(scripted, options);
  EXPECT_EQ(got.result.ids, (Ids{258, 258}));
  EXPECT_EQ(got.result.text, "");
}

TEST(Generate, ModelWithoutATokenizerGivesIds) {
  ScriptOptions script;
  script.has_tokenizer = false;
  ScriptedModel scripted(script);
  scripted.say(3, {7, 8, kImEnd});
  const Outcome got = run(scripted);
  EXPECT_EQ(got.result.ids, (Ids{7, 8, kImEnd}));
  EXPECT_EQ(got.result.finish, FinishReason::kStop);
}

TEST(Generate, AnErrorOfWhoTakesThePiecesEndsTheText) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("abcdefgh"));
  GenerateOptions options;
  int pieces = 0;
  options.on_piece = [&](const TextPiece&) {
    return ++pieces == 3 ? Status(Code::kIo, "gone") : Status();
  };
  Engine engine({});
  EXPECT_EQ(generate(engine, scripted.model(), kPrompt, options).status().message(), "gone");
  EXPECT_EQ(pieces, 3);
}

TEST(Generate, StopsSoonAfterItIsCancelled) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("abcdefgh"));
  std::atomic<bool> cancel = false;
  GenerateOptions options;
  options.cancel = &cancel;
  int pieces = 0;
  options.on_piece = [&](const TextPiece&) {
    cancel = ++pieces == 3;
    return Status();
  };
  Engine engine({});
  const auto result = generate(engine, scripted.model(), kPrompt, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->finish, FinishReason::kCancelled);
  EXPECT_EQ(result->text, "abc");
  // The last token was picked but never run, and what was run is kept.
  const auto next = generate(engine, scripted.model(), join(kPrompt, bytes_of("abc")), {});
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->timing.reused_tokens, 5);
}

TEST(Generate, CancelledInThePromptHasNoTokens) {
  ScriptedModel scripted;
  std::atomic<bool> cancel = true;
  GenerateOptions options;
  options.cancel = &cancel;
  const Outcome got = run(scripted, options);
  EXPECT_EQ(got.result.finish, FinishReason::kCancelled);
  EXPECT_TRUE(got.result.ids.empty());
}

TEST(Generate, SameSeedGivesTheSameText) {
  const ScriptedModel scripted;  // says nothing: all ids are equally likely
  GenerateOptions options;
  options.max_new_tokens = 30;
  options.ignore_eos = true;
  options.sampling.greedy = false;
  options.sampling.seed = 5;
  const Ids first = run(scripted, options).result.ids;
  EXPECT_EQ(run(scripted, options).result.ids, first);
  options.sampling.seed = 6;
  EXPECT_NE(run(scripted, options).result.ids, first);
}

TEST(Generate, GivesTheLogprobsOfEachTokenToTheStreamAndTheResult) {
  ScriptedModel scripted;
  scripted.say(3, join(bytes_of("ab"), {kImEnd}));
  GenerateOptions options;
  options.top_logprobs = 2;
  std::vector<double> streamed;
  options.on_piece = [&](const TextPiece& piece) {
    if (piece.logprobs != nullptr) streamed.push_back(piece.logprobs->logprob);
    return Status();
  };
  Engine engine({});
  const auto result = generate(engine, scripted.model(), kPrompt, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->logprobs.size(), result->ids.size());
  std::vector<double> kept;
  for (std::size_t i = 0; i < result->ids.size(); ++i) {
    const TokenLogprobs& logprobs = result->logprobs[i];
    kept.push_back(logprobs.logprob);
    ASSERT_EQ(logprobs.top.size(), 2U);
    EXPECT_EQ(logprobs.top[0].first, result->ids[i]);  // greedy
    EXPECT_EQ(logprobs.top[0].second, logprobs.logprob);
    EXPECT_LE(logprobs.logprob, 0);
  }
  EXPECT_EQ(streamed, kept);
}

TEST(Generate, StopsWhenTheTextGoesInCircles) {
  ScriptedModel scripted;
  scripted.say(3, bytes_of("xyxyxyxy"));
  GenerateOptions options;
  options.stop_repeat_ngram = 2;
  const Outcome got = run(scripted, options);
  EXPECT_EQ(got.result.text, "xyxy");
  EXPECT_EQ(got.result.finish, FinishReason::kRepeat);
}

TEST(Generate, SecondPromptRunsItsNewTokensOnly) {
  ScriptedModel scripted;
  scripted.say(3, join(bytes_of("ok"), {kImEnd}));
  Engine engine({});
  ASSERT_TRUE(generate(engine, scripted.model(), kPrompt, {}).ok());
  const int before = scripted.runs();
  // The answer, its end and a new turn, as a rendered conversation would have them.
  const Ids next = join(kPrompt, join(bytes_of("ok"), {kImEnd, 'n', 'e', 'w'}));
  GenerateOptions options;
  options.max_new_tokens = 1;
  const auto result = generate(engine, scripted.model(), next, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->timing.prompt_tokens, 9);
  EXPECT_EQ(result->timing.reused_tokens, 5);
  EXPECT_EQ(scripted.runs() - before, 1);
}

TEST(Generate, SpeedIsZeroWhereNothingWasMeasured) {
  const Timing timing;
  EXPECT_EQ(timing.prefill_tok_s(), 0);
  EXPECT_EQ(timing.decode_tok_s(), 0);
  Timing some;
  some.prompt_tokens = 30;
  some.reused_tokens = 10;
  some.prefill_s = 2;
  some.decode_steps = 5;
  some.decode_s = 0.5;
  EXPECT_EQ(some.prefill_tok_s(), 10);
  EXPECT_EQ(some.decode_tok_s(), 10);
}

}  // namespace
}  // namespace anemone::engine
