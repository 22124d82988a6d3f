// SPDX-License-Identifier: Apache-2.0
// The engine over a model that computes: whatever runs beside a text, was cached or fails, its
// answer is the one that it gets alone.
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "engine/loop/engine.h"
#include "engine/session/session.h"
#include "tests/engine/fake_model.h"

namespace anemone::engine {
namespace {

using testing::FakeExecutor;
using testing::FakeOptions;

using Ids = std::vector<std::int32_t>;

class EngineLoad : public ::testing::TestWithParam<bool> {
 protected:
  EngineLoad() {
    FakeOptions options;
    options.states = GetParam();
    executor_.emplace(testing::fake_manifest(options));
    testing::write_fake_artifact(folder_.path(), options);
    auto loaded = Model::load(folder_.path(), *executor_);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (loaded.ok()) model_ = *loaded;
  }
  // A prompt of one of three families.
  Ids prompt(std::mt19937& random) const {
    std::mt19937 family(random() % 3);
    Ids ids;
    for (std::size_t i = 0; i < 70; ++i) ids.push_back(static_cast<std::int32_t>(family() % 50));
    ids.resize(1 + random() % 70);
    for (std::size_t i = random() % 40; i > 0; --i)
      ids.push_back(static_cast<std::int32_t>(random() % 50));
    return ids;
  }
  Ids alone(const Ids& prompt, std::int64_t tokens) {
    auto& known = alone_[{prompt, tokens}];
    if (!known.empty()) return known;
    auto session = Session::create(model_);
    EXPECT_TRUE(session.ok() && (*session)->prefill(prompt).ok());
    while (static_cast<std::int64_t>(known.size()) < tokens) {
      const auto logits = (*session)->logits();
      known.push_back(static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin()));
      EXPECT_TRUE((*session)->decode(known.back()).ok());
    }
    return known;
  }

  anemone::testing::TemporaryFolder folder_;
  std::optional<FakeExecutor> executor_;
  std::shared_ptr<const Model> model_;
  std::map<std::pair<Ids, std::int64_t>, Ids> alone_;
};
INSTANTIATE_TEST_SUITE_P(Caches, EngineLoad, ::testing::Values(false, true), [](const auto& info) {
  return info.param ? "AsStates" : "AsInputsAndOutputs";
});

TEST_P(EngineLoad, EveryAnswerIsTheOneOfARunAlone) {
  std::mt19937 random(7);
  const std::uint64_t one = Sequence::cache_bytes(*model_, model_->context());
  Engine engine({.sequences = 6, .queue = 1000, .cache_bytes = 10 * one});
  struct Asked {
    Ids prompt;
    std::int64_t tokens = 0;
    std::shared_ptr<std::atomic<bool>> cancel = std::make_shared<std::atomic<bool>>(false);
    std::optional<Result<GenerateResult>> end;
  };
  std::deque<Asked> all;
  int cancelled = 0;
  std::int64_t reused = 0;
  for (int turn = 0; all.size() < 300 || engine.counts().running > 0; ++turn) {
    if (all.size() < 300 && random() % 2 == 0) {
      Asked& asked = all.emplace_back();
      asked.prompt = prompt(random);
      asked.tokens = 1 + static_cast<std::int64_t>(random() % 12);
      Request request;
      request.model = model_;
      request.cancel = asked.cancel;
      Choice& choice = request.choices.emplace_back();
      choice.prompt = asked.prompt;
      choice.options.max_new_tokens = asked.tokens;
      choice.options.ignore_eos = true;
      choice.options.as_text = false;
      choice.on_end = [&asked](Result<GenerateResult> result) { asked.end = std::move(result); };
      ASSERT_TRUE(engine.submit(std::move(request)).ok());
    }
    if (!all.empty() && random() % 5 == 0)
      *all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 6)].cancel = true;
    engine.turn();
    ASSERT_LT(turn, 100'000);
  }
  for (const Asked& asked : all) {
    ASSERT_TRUE(asked.end.has_value() && asked.end->ok());
    const GenerateResult& result = **asked.end;
    reused += result.timing.reused_tokens;
    const Ids wanted = alone(asked.prompt, asked.tokens);
    if (result.finish == FinishReason::kCancelled) {
      ++cancelled;
      EXPECT_TRUE(std::ranges::equal(result.ids, std::span(wanted).first(result.ids.size())));
    } else {
      EXPECT_EQ(result.ids, wanted);
    }
  }
  EXPECT_GT(cancelled, 20);
  EXPECT_LT(cancelled, 200);
  EXPECT_GT(reused, 1000) << "or nothing was tested";
}

// The run that fails is one of several texts, which go on alone: of their prompts, or later.
TEST_P(EngineLoad, AStepThatFailsHarmsNoTextButTheOnesThatFailAlone) {
  for (const int turns : {0, 12}) {
    Engine engine({.sequences = 4});
    std::mt19937 random(3);
    struct Asked {
      Ids prompt;
      std::optional<Result<GenerateResult>> end;
    };
    std::deque<Asked> all;
    for (int i = 0; i < 4; ++i) {
      Asked& asked = all.emplace_back();
      asked.prompt = prompt(random);
      Request request;
      request.model = model_;
      Choice& choice = request.choices.emplace_back();
      choice.prompt = asked.prompt;
      choice.options.max_new_tokens = 20;
      choice.options.ignore_eos = true;
      choice.options.as_text = false;
      choice.on_end = [&asked](Result<GenerateResult> result) { asked.end = std::move(result); };
      ASSERT_TRUE(engine.submit(std::move(request)).ok());
    }
    for (int i = 0; i < turns; ++i) engine.turn();
    executor_->counts().fail_after = 1;
    executor_->counts().failures = 1;
    while (engine.counts().running > 0) engine.turn();
    EXPECT_EQ(executor_->counts().failures, 0) << "or nothing was tested";
    for (const Asked& asked : all) {
      ASSERT_TRUE(asked.end.has_value());
      ASSERT_TRUE(asked.end->ok()) << asked.end->status().message();
      EXPECT_EQ((*asked.end)->ids, alone(asked.prompt, 20));
    }
  }
}

TEST_P(EngineLoad, TextsWaitUntilTheirCachesFitHoweverLongTheyGet) {
  const std::uint64_t one = Sequence::cache_bytes(*model_, 20);
  Engine engine({.sequences = 8, .queue = 64, .cache_bytes = 2 * one + one / 2});
  int ended = 0;
  const auto submit = [&](std::int64_t tokens) {
    Request request;
    request.model = model_;
    Choice& choice = request.choices.emplace_back();
    choice.prompt = {1, 2, 3, 4};
    choice.options.max_new_tokens = tokens;
    choice.options.ignore_eos = true;
    choice.options.as_text = false;
    choice.on_end = [&](const Result<GenerateResult>& result) { ended += result.ok() ? 1 : 0; };
    ASSERT_TRUE(engine.submit(std::move(request)).ok());
  };
  for (int i = 0; i < 5; ++i) submit(16);
  submit(GenerateOptions::kUntilFull);  // more than there is: alone
  submit(16);
  std::size_t most = 0;
  for (int turn = 0; ended < 5; ++turn) {
    engine.turn();
    most = std::max(most, engine.counts().running);
    ASSERT_LT(turn, 10'000);
  }
  EXPECT_EQ(most, 2U);
  while (engine.counts().running + engine.counts().waiting > 0) engine.turn();
  EXPECT_EQ(ended, 7);
}

TEST_P(EngineLoad, SequencesThatSayTheSameAreKeptOnce) {
  SequencePool pool(std::uint64_t{1} << 30);
  StepRunner runner(model_);
  const auto park = [&](const Ids& ids) {
    auto sequence = *pool.take(model_, ids, {}, 0);
    sequence->prepare(std::ssize(ids));
    while (sequence->position() < std::ssize(ids)) {
      StepItem item{sequence.get(), std::span(ids).subspan(sequence->tokens().size())};
      runner.step({&item, 1});
      ASSERT_TRUE(item.status.ok());
    }
    pool.park(std::move(sequence));
  };
  park({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(pool.parked(), 1U);
  // Another one while the first is in use, and then the same, a longer and a shorter one.
  auto taken = *pool.take(model_, Ids{1, 2, 3, 4, 5, 6, 7}, {}, 0);
  EXPECT_EQ(pool.parked(), 0U);
  park({1, 2, 3, 4, 5, 6});
  pool.park(std::move(taken));
  EXPECT_EQ(pool.parked(), 1U);
  EXPECT_EQ(pool.bytes(), Sequence::cache_bytes(*model_, 6));
  park({1, 2, 9, 9, 9, 9});
  EXPECT_EQ(pool.parked(), 2U) << "another end";
  park({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(pool.parked(), 2U);
  EXPECT_EQ(pool.reusable(*model_, Ids{1, 2, 3, 4, 5, 6, 7, 8, 1}), 8);
}

TEST_P(EngineLoad, TheTextThatWasNotUsedForLongestGoesWhenMemoryIsScarce) {
  const std::uint64_t one = Sequence::cache_bytes(*model_, 101);
  Engine engine({.sequences = 1, .queue = 64, .cache_bytes = 2 * one + one / 2});
  const auto reused = [&](std::int32_t number) {
    Ids asked(100);
    for (std::size_t i = 0; i < asked.size(); ++i)
      asked[i] = (number * 7 + static_cast<std::int32_t>(i)) % 50;
    GenerateOptions options;
    options.max_new_tokens = 1;
    options.as_text = false;
    const auto result = generate(engine, model_, asked, options);
    return result.ok() ? result->timing.reused_tokens : -1;
  };
  EXPECT_EQ(reused(1), 0);
  EXPECT_EQ(reused(2), 0);
  EXPECT_EQ(reused(1), 99);
  EXPECT_EQ(reused(3), 0);  // takes the place of 2
  EXPECT_EQ(reused(1), 99);
  EXPECT_EQ(reused(2), 0);
}

}  // namespace
}  // namespace anemone::engine
