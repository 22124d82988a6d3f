// SPDX-License-Identifier: Apache-2.0
#include "engine/session/session.h"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/engine/fake_model.h"

namespace anemone::engine {
namespace {

using anemone::testing::TemporaryFolder;
using testing::FakeExecutor;
using testing::FakeOptions;

using Logits = std::vector<float>;

// A model of the given kind on disk, loaded.
struct LoadedFake {
  explicit LoadedFake(const FakeOptions& options) : executor(testing::fake_manifest(options)) {
    testing::write_fake_artifact(folder.path(), options);
    auto loaded = Model::load(folder.path(), executor);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (loaded.ok()) model = *loaded;
  }
  std::unique_ptr<Session> session() const {
    auto created = Session::create(model);
    EXPECT_TRUE(created.ok()) << created.status().message();
    return std::move(*created);
  }
  TemporaryFolder folder;
  FakeExecutor executor;
  std::shared_ptr<const Model> model;
};

std::vector<std::int32_t> prompt_of(std::size_t length, std::uint32_t seed = 1) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < length; ++i) {
    seed = seed * 1664525 + 1013904223;
    ids.push_back(static_cast<std::int32_t>((seed >> 8) % 50));
  }
  return ids;
}

Logits copy(std::span<const float> logits) {
  return {logits.begin(), logits.end()};
}

// Logits after each token, by single steps only.
std::vector<Logits> single_steps(const LoadedFake& fake, std::span<const std::int32_t> ids) {
  auto session = fake.session();
  std::vector<Logits> out;
  for (const std::int32_t id : ids) {
    auto logits = session->decode(id);
    EXPECT_TRUE(logits.ok()) << logits.status().message();
    if (logits.ok()) out.push_back(copy(*logits));
  }
  return out;
}

class EveryForm : public ::testing::TestWithParam<bool> {
 protected:
  FakeOptions options() const {
    FakeOptions out;
    out.states = GetParam();
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Caches, EveryForm, ::testing::Values(false, true), [](const auto& info) {
  return info.param ? "AsStates" : "AsInputsAndOutputs";
});

TEST_P(EveryForm, PrefillOfAnyLengthEqualsSingleStepsBitForBit) {
  const LoadedFake fake(options());
  const auto ids = prompt_of(2 * 64 + 6);
  const auto expected = single_steps(fake, ids);
  ASSERT_TRUE(std::isfinite(expected.back()[0]));
  auto session = fake.session();
  for (std::size_t length = 1; length < ids.size(); ++length) {
    session->reset();
    const Status status = session->prefill(std::span(ids).first(length));
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(copy(session->logits()), expected[length - 1]) << "length " << length;
    // The caches are right too: the token after the prompt attends to them all.
    auto next = session->decode(ids[length]);
    ASSERT_TRUE(next.ok());
    ASSERT_EQ(copy(*next), expected[length]) << "after length " << length;
  }
}

TEST_P(EveryForm, LogitsOfAllPositionsEqualSingleStepsBitForBit) {
  const LoadedFake fake(options());
  const auto ids = prompt_of(133);
  const auto expected = single_steps(fake, ids);
  auto session = fake.session();
  std::vector<Logits> got;
  PrefillOptions prefill;
  prefill.on_logits = [&](std::int64_t position, std::span<const float> logits) -> Status {
    EXPECT_EQ(position, static_cast<std::int64_t>(got.size()));
    got.push_back(copy(logits));
    return {};
  };
  ASSERT_TRUE(session->prefill(ids, prefill).ok());
  EXPECT_EQ(got, expected);
  EXPECT_EQ(copy(session->logits()), expected.back());
}

TEST_P(EveryForm, ContinuedSessionEqualsOneFromScratch) {
  const LoadedFake fake(options());
  const auto ids = prompt_of(190);
  const auto expected = single_steps(fake, ids);
  for (const std::size_t first : {1U, 5U, 63U, 64U, 65U, 100U}) {
    auto session = fake.session();
    ASSERT_TRUE(session->prefill(std::span(ids).first(first)).ok());
    ASSERT_TRUE(session->prefill(std::span(ids).subspan(first)).ok());
    EXPECT_EQ(copy(session->logits()), expected.back()) << "after " << first;
  }
}

TEST_P(EveryForm, SessionThatWasCutEqualsOneFromScratch) {
  const LoadedFake fake(options());
  const auto ids = prompt_of(150);
  const auto expected = single_steps(fake, ids);
  for (const std::int64_t cut : {0, 1, 37, 64, 99}) {
    auto session = fake.session();
    std::vector<std::int32_t> other = prompt_of(180, 99);
    std::copy_n(ids.begin(), cut, other.begin());
    ASSERT_TRUE(session->prefill(other).ok());
    ASSERT_TRUE(session->truncate(cut).ok());
    EXPECT_TRUE(session->logits().empty());
    ASSERT_TRUE(session->prefill(std::span(ids).subspan(static_cast<std::size_t>(cut))).ok());
    EXPECT_EQ(copy(session->logits()), expected.back()) << "cut at " << cut;
    EXPECT_EQ(session->tokens(), ids);
  }
}

TEST_P(EveryForm, SessionThatWasResetEqualsANewOne) {
  const LoadedFake fake(options());
  const auto ids = prompt_of(70);
  auto session = fake.session();
  ASSERT_TRUE(session->prefill(prompt_of(150, 3)).ok());
  session->reset();
  EXPECT_EQ(session->position(), 0);
  ASSERT_TRUE(session->prefill(ids).ok());
  EXPECT_EQ(copy(session->logits()), single_steps(fake, ids).back());
}

TEST_P(EveryForm, FullContextIsUsedToTheLastPosition) {
  const LoadedFake fake(options());
  const auto ids = prompt_of(200);
  const auto expected = single_steps(fake, ids);
  auto session = fake.session();
  ASSERT_TRUE(session->prefill(ids).ok());
  EXPECT_EQ(copy(session->logits()), expected.back());
  const Status full = session->decode(1).status();
  EXPECT_EQ(full.code(), Code::kInvalidArgument);
  EXPECT_EQ(full.message(), "[fake] expected at most 200 tokens (the context), got 201");
  EXPECT_EQ(session->position(), 200);
}

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

TEST_P(EveryForm, SessionIsStillGoodAfterAFailedRun) {
  LoadedFake fake(options());
  auto session = fake.session();
  const auto ids = prompt_of(100);
  // The third run fails, which is that of the second shard: chunks go through a shard together.
  fake.executor.counts().fail_after = 3;
  const Status status = session->prefill(ids);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("layers_1.mlpackage"), std::string::npos) << status.message();
  EXPECT_EQ(session->position(), 0);
  fake.executor.counts().fail_after = -1;
  ASSERT_TRUE(session->prefill_to(ids).ok());
  EXPECT_EQ(copy(session->logits()), single_steps(fake, ids).back());
}

TEST_P(EveryForm, SessionGoesOnAfterAFailedRun) {
  LoadedFake fake(options());
  const auto ids = prompt_of(100);
  const auto wanted = single_steps(fake, ids);
  auto session = fake.session();
  ASSERT_TRUE(session->prefill(std::span(ids).first(90)).ok());
  fake.executor.counts().fail_after = 1;
  EXPECT_EQ(session->decode(ids[90]).status().code(), Code::kInternal);
  fake.executor.counts().fail_after = -1;
  ASSERT_EQ(session->position(), 90);
  for (std::size_t i = 90; i < ids.size(); ++i) {
    ASSERT_TRUE(session->decode(ids[i]).ok());
    EXPECT_EQ(copy(session->logits()), wanted[i]) << i;
  }
  // All of a batch, not only the session that failed.
  auto other = fake.session();
  ASSERT_TRUE(session->truncate(50).ok());
  ASSERT_TRUE(other->prefill(std::span(ids).first(60)).ok());
  fake.executor.counts().fail_after = 1;
  const DecodeStep steps[] = {{other.get(), ids[60]}, {session.get(), ids[50]}};
  EXPECT_EQ(decode_batch(steps).code(), Code::kInternal);
  fake.executor.counts().fail_after = -1;
  ASSERT_TRUE(decode_batch(steps).ok());
  EXPECT_EQ(copy(other->logits()), wanted[60]);
  EXPECT_EQ(copy(session->logits()), wanted[50]);
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

TEST_P(EveryForm, SessionsDecodeInABatchAsTheyDoAlone) {
  const LoadedFake fake(options());
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<std::int32_t>> ids;
  for (std::uint32_t i = 0; i < 5; ++i) {
    ids.push_back(prompt_of(20 + 3 * i, i));
    sessions.push_back(fake.session());
    ASSERT_TRUE(sessions[i]->prefill(std::span(ids[i]).first(10 + 3 * i)).ok());
  }
  for (std::size_t step = 0; step < 10; ++step) {
    std::vector<DecodeStep> steps;
    for (std::size_t i = 0; i < sessions.size(); ++i)
      steps.push_back({sessions[i].get(), ids[i][10 + 3 * i + step]});
    const Status status = decode_batch(steps);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    EXPECT_EQ(sessions[i]->tokens(), ids[i]);
    EXPECT_EQ(copy(sessions[i]->logits()), single_steps(fake, ids[i]).back());
  }
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
