// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling/logit_processors.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "engine/generation/repeat_stop.h"
#include "engine/sampling/logprobs.h"
#include "engine/sampling/sampler.h"

namespace anemone::engine {
namespace {

using Ids = std::vector<std::int32_t>;
using Logits = std::vector<float>;
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

Logits processed(const LogitProcessorOptions& options, const Ids& prompt, const Ids& text,
                 Logits logits) {
  LogitProcessors processors(options, prompt);
  for (const std::int32_t id : text) processors.accept(id);
  processors.apply(logits);
  return logits;
}

TEST(LogitProcessors, BiasIsAddedAndIdsBeyondTheLogitsAreIgnored) {
  LogitProcessorOptions options;
  options.logit_bias = {{1, 2.5F}, {2, -100}, {9, 1}};
  EXPECT_EQ(processed(options, {}, {}, {1, 1, 1}), (Logits{1, 3.5F, -99}));
}

TEST(LogitProcessors, RepetitionDividesWhatIsAboveZeroAndMultipliesWhatIsBelowOnce) {
  LogitProcessorOptions options;
  options.repetition_penalty = 2;
  // 0 is in the prompt twice and in the text, 1 in the text, 3 nowhere.
  EXPECT_EQ(processed(options, {0, 0}, {1, 0}, {4, -4, 4, -4}), (Logits{2, -8, 4, -4}));
}

TEST(LogitProcessors, PresenceAndFrequencyCountTheTextAlone) {
  LogitProcessorOptions options;
  options.presence_penalty = 0.5;
  EXPECT_EQ(processed(options, {0}, {1, 1}, {4, 4, 4}), (Logits{4, 3.5F, 4}));
  options.presence_penalty = 0;
  options.frequency_penalty = 0.5;
  EXPECT_EQ(processed(options, {0}, {1, 1}, {4, 4, 4}), (Logits{4, 3, 4}));
  options.presence_penalty = -1;
  EXPECT_EQ(processed(options, {0}, {1, 1}, {4, 4, 4}), (Logits{4, 4, 4}));
}

TEST(LogitProcessors, BiasComesBeforeTheRepetitionPenalty) {
  LogitProcessorOptions options;
  options.logit_bias = {{0, -3}};
  options.repetition_penalty = 2;
  EXPECT_EQ(processed(options, {0}, {}, {1, 1}), (Logits{-4, 1}));
}

TEST(LogitProcessors, TokensThatWouldRepeatARunAreBarred) {
  LogitProcessorOptions options;
  options.no_repeat_ngram = 3;
  // 5 6 was followed by 1 in the prompt and by 2 in the text.
  EXPECT_EQ(processed(options, {5, 6, 1}, {5, 6, 2, 5, 6}, {0, 0, 0, 0}),
            (Logits{0, kMinusInf, kMinusInf, 0}));
  EXPECT_EQ(processed(options, {}, {1}, {0, 0}), (Logits{0, 0}));
  options.no_repeat_ngram = 1;
  EXPECT_EQ(processed(options, {0}, {2}, {0, 0, 0}), (Logits{kMinusInf, 0, kMinusInf}));
}

TEST(LogitProcessors, OptionsOutOfRangeAreNamed) {
  const auto refused = [](auto change, const char* name) {
    LogitProcessorOptions options;
    change(options);
    const Status status = check_logit_processors(options);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
  };
  using O = LogitProcessorOptions;
  refused([](O& o) { o.repetition_penalty = 0; }, "[repetition_penalty]");
  refused([](O& o) { o.repetition_penalty = std::nan(""); }, "[repetition_penalty]");
  refused([](O& o) { o.presence_penalty = HUGE_VAL; }, "[presence_penalty]");
  refused([](O& o) { o.frequency_penalty = -HUGE_VAL; }, "[frequency_penalty]");
  refused([](O& o) { o.no_repeat_ngram = -1; }, "[no_repeat_ngram]");
  refused([](O& o) { o.logit_bias = {{-1, 0.0F}}; }, "[logit_bias]");
  refused([](O& o) { o.logit_bias = {{1, kMinusInf}}; }, "[logit_bias]");
}

TEST(Sampler, GreedyFollowsThePenaltiesOfItsOwnPicks) {
  SamplingOptions options;
  options.processors.frequency_penalty = 1;
  auto sampler = Sampler::create(options, 0, Ids{2});
  ASSERT_TRUE(sampler.ok());
  Ids picked;
  for (int i = 0; i < 5; ++i) picked.push_back(*sampler->sample(Logits{3, 2.5F, 1}));
  EXPECT_EQ(picked, (Ids{0, 1, 0, 1, 0}));
}

TEST(Sampler, BiasForPaddingRowsIsRefused) {
  SamplingOptions options;
  options.processors.logit_bias = {{3, 1.0F}};
  EXPECT_TRUE(Sampler::create(options, 4).ok());
  EXPECT_EQ(Sampler::create(options, 3).status().code(), Code::kInvalidArgument);
}

TEST(Sampler, EverythingBarredIsAnErrorAndNoToken) {
  SamplingOptions options;
  options.processors.no_repeat_ngram = 1;
  auto sampler = Sampler::create(options, 0, Ids{0, 1});
  ASSERT_TRUE(sampler.ok());
  EXPECT_EQ(sampler->sample(Logits{1, 2}).status().code(), Code::kInvalidArgument);
}

TEST(Logprobs, AreTheLogSoftmaxOfTheLogits) {
  const Logits logits = {std::log(0.5F), std::log(0.125F), std::log(0.25F), std::log(0.125F)};
  const TokenLogprobs got = token_logprobs(logits, 3, 3);
  EXPECT_NEAR(got.logprob, std::log(0.125), 1e-6);
  ASSERT_EQ(got.top.size(), 3U);
  EXPECT_EQ(got.top[0].first, 0);
  EXPECT_EQ(got.top[1].first, 2);
  EXPECT_EQ(got.top[2].first, 1);  // the lower id among equals
  EXPECT_NEAR(got.top[0].second, std::log(0.5), 1e-6);
  EXPECT_TRUE(token_logprobs(logits, 0, 0).top.empty());
  EXPECT_EQ(token_logprobs(logits, 0, 99).top.size(), 4U);
}

TEST(Logprobs, OfNanAndInfinityAreNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  const TokenLogprobs got = token_logprobs(Logits{std::nanf(""), inf, 3}, 1, 3);
  EXPECT_EQ(got.logprob, 0);
  EXPECT_EQ(got.top[0].first, 1);
}

TEST(RepeatStop, SeesARunThatComesBack) {
  const auto stops_at = [](std::int64_t n, const Ids& ids) -> int {
    RepeatStop stop(n);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (stop.push(ids[i])) return static_cast<int>(i);
    return -1;
  };
  EXPECT_EQ(stops_at(2, {1, 2, 3, 1, 2, 3}), 4);
  EXPECT_EQ(stops_at(2, {7, 7, 7}), 2);  // the runs overlap
  EXPECT_EQ(stops_at(3, {1, 2, 3, 4, 1, 2, 5}), -1);
  EXPECT_EQ(stops_at(1, {1, 2, 1}), 2);
  EXPECT_EQ(stops_at(0, {1, 1, 1, 1}), -1);
}

}  // namespace
}  // namespace anemone::engine
