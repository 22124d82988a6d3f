// SPDX-License-Identifier: Apache-2.0
#include "engine/agreement.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>

#include "tests/engine/fake_model.h"

namespace anemone::engine {
namespace {

using Logits = std::vector<float>;

artifact::Agreement measure(
    const std::vector<std::tuple<Logits, Logits, std::int32_t>>& positions) {
  AgreementMeter meter;
  for (const auto& [reference, logits, next] : positions)
    EXPECT_TRUE(meter.add(reference, logits, next).ok());
  return meter.result();
}

TEST(Agreement, OfEqualLogitsIsComplete) {
  const auto value = measure({{{1, 2, 3}, {1, 2, 3}, 0}, {{3, 2, 1}, {3, 2, 1}, -1}});
  EXPECT_EQ(value.tokens, 2);
  EXPECT_DOUBLE_EQ(value.cosine_min, 1);
  EXPECT_EQ(value.top1, 1);
  EXPECT_EQ(value.top1_near, 1);
  EXPECT_EQ(value.perplexity, value.reference_perplexity);
}

TEST(Agreement, CosinesAreThoseOfTheAngle) {
  const auto value = measure({{{1, 0}, {0, 5}, 0}, {{1, 0}, {1, 1}, 0}, {{1, 0}, {2, 0}, 0}});
  EXPECT_DOUBLE_EQ(value.cosine_min, 0);
  EXPECT_DOUBLE_EQ(value.cosine_median, std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(value.cosine_mean, (std::sqrt(0.5) + 1) / 3);
}

TEST(Agreement, PerplexityIsThatOfTheNextTokens) {
  // Four equal logits: each token has a quarter. A lead of ln 3 over three others: a half.
  const auto lead = static_cast<float>(std::log(3.0));
  const auto value = measure(
      {{{0, 0, 0, 0}, {0, lead, 0, 0}, 1}, {{0, 0, 0, 0}, {0, lead, 0, 0}, 1}, {{1}, {1}, -1}});
  EXPECT_DOUBLE_EQ(value.reference_perplexity, 4);
  EXPECT_NEAR(value.perplexity, 2, 1e-6);  // ln 3 in fp32
}

TEST(Agreement, ANearTieIsNoDisagreement) {
  // exp(-0.1) = 0.905 of the likelihood, exp(-0.11) = 0.896.
  const auto value = measure({{{1.0F, 0.9F}, {0.9F, 1.0F}, 0}, {{1.0F, 0.89F}, {0.9F, 1.0F}, 0}});
  EXPECT_EQ(value.top1, 0);
  EXPECT_EQ(value.top1_near, 0.5);
}

TEST(Agreement, LogitsThatAreNoNumbersFailAndStayCountable) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Logits& broken : {Logits{kNan, 0}, Logits{0, kNan}, Logits{kInfinity, 0}}) {
    const auto value = measure({{{1, 0}, broken, 0}});
    EXPECT_EQ(value.cosine_min, 0);
    EXPECT_EQ(value.top1, 0);
    EXPECT_EQ(value.top1_near, 0);
    EXPECT_TRUE(std::isfinite(value.perplexity));
    EXPECT_FALSE(artifact::meets(value, {.min_cosine = -1, .min_top1 = 0}));
  }
  AgreementMeter meter;
  EXPECT_EQ(meter.add(Logits{kNan, 0}, Logits{1, 0}, 0).code(), Code::kCorrupt);
}

class CompareModels : public ::testing::Test {
 protected:
  std::shared_ptr<const Model> load(const testing::FakeOptions& options) {
    const std::string path = folder_.file(std::to_string(count_++));
    std::filesystem::create_directory(path);
    testing::write_fake_artifact(path, options);
    testing::FakeExecutor executor(testing::fake_manifest(options));
    auto model = Model::load(path, executor);
    EXPECT_TRUE(model.ok()) << model.status().message();
    return model.ok() ? *model : nullptr;
  }
  static std::vector<std::int32_t> ids(std::size_t count) {
    std::vector<std::int32_t> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::int32_t>(i * 7 % 50);
    return out;
  }

  anemone::testing::TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(CompareModels, ReadsEveryTokenWhateverTheWidthsAre) {
  const auto reference = load({});
  std::int64_t last = 0;
  CompareOptions options;
  options.on_progress = [&](std::int64_t done, std::int64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, 150);
    last = done;
  };
  // The fake model does not depend on its widths; 7 divides neither the chunk nor the tokens.
  const auto value = compare_models(reference, load({.widths = {1, 7}}), ids(150), options);
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_EQ(last, 150);
  EXPECT_EQ(value->tokens, 150);
  EXPECT_DOUBLE_EQ(value->cosine_min, 1);
  EXPECT_EQ(value->top1, 1);
  EXPECT_EQ(value->perplexity, value->reference_perplexity);
}

TEST_F(CompareModels, SeesAnotherModel) {
  const auto value = compare_models(load({}), load({.window = 0}), ids(100));
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_LT(value->cosine_min, 0.9999);
}

TEST_F(CompareModels, RefusesWhatCannotBeCompared) {
  const auto model = load({});
  const auto code = [&](std::span<const std::int32_t> list) {
    return compare_models(model, model, list).status().code();
  };
  EXPECT_EQ(code({}), Code::kInvalidArgument);
  EXPECT_EQ(code(ids(1)), Code::kInvalidArgument);
  EXPECT_EQ(code(ids(201)), Code::kInvalidArgument);  // the context is 200
  EXPECT_EQ(code(std::vector<std::int32_t>{1, 50}), Code::kInvalidArgument);
  EXPECT_EQ(code(std::vector<std::int32_t>{1, -1}), Code::kInvalidArgument);
  EXPECT_EQ(compare_models(model, load({.vocab = 49}), ids(3)).status().code(),
            Code::kInvalidArgument);
  const std::atomic<bool> cancel = true;
  CompareOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(compare_models(model, model, ids(10), options).status().code(), Code::kCancelled);
}

}  // namespace
}  // namespace anemone::engine
