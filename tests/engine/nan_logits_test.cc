// SPDX-License-Identifier: Apache-2.0
// Logits that are no numbers: an error that names the position, and nothing of it stays.
#include <gtest/gtest.h>
#include <limits>

#include "engine/agreement.h"
#include "engine/loop/engine.h"
#include "engine/session/logit_check.h"
#include "engine/session/session.h"
#include "tests/engine/fake_model.h"

namespace anemone::engine {
namespace {

using testing::FakeExecutor;
using testing::FakeOptions;

TEST(LogitCheck, NanAndNothingButMinusInfinityAreRefused) {
  using Values = std::vector<float>;
  constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(check_logits(Values{1, -kInfinity, 2}, "m", 3).ok());
  EXPECT_TRUE(check_logits(Values{kInfinity, 1}, "m", 3).ok());
  EXPECT_EQ(check_logits(Values{1, kNoNumber, 2}, "m", 3).message(),
            "[m] the logits at position 3 cannot be used: 1 of 3 are NaN");
  EXPECT_EQ(check_logits(Values{-kInfinity, -kInfinity}, "m", 3).message(),
            "[m] the logits at position 3 cannot be used: all 2 are minus infinity");
}

class NanLogits : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    FakeOptions options;
    options.states = GetParam();
    testing::write_fake_artifact(folder_.path(), options);
    executor_.emplace(testing::fake_manifest(options));
    auto loaded = Model::load(folder_.path(), *executor_);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model_ = *loaded;
    for (int i = 0; i < 70; ++i) ids_.push_back(i * 7 % 50);
    expected_ = logits_of(*new_session());
  }
  std::unique_ptr<Session> new_session() const { return std::move(*Session::create(model_)); }
  std::vector<float> logits_of(Session& session) const {
    const Status status = session.prefill(ids_);
    EXPECT_TRUE(status.ok()) << status.message();
    return {session.logits().begin(), session.logits().end()};
  }
  std::span<const std::int32_t> first(std::size_t count) const {
    return std::span(ids_).first(count);
  }
  void begin_nan() { executor_->counts().nan_after = 0; }
  void expect_nan(const Status& status, std::string_view position) {
    executor_->counts().nan_after = -1;
    EXPECT_EQ(status.code(), Code::kCorrupt);
    EXPECT_NE(status.message().find("are NaN"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(position), std::string::npos) << status.message();
  }
  // The caches held NaN, which no mask hides: 0 times NaN is NaN.
  void expect_clean(Session& session) {
    EXPECT_EQ(session.position(), 0);
    EXPECT_TRUE(session.logits().empty());
    EXPECT_EQ(logits_of(session), expected_);
    session.reset();
  }

  anemone::testing::TemporaryFolder folder_;
  std::optional<FakeExecutor> executor_;
  std::shared_ptr<const Model> model_;
  std::vector<std::int32_t> ids_;
  std::vector<float> expected_;
};
INSTANTIATE_TEST_SUITE_P(Caches, NanLogits, ::testing::Values(false, true), [](const auto& info) {
  return info.param ? "AsStates" : "AsInputsAndOutputs";
});

TEST_P(NanLogits, EndEveryKindOfStepAndStayNowhere) {
  const auto session = new_session();
  ASSERT_TRUE(session->prefill(first(5)).ok());
  begin_nan();
  expect_nan(session->decode(ids_[5]).status(), "position 5 ");
  expect_clean(*session);

  begin_nan();
  expect_nan(session->prefill(first(66)), "position 65 ");
  expect_clean(*session);

  begin_nan();
  PrefillOptions prefill;
  prefill.on_logits = [](std::int64_t, std::span<const float>) { return Status(); };
  expect_nan(session->prefill(ids_, prefill), "position 0 ");
  expect_clean(*session);

  ASSERT_TRUE(session->prefill(first(5)).ok());
  begin_nan();
  const DecodeStep step{session.get(), ids_[5]};
  expect_nan(decode_batch({&step, 1}), "position 5 ");
  expect_clean(*session);
}

TEST_P(NanLogits, EndAnAnswerInsteadOfGivingAToken) {
  Engine engine({});
  GenerateOptions options;
  options.max_new_tokens = 10;
  options.ignore_eos = true;
  int tokens = 0;
  options.on_piece = [&](const TextPiece&) {
    if (++tokens == 3) begin_nan();
    return Status();
  };
  for (const bool is_greedy : {true, false}) {
    tokens = 0;
    options.sampling.greedy = is_greedy;
    expect_nan(generate(engine, model_, {ids_.begin(), ids_.begin() + 5}, options).status(),
               "position 7 ");
    EXPECT_EQ(tokens, 3);
    // The next text does not find what the caches hold now.
    executor_->counts().nan_after = -1;
    GenerateOptions one;
    one.max_new_tokens = 1;
    const auto next = generate(engine, model_, {ids_.begin(), ids_.begin() + 5}, one);
    ASSERT_TRUE(next.ok()) << next.status().message();
    EXPECT_EQ(next->timing.reused_tokens, 0);
  }
}

TEST_P(NanLogits, EndAComparison) {
  executor_->counts().nan_after = 5;
  expect_nan(compare_models(model_, model_, ids_, {}).status(), "position ");
}

}  // namespace
}  // namespace anemone::engine
