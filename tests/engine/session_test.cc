// SPDX-License-Identifier: Apache-2.0
// What a session computes, in every form of its caches: the bits of single steps.
#include "engine/session/session.h"

#include <cmath>
#include <gtest/gtest.h>
#include <ostream>
#include <string>

#include "tests/engine/loaded_fake.h"

namespace anemone::engine {
namespace {

using testing::copy;
using testing::FakeOptions;
using testing::LoadedFake;
using testing::Logits;
using testing::prompt_of;
using testing::single_steps;

struct Form {
  const char* name;
  bool states;
  bool head_inside = false;

  friend void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }
};

class EveryForm : public ::testing::TestWithParam<Form> {
 protected:
  FakeOptions options() const {
    FakeOptions out;
    out.states = GetParam().states;
    out.head_inside = GetParam().head_inside;
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Caches, EveryForm,
                         ::testing::Values(Form{"AsInputsAndOutputs", false},
                                           Form{"AsStates", true},
                                           Form{"BesideHeads", false, true}),
                         [](const auto& info) { return std::string(info.param.name); });

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
  EXPECT_EQ(full.message(),
            "[fake] expected at most 200 tokens (the context of the compiled model), got 201");
  EXPECT_EQ(session->position(), 200);
}

TEST_P(EveryForm, SessionIsStillGoodAfterAFailedRun) {
  LoadedFake fake(options());
  auto session = fake.session();
  const auto ids = prompt_of(100);
  // The fourth run fails, which is one of the second shard: chunks go through a shard together, but
  // for those that give logits.
  fake.executor.counts().fail_after = 3;
  const Status status = session->prefill(ids);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("layers_1.mlpackage"), std::string::npos) << status.message();
  EXPECT_EQ(session->position(), GetParam().head_inside ? 64 : 0);
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

// Prompts of different lengths, after different beginnings: one step with all of them.
TEST_P(EveryForm, SequencesReadPromptsInABatchAsTheyDoAlone) {
  const LoadedFake fake(options());
  StepRunner runner(fake.model);
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<std::vector<std::int32_t>> ids;
  const auto step = [&](const auto& rest_of) {
    std::vector<StepItem> items;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const std::span<const std::int32_t> rest = rest_of(i);
      sequences[i]->prepare(sequences[i]->position() + std::ssize(rest));
      items.push_back({sequences[i].get(), rest});
    }
    runner.step(items);
    for (const StepItem& item : items) {
      ASSERT_TRUE(item.status.ok()) << item.status.message();
      EXPECT_EQ(item.done, std::ssize(item.ids));
    }
  };
  const auto split = [](std::size_t i) { return 2 + 5 * i; };
  for (std::uint32_t i = 0; i < 6; ++i) {
    ids.push_back(prompt_of(60 - 4 * i, i));
    sequences.push_back(*Sequence::create(fake.model));
  }
  step([&](std::size_t i) { return std::span(ids[i]).first(split(i)); });
  step([&](std::size_t i) { return std::span(ids[i]).subspan(split(i)); });
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    EXPECT_EQ(sequences[i]->tokens(), ids[i]);
    EXPECT_EQ(copy(sequences[i]->prediction().row->logits()), single_steps(fake, ids[i]).back());
  }
}

}  // namespace
}  // namespace anemone::engine
