// SPDX-License-Identifier: Apache-2.0
// Heads with several outputs in one package give the bits of heads with one.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/compiler/golden.h"
#include "tests/compiler/wide_checkpoint.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

constexpr std::size_t kOutputs = 3;
constexpr std::size_t kAnswer = 6;

class SplitHeads : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { write_wide(GetParam(), folder_.file("checkpoint")); }

  static std::vector<CompileOptions> bases() {
    CompileOptions exact;
    exact.precision = DType::kFp32;
    exact.recipe.quant.scheme = quant::Scheme::kNone;
    exact.context = 32;
    exact.prefill = 8;
    CompileOptions half = exact;
    half.precision = DType::kFp16;
    CompileOptions quantized = half;
    quantized.recipe.quant.scheme = quant::Scheme::kInt8Channel;
    quantized.recipe.quant.threshold = 0;
    CompileOptions palettes = half;
    palettes.recipe.quant.scheme = quant::Scheme::kLut4;
    return {exact, half, quantized, palettes};
  }
  std::shared_ptr<const engine::Model> load(const CompileOptions& options) {
    return compile_and_load({GetParam(), folder_.file("checkpoint")}, folder_.file("artifact"),
                            options);
  }

  // Ids of all three outputs.
  const std::vector<std::int32_t> prompt_ = {3, 20'000, 39'998, 17, 13'343, 13'344, 39'999, 2, 8};
  TemporaryFolder folder_;
};

TEST_P(SplitHeads, GiveTheLogitsOfWholeOnes) {
  for (CompileOptions options : bases()) {
    SCOPED_TRACE(options.recipe.description() + " " + std::string(dtype_name(options.precision)));
    const auto whole = load(options);
    ASSERT_NE(whole, nullptr);
    ASSERT_EQ(whole->manifest().heads.size(), 1U);
    const Answer expected = run_greedily(whole, prompt_, kAnswer);
    ASSERT_EQ(expected.logits.size(), prompt_.size() * kWideVocabulary);
    options.form.head_outputs = artifact::HeadOutputs::kSplit;
    for (const bool is_width : {false, true}) {
      if (is_width) {
        options.form.layout = artifact::HiddenLayout::kTokensInWidth;
        options.form.logits = artifact::LogitsLayout::kLast;
      }
      const auto split = load(options);
      ASSERT_NE(split, nullptr);
      ASSERT_EQ(split->manifest().heads.size(), kOutputs);
      EXPECT_EQ(split->head_packages().size(), 1U);
      EXPECT_EQ(artifact::needed_format_version(split->manifest()), 3);
      const Answer answer = run_greedily(split, prompt_, kAnswer);
      EXPECT_TRUE(answer.logits == expected.logits);
      EXPECT_EQ(answer.continuation, expected.continuation);
    }
  }
}

TEST_P(SplitHeads, OfGreedyModelsPickTheTokenOfAllLogits) {
  CompileOptions options = bases()[1];
  const Answer expected = run_greedily(load(options), prompt_, kAnswer);
  options.form.head = artifact::HeadForm::kArgmax;
  options.form.head_outputs = artifact::HeadOutputs::kSplit;
  const auto model = load(options);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->manifest().heads.size(), kOutputs);
  EXPECT_EQ(model->head_packages().size(), 1U);
  EXPECT_EQ(greedy_ids(model, prompt_, kAnswer), expected.continuation);
}

TEST_P(SplitHeads, HoldTheEmbeddingsOfTiedModels) {
  CompileOptions options = bases()[1];
  const auto whole = load(options);
  ASSERT_NE(whole, nullptr);
  const bool is_tied = whole->manifest().embedding.parts.front().file != "embedding.bin";
  options.form.head_outputs = artifact::HeadOutputs::kSplit;
  const auto split = load(options);
  ASSERT_NE(split, nullptr);
  EXPECT_EQ(split->manifest().embedding.parts.size(), is_tied ? kOutputs : 1U);
  EXPECT_EQ(std::filesystem::exists(folder_.file("artifact") + "/embedding.bin"), !is_tied);
  for (const std::int32_t id : prompt_) {
    const std::int64_t columns = whole->manifest().hidden_size;
    Tensor one(DType::kFp32, {1, columns, 1, 1});
    Tensor other(DType::kFp32, {1, columns, 1, 1});
    ASSERT_TRUE(whole->embed({&id, 1}, one.mutable_view()).ok());
    ASSERT_TRUE(split->embed({&id, 1}, other.mutable_view()).ok());
    EXPECT_EQ(to_floats(one.view()), to_floats(other.view())) << "id " << id;
  }
}

// A tied head, one with a matrix of its own, and one whose logits are capped.
INSTANTIATE_TEST_SUITE_P(, SplitHeads, ::testing::Values("qwen2", "llama", "gemma3_text"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace anemone::compiler::testing
