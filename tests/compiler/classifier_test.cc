// SPDX-License-Identifier: Apache-2.0
// Models that label tokens: checkpoint, packages, labels.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <span>

#include "checkpoint/safetensors.h"
#include "compiler/compiler.h"
#include "engine/loop/engine.h"
#include "engine/session/session.h"
#include "tests/compiler/golden.h"
#include "tests/support/cosine.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::shared_path;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

class Classifiers : public ::testing::TestWithParam<Checkpoint> {
 protected:
  void SetUp() override {
    if (!is_present(GetParam())) GTEST_SKIP() << "absent: " << GetParam().path;
    const auto file = checkpoint::SafetensorsFile::open(GetParam().path + "/golden.safetensors");
    ASSERT_TRUE(file.ok());
    const checkpoint::WeightRef* ids = (*file)->find("input_ids");
    for (std::int64_t i = 0; i < ids->view().size(); ++i)
      ids_.push_back(static_cast<std::int32_t>(element_as_int(ids->view(), i)));
    logits_ = to_floats((*file)->find("logits")->view());
  }

  std::vector<float> classify(const CompileOptions& options, std::span<const std::int32_t> ids) {
    const auto model = compile_and_load(GetParam(), folder_.file("artifact"), options);
    if (model == nullptr) return {};
    engine::Engine engine({});
    auto logits = engine::classify(engine, model, {ids.begin(), ids.end()}, {});
    EXPECT_TRUE(logits.ok()) << logits.status().message();
    return logits.ok() ? *logits : std::vector<float>{};
  }

  CompileOptions exact(std::int64_t context) const {
    return {.precision = DType::kFp32,
            .recipe = {.quant = {.scheme = quant::Scheme::kNone}},
            .context = context};
  }

  float worst(const std::vector<float>& got, std::span<const float> wanted) const {
    EXPECT_EQ(got.size(), wanted.size());
    float most = 0;
    for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i)
      most = std::max(most, std::isfinite(got[i]) ? std::abs(got[i] - wanted[i]) : INFINITY);
    return most;
  }

  TemporaryFolder folder_;
  std::vector<std::int32_t> ids_;
  std::vector<float> logits_;
};

// The bound of parity_test: sums in another order.
TEST_P(Classifiers, Fp32GivesTheGoldenLogits) {
  const auto tokens = static_cast<std::int64_t>(ids_.size());
  // The function is as wide as the text, or wider: no token attends to the padding.
  for (const std::int64_t context : {tokens, tokens + 7})
    EXPECT_LE(worst(classify(exact(context), ids_), logits_), 2e-3F) << context;
}

TEST_P(Classifiers, Fp16LabelsAlike) {
  CompileOptions options;
  options.recipe = {.quant = {.scheme = quant::Scheme::kNone}};
  options.context = 64;
  const std::vector<float> got = classify(options, ids_);
  ASSERT_EQ(got.size(), logits_.size());
  const std::size_t labels = logits_.size() / ids_.size();
  std::vector<double> cosines;
  for (std::size_t row = 0; row < got.size(); row += labels) {
    const auto a = std::span(got).subspan(row, labels);
    const auto b = std::span(logits_).subspan(row, labels);
    cosines.push_back(anemone::testing::cosine(a, b));
    EXPECT_EQ(std::ranges::max_element(a) - a.begin(), std::ranges::max_element(b) - b.begin());
  }
  std::ranges::sort(cosines);
  EXPECT_GE(cosines[cosines.size() / 2], 0.9999);
}

// Three layers of three (five) tokens to each side: a window of T gives T - 2 * 9 (15) labels.
TEST_P(Classifiers, WindowsGiveTheLogitsOfTheWholeText) {
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 5; ++i) ids.insert(ids.end(), ids_.begin(), ids_.end());
  const std::vector<float> whole = classify(exact(static_cast<std::int64_t>(ids.size())), ids);
  // Other angles of the rope and other padding: roundings of fp32.
  EXPECT_LE(worst(classify(exact(40), ids), whole), 2e-3F);
}

// Parts of layers and packages of experts give the bits of the plain graph in fp32.
TEST_P(Classifiers, ExpertsApartGiveTheSameNumbers) {
  CompileOptions options = exact(static_cast<std::int64_t>(ids_.size()));
  const std::vector<float> whole = classify(options, ids_);
  ASSERT_EQ(whole.size(), logits_.size());
  options.packages = ane::plan_of_shards("2KB");
  EXPECT_TRUE(classify(options, ids_) == whole);
  options.form.experts = artifact::ExpertsForm::kPacks;
  EXPECT_TRUE(classify(options, ids_) == whole);
}

TEST_P(Classifiers, RefuseWhatTheyCannotDo) {
  const auto model = compile_and_load(GetParam(), folder_.file("artifact"), exact(16));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(engine::Session::create(model).status().code(), Code::kUnsupported);
  engine::Engine engine({});
  const auto classify = [&](std::vector<std::int32_t> ids) {
    return engine::classify(engine, model, std::move(ids), {});
  };
  EXPECT_EQ(classify({}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(classify({1 << 20}).status().code(), Code::kInvalidArgument);
  // Sixteen tokens have no inner ones that attend to everything they could.
  const auto refused = classify(ids_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("--context"), std::string::npos);
  EXPECT_TRUE(classify({ids_.begin(), ids_.begin() + 16}).ok());

  CompileOptions greedy = exact(16);
  greedy.form.head = artifact::HeadForm::kArgmax;
  EXPECT_EQ(compile(GetParam().path, folder_.file("other"), greedy).status().code(),
            Code::kUnsupported);
}

std::vector<Checkpoint> classifiers() {
  const std::string shared = "data/models/openai_privacy_filter";
  return {
      {"tiny_openai_privacy_filter", source_path("tests/compiler/data/tiny/openai_privacy_filter")},
      {"shared_openai_privacy_filter", shared_path(shared).value_or(shared), true}};
}

INSTANTIATE_TEST_SUITE_P(, Classifiers, ::testing::ValuesIn(classifiers()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing
