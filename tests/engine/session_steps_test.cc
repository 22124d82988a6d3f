// SPDX-License-Identifier: Apache-2.0
// Which packages a session runs for a prompt, which prompts it refuses, and what it keeps.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>

#include "engine/session/session.h"
#include "engine/session/step_runner.h"
#include "tests/engine/loaded_fake.h"

namespace anemone::engine {
namespace {

using testing::copy;
using testing::FakeOptions;
using testing::LoadedFake;
using testing::prompt_of;
using testing::single_steps;

TEST(Session, FunctionsOfOtherWidthsAreUsedWhereTheyFit) {
  FakeOptions options;
  options.widths = {64, 1, 8};  // in any order
  const LoadedFake fake(options);
  const auto ids = prompt_of(64 + 5);
  auto session = fake.session();
  ASSERT_TRUE(session->prefill(ids).ok());
  EXPECT_EQ(copy(session->logits()), single_steps(fake, ids).back());
}

TEST(Session, ModelWithSingleStepsOnlyTakesPrompts) {
  FakeOptions options;
  options.widths = {1};
  const LoadedFake fake(options);
  auto session = fake.session();
  ASSERT_TRUE(session->prefill(prompt_of(9)).ok());
  EXPECT_EQ(session->position(), 9);
}

TEST(Session, PrefillRunsTheHeadForOneColumnOnly) {
  LoadedFake fake({});
  auto session = fake.session();
  ASSERT_TRUE(session->prefill(prompt_of(130)).ok());
  EXPECT_EQ(fake.executor.counts().head_runs, 2);  // two ranges of the vocabulary
  EXPECT_EQ(fake.executor.counts().head_columns, 2);
  EXPECT_EQ(fake.executor.counts().shard_runs, 3 * 2);
}

TEST(Session, HeadRangesAreJoinedInOrder) {
  FakeOptions one;
  one.heads = 1;
  FakeOptions three;
  three.heads = 3;
  const auto ids = prompt_of(10);
  EXPECT_EQ(single_steps(LoadedFake(one), ids), single_steps(LoadedFake(three), ids));
}

TEST(Session, APackageOfSeveralHeadsRunsOnce) {
  FakeOptions apart;
  apart.heads = 3;
  FakeOptions joined = apart;
  joined.join_heads = true;
  LoadedFake fake(joined);
  EXPECT_EQ(fake.model->head_packages().size(), 1U);
  const auto ids = prompt_of(10);
  EXPECT_EQ(single_steps(fake, ids), single_steps(LoadedFake(apart), ids));
  EXPECT_EQ(fake.executor.counts().head_runs, 10);
}

TEST(Session, HeadsInsideTheLastLayersRunWithThem) {
  FakeOptions apart;
  apart.heads = 2;
  FakeOptions with_layers = apart;
  with_layers.head_inside = true;
  LoadedFake fake(with_layers);
  EXPECT_TRUE(fake.model->head_packages().empty());
  const auto ids = prompt_of(100);  // the last chunk has padding
  const LoadedFake fake_apart(apart);
  EXPECT_EQ(single_steps(fake, ids), single_steps(fake_apart, ids));
  auto session = fake.session();
  auto expected = fake_apart.session();
  ASSERT_TRUE(session->prefill(ids).ok());
  ASSERT_TRUE(expected->prefill(ids).ok());
  EXPECT_TRUE(std::ranges::equal(session->logits(), expected->logits()));
  EXPECT_EQ(fake.executor.counts().head_runs, 0);
}

// The logits of all of them would take memory.
TEST(Session, HeadsInsideTheLastLayersRunOneChunkInAStep) {
  const auto ids = prompt_of(150);
  for (const bool is_inside : {false, true}) {
    FakeOptions options;
    options.head_inside = is_inside;
    const LoadedFake fake(options);
    StepRunner runner(fake.model);
    const auto sequence = *Sequence::create(fake.model);
    sequence->prepare(std::ssize(ids));
    StepItem item{sequence.get(), ids};
    runner.step({&item, 1});
    ASSERT_TRUE(item.status.ok()) << item.status.message();
    EXPECT_EQ(item.done, is_inside ? 64 : 150);
  }
}

TEST(Session, IdsOutsideTheVocabularyAreRefusedBeforeAnythingRuns) {
  LoadedFake fake({});
  auto session = fake.session();
  for (const std::int32_t id : {-1, 50, 2147483647}) {
    const std::vector<std::int32_t> ids = {1, 2, id};
    EXPECT_EQ(session->prefill(ids).code(), Code::kInvalidArgument) << id;
    EXPECT_EQ(session->decode(id).status().code(), Code::kInvalidArgument) << id;
  }
  EXPECT_EQ(session->position(), 0);
  EXPECT_EQ(fake.executor.counts().shard_runs, 0);
}

TEST(Session, PromptLongerThanTheContextIsRefusedBeforeAnythingRuns) {
  LoadedFake fake({});
  auto session = fake.session();
  const Status status = session->prefill(prompt_of(201));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("at most 200 tokens"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("got 201"), std::string::npos) << status.message();
  EXPECT_EQ(fake.executor.counts().shard_runs, 0);
}

TEST(Session, EmptyPromptIsRefused) {
  const LoadedFake fake({});
  auto session = fake.session();
  EXPECT_EQ(session->prefill({}).code(), Code::kInvalidArgument);
  EXPECT_EQ(session->prefill_to({}).status().code(), Code::kInvalidArgument);
}

TEST(Session, TruncateBeyondTheEndIsRefused) {
  const LoadedFake fake({});
  auto session = fake.session();
  ASSERT_TRUE(session->prefill(prompt_of(3)).ok());
  EXPECT_EQ(session->truncate(4).code(), Code::kInvalidArgument);
  EXPECT_EQ(session->truncate(-1).code(), Code::kInvalidArgument);
  EXPECT_TRUE(session->truncate(3).ok());
  EXPECT_FALSE(session->logits().empty());
}

TEST(Session, ExtendedPromptRunsItsNewTokensOnly) {
  LoadedFake fake({});
  auto session = fake.session();
  const auto ids = prompt_of(100);
  ASSERT_TRUE(session->prefill(std::span(ids).first(90)).ok());
  const int before = fake.executor.counts().shard_runs;
  const auto kept = session->prefill_to(ids);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(*kept, 90);
  EXPECT_EQ(fake.executor.counts().shard_runs - before, 2);  // one chunk through two shards
  EXPECT_EQ(copy(session->logits()), single_steps(fake, ids).back());
}

TEST(Session, OtherPromptKeepsTheCommonPrefix) {
  const LoadedFake fake({});
  auto session = fake.session();
  auto ids = prompt_of(100);
  ASSERT_TRUE(session->prefill(ids).ok());
  ids[40] = (ids[40] + 1) % 50;
  ids.resize(80);
  const auto kept = session->prefill_to(ids);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(*kept, 40);
  EXPECT_EQ(copy(session->logits()), single_steps(fake, ids).back());
}

TEST(Session, PromptThatIsThereAlreadyRunsItsLastTokenForTheLogits) {
  const LoadedFake fake({});
  auto session = fake.session();
  const auto ids = prompt_of(70);
  ASSERT_TRUE(session->prefill(ids).ok());
  const auto kept = session->prefill_to(std::span(ids).first(65));
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(*kept, 64);
  EXPECT_EQ(session->position(), 65);
  EXPECT_EQ(copy(session->logits()), single_steps(fake, std::span(ids).first(65)).back());
}

// The fake gives NaN where outputs are not wanted.
TEST(Session, OnlyTheLastPackageOfTheLastChunkOfAPromptIsRead) {
  for (const bool head_inside : {false, true}) {
    SCOPED_TRACE(head_inside);
    FakeOptions fake_options;
    fake_options.head_inside = head_inside;
    LoadedFake fake(fake_options);
    const auto ids = prompt_of(150);  // three chunks
    const auto expected = single_steps(fake, ids);
    int& unread = fake.executor.counts().unread_runs;
    EXPECT_EQ(unread, 0);
    auto session = fake.session();
    ASSERT_TRUE(session->prefill(ids).ok());
    EXPECT_EQ(copy(session->logits()), expected.back());
    EXPECT_EQ(unread, 2);
    // Logits of all tokens are asked for.
    unread = 0;
    std::size_t told = 0;
    PrefillOptions options;
    options.on_logits = [&](std::int64_t position, std::span<const float> logits) -> Status {
      EXPECT_EQ(copy(logits), expected[static_cast<std::size_t>(position)]);
      ++told;
      return {};
    };
    auto all = fake.session();
    ASSERT_TRUE(all->prefill(ids, options).ok());
    EXPECT_EQ(told, ids.size());
    EXPECT_EQ(unread, 0);
  }
}

TEST(Session, CancelledPrefillKeepsTheChunksThatWereFinished) {
  FakeOptions fake_options;
  fake_options.context = 700;
  const LoadedFake fake(fake_options);
  auto session = fake.session();
  std::atomic<bool> cancel = false;
  PrefillOptions options;
  options.cancel = &cancel;
  options.on_progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(done, 512);
    EXPECT_EQ(total, 600);
    cancel = true;
  };
  // So many tokens are one step.
  const auto ids = prompt_of(600);
  EXPECT_EQ(session->prefill(ids, options).code(), Code::kCancelled);
  EXPECT_EQ(session->position(), 512);
  EXPECT_TRUE(session->logits().empty());
  ASSERT_TRUE(session->prefill_to(ids).ok());
  EXPECT_EQ(copy(session->logits()), single_steps(fake, ids).back());
}

TEST(Session, TwoSessionsOfOneModelDoNotDisturbEachOther) {
  const LoadedFake fake({});
  const auto a = prompt_of(30, 1);
  const auto b = prompt_of(30, 2);
  auto first = fake.session();
  auto second = fake.session();
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(first->decode(a[i]).ok());
    ASSERT_TRUE(second->decode(b[i]).ok());
  }
  EXPECT_EQ(copy(first->logits()), single_steps(fake, a).back());
  EXPECT_EQ(copy(second->logits()), single_steps(fake, b).back());
}

TEST(Session, DecodeInABatchRefusesWhatItCannotDo) {
  const LoadedFake fake({});
  const LoadedFake other({});
  auto a = fake.session();
  auto b = fake.session();
  auto stranger = other.session();
  const auto refused = [&](std::vector<DecodeStep> steps) {
    const Status status = decode_batch(steps);
    EXPECT_EQ(a->position(), 0);
    EXPECT_EQ(b->position(), 0);
    return status.code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refused({{a.get(), 1}, {a.get(), 2}}));
  EXPECT_TRUE(refused({{a.get(), 1}, {stranger.get(), 2}}));
  EXPECT_TRUE(refused({{a.get(), 1}, {b.get(), 50}}));
  EXPECT_TRUE(decode_batch({}).ok());
}

}  // namespace
}  // namespace anemone::engine
