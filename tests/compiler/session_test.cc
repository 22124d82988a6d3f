// SPDX-License-Identifier: Apache-2.0
// Sessions over real packages: what is in the caches is a function of the tokens alone.
#include "engine/session/session.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "engine/loop/engine.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

class RealSession : public ::testing::TestWithParam<Checkpoint> {
 protected:
  void SetUp() override {
    if (!is_present(GetParam())) GTEST_SKIP() << "absent: " << GetParam().path;
    golden_ = read_golden(GetParam());
    CompileOptions options;
    options.prefill = 8;
    options.context = 64;
    model_ = compiled_model(GetParam(), options);
    ASSERT_NE(model_, nullptr);
  }

  std::unique_ptr<engine::Session> session() {
    auto created = engine::Session::create(model_);
    EXPECT_TRUE(created.ok()) << created.status().message();
    return created.ok() ? std::move(created).value() : nullptr;
  }
  std::vector<std::int32_t> first(std::size_t count) const {
    return {golden_.prompt.begin(), golden_.prompt.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  // Logits after `ids`, in a session of their own.
  std::vector<float> from_scratch(const std::vector<std::int32_t>& ids) {
    const auto fresh = session();
    const Status status = fresh->prefill(ids);
    EXPECT_TRUE(status.ok()) << status.message();
    return {fresh->logits().begin(), fresh->logits().end()};
  }

  Golden golden_;
  std::shared_ptr<const engine::Model> model_;
};

std::vector<float> logits_of(const engine::Session& session) {
  return {session.logits().begin(), session.logits().end()};
}

// All lengths, because an error at the end of a chunk shows at some of them alone: another runtime
// lost the last token of a prompt whose length was one above a multiple of 4.
TEST_P(RealSession, PromptsOfEveryLengthEqualSingleSteps) {
  const auto stepped = session();
  for (std::size_t length = 1; length <= std::min<std::size_t>(golden_.prompt.size(), 42);
       ++length) {
    const auto logits = stepped->decode(golden_.prompt[length - 1]);
    ASSERT_TRUE(logits.ok()) << logits.status().message();
    EXPECT_TRUE(from_scratch(first(length)) == std::vector<float>(logits->begin(), logits->end()))
        << "length " << length;
  }
}

TEST_P(RealSession, AContinuedSessionEqualsOneFromScratch) {
  const auto continued = session();
  ASSERT_TRUE(continued->prefill(first(5)).ok());
  ASSERT_TRUE(continued->decode(golden_.prompt[5]).ok());
  const auto rest = first(std::min<std::size_t>(golden_.prompt.size(), 20));
  ASSERT_TRUE(continued->prefill(std::span(rest).subspan(6)).ok());
  EXPECT_TRUE(logits_of(*continued) == from_scratch(rest));
}

TEST_P(RealSession, ACutSessionEqualsOneFromScratch) {
  const auto cut = session();
  ASSERT_TRUE(cut->prefill(golden_.prompt).ok());
  const auto prompt = first(std::min<std::size_t>(golden_.prompt.size(), 10));
  const auto kept = cut->prefill_to(prompt);
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  // Keys that were rotated for a long text are of no use in a short one, and recurrent states
  // cannot be cut.
  const auto whole = static_cast<std::int64_t>(golden_.prompt.size());
  const bool is_recurrent =
      std::ranges::any_of(model_->manifest().shards, [](const artifact::Shard& shard) {
        return std::ranges::any_of(shard.caches, &artifact::Cache::is_recurrent);
      });
  EXPECT_EQ(*kept,
            !is_recurrent && model_->manifest().has_same_ropes(whole, std::ssize(prompt)) ? 9 : 0);
  EXPECT_TRUE(logits_of(*cut) == from_scratch(prompt));
}

// What the engine kept of other texts changes no answer: of one that goes on, of one with another
// end, and of the same one again.
TEST_P(RealSession, PromptsThatTheEngineHasReadBeforeGiveTheSameText) {
  const auto prompt = first(std::min<std::size_t>(golden_.prompt.size(), 20));
  const std::vector<std::int32_t> begin(prompt.begin(), prompt.end());
  engine::GenerateOptions options;
  options.max_new_tokens = 4;
  options.ignore_eos = true;
  options.as_text = false;
  const auto text_of = [&](engine::Engine& engine, const std::vector<std::int32_t>& ids) {
    auto result = engine::generate(engine, model_, ids, options);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *std::move(result) : engine::GenerateResult();
  };
  const auto alone = [&](const std::vector<std::int32_t>& ids) {
    engine::Engine engine({});
    return text_of(engine, ids).ids;
  };
  engine::Engine engine({});
  const auto read = text_of(engine, begin);
  std::vector<std::int32_t> next = begin;
  next.insert(next.end(), read.ids.begin(), read.ids.end());
  next.push_back(begin.front());
  std::vector<std::int32_t> other = begin;
  other.insert(other.end(), {begin[1], begin[0], begin[2]});
  for (const auto& [ids, least] : {std::pair(next, std::ssize(begin) + 3),
                                   std::pair(other, std::ssize(begin)), std::pair(begin, 0L)}) {
    const auto got = text_of(engine, ids);
    EXPECT_EQ(got.ids, alone(ids));
    // A text that has grown beyond the short length of a rope serves no shorter one.
    const std::int64_t longest = std::ssize(next) + options.max_new_tokens;
    const bool has_same_ropes = model_->manifest().has_same_ropes(std::ssize(begin), longest);
    EXPECT_GE(got.timing.reused_tokens, has_same_ropes ? least : 0);
  }
}

TEST_P(RealSession, ACutOrResetSessionGoesOnAsOneFromScratch) {
  const auto cut = session();
  const auto prompt = first(std::min<std::size_t>(golden_.prompt.size(), 12));
  ASSERT_TRUE(cut->prefill(golden_.prompt).ok());
  ASSERT_TRUE(cut->truncate(std::ssize(prompt) - 1).ok());
  ASSERT_TRUE(cut->decode(prompt.back()).ok());
  EXPECT_TRUE(logits_of(*cut) == from_scratch(prompt));
  ASSERT_TRUE(cut->truncate(0).ok());
  ASSERT_TRUE(cut->prefill(prompt).ok());
  EXPECT_TRUE(logits_of(*cut) == from_scratch(prompt));
  cut->reset();
  ASSERT_TRUE(cut->prefill(prompt).ok());
  EXPECT_TRUE(logits_of(*cut) == from_scratch(prompt));
}

TEST_P(RealSession, TwoSessionsOfOneModelDoNotDisturbEachOther) {
  const auto one = session();
  const auto other = session();
  ASSERT_TRUE(one->prefill(first(9)).ok());
  auto reversed = golden_.prompt;
  std::reverse(reversed.begin(), reversed.end());
  ASSERT_TRUE(other->prefill(reversed).ok());
  ASSERT_TRUE(one->decode(golden_.prompt[9]).ok());
  EXPECT_TRUE(logits_of(*one) == from_scratch(first(10)));
}

// Each at another place of its text: some of them outgrow what they began with on the way.
TEST_P(RealSession, SessionsThatDecodeInABatchEqualOnesFromScratch) {
  std::vector<std::unique_ptr<engine::Session>> sessions;
  for (const std::size_t length : {3U, 11U, 6U}) {
    sessions.push_back(session());
    ASSERT_TRUE(sessions.back()->prefill(first(length)).ok());
  }
  for (std::int32_t id = 3; id < 12; ++id) {
    std::vector<engine::DecodeStep> steps;
    for (const auto& each : sessions) steps.push_back({each.get(), id});
    const Status status = engine::decode_batch(steps);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const auto& each : sessions)
      EXPECT_TRUE(logits_of(*each) == from_scratch(each->tokens())) << each->position();
  }
}

// Prompts that come together share the passes over the weights, and one of them is cancelled.
TEST_P(RealSession, PromptsThatAreReadTogetherGiveTheTextsOfRunsAlone) {
  struct Asked {
    std::vector<std::int32_t> prompt;
    std::shared_ptr<std::atomic<bool>> cancel = std::make_shared<std::atomic<bool>>(false);
    std::optional<Result<engine::GenerateResult>> end;
  };
  const auto submit = [&](engine::Engine& engine, Asked& asked) {
    engine::Request request;
    request.model = model_;
    request.cancel = asked.cancel;
    engine::Choice& choice = request.choices.emplace_back();
    choice.prompt = asked.prompt;
    choice.options.max_new_tokens = 4;
    choice.options.ignore_eos = true;
    choice.options.as_text = false;
    choice.on_end = [&](Result<engine::GenerateResult> end) { asked.end = std::move(end); };
    ASSERT_TRUE(engine.submit(std::move(request)).ok());
  };
  std::vector<Asked> all;
  for (const std::size_t length : {19U, 3U, 8U, 17U, 12U}) {
    auto ids = first(std::min(golden_.prompt.size(), length));
    std::rotate(ids.begin(), ids.begin() + std::ssize(all), ids.end());
    all.emplace_back().prompt = ids;
  }
  engine::Engine engine({.sequences = all.size()});
  for (Asked& asked : all) submit(engine, asked);
  engine.turn();
  *all[2].cancel = true;
  while (engine.turn()) {
  }
  for (const Asked& asked : all) {
    ASSERT_TRUE(asked.end.has_value() && asked.end->ok());
    if (&asked == &all[2]) {
      EXPECT_EQ((*asked.end)->finish, engine::FinishReason::kCancelled);
      continue;
    }
    engine::Engine other({});
    Asked alone;
    alone.prompt = asked.prompt;
    submit(other, alone);
    while (other.turn()) {
    }
    ASSERT_TRUE(alone.end.has_value() && alone.end->ok());
    EXPECT_EQ((*asked.end)->ids, (*alone.end)->ids);
  }
}

// Choices of one request, more than may run at a time: recurrent states serve them, too.
TEST_P(RealSession, ChoicesReadTheirPromptOnce) {
  std::vector<std::int32_t> prompt;
  while (prompt.size() < 40) prompt.push_back(golden_.prompt[prompt.size() % 7]);
  engine::Engine engine({.sequences = 2});
  std::vector<Result<engine::GenerateResult>> ends;
  engine::Request request;
  request.model = model_;
  for (int i = 0; i < 4; ++i) {
    engine::Choice& choice = request.choices.emplace_back();
    choice.prompt = prompt;
    choice.options.max_new_tokens = 3 + i;
    choice.options.ignore_eos = true;
    choice.options.as_text = false;
    choice.on_end = [&](Result<engine::GenerateResult> end) { ends.push_back(std::move(end)); };
  }
  ASSERT_TRUE(engine.submit(std::move(request)).ok());
  while (engine.turn()) {
  }
  ASSERT_EQ(ends.size(), 4U);
  std::int64_t read = 0;
  for (const auto& end : ends) {
    ASSERT_TRUE(end.ok()) << end.status().message();
    read += std::ssize(prompt) - end->timing.reused_tokens;
    EXPECT_TRUE(std::ranges::equal(std::span(end->ids).first(3), std::span(ends[0]->ids).first(3)));
  }
  // A text that has grown beyond the short length of a rope serves no shorter one.
  if (model_->manifest().has_same_ropes(std::ssize(prompt), std::ssize(prompt) + 6)) {
    EXPECT_LE(read, std::ssize(prompt) + 3) << "the last token of the others, for its logits";
  }
}

INSTANTIATE_TEST_SUITE_P(, RealSession, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing
