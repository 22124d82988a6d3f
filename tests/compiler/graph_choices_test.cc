// SPDX-License-Identifier: Apache-2.0
// Choices of a form that write a product or a norm in another way: against transformers, and on the
// fast path against the form that they differ from.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "ane/form.h"
#include "compiler/compiler.h"
#include "exec/profile.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/support/cosine.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

class GraphChoices : public ::testing::TestWithParam<Checkpoint> {
 protected:
  void SetUp() override { golden_ = read_golden(GetParam()); }

  static CompileOptions portable(DType precision) {
    CompileOptions options;
    options.precision = precision;
    options.recipe.quant.scheme = quant::Scheme::kNone;
    options.form = ane::named_forms().front().form;
    options.context = 128;
    options.prefill = 16;
    return options;
  }

  struct Made {
    Answer answer;
    std::map<std::string, int> steps;       // of a prefill in all shards, by name
    std::map<std::string, int> operations;  // of the programs
  };
  // Runs by the fast path.
  Made make(const CompileOptions& options) {
    Made out;
    const std::string folder = compiled_folder(GetParam(), options);
    const auto model = load_model(folder);
    if (model == nullptr) return out;
    out.answer = run_greedily(model, golden_.prompt, golden_.continuation.size());
    for (std::size_t s = 0; s < model->manifest().shards.size(); ++s) {
      const auto steps = exec::explain(model->shard(s), "prefill");
      EXPECT_TRUE(steps.ok());
      if (!steps.ok()) continue;
      for (const exec::PlanStep& step : *steps) ++out.steps[step.name];
      const auto package =
          mlpackage::read_package(folder + "/" + model->manifest().shards[s].package);
      EXPECT_TRUE(package.ok());
      if (!package.ok()) continue;
      for (const ir::Op* op : package->program.function("prefill")->block->ops)
        ++out.operations[op->type];
    }
    return out;
  }
  static void expect_same_answers(const Made& got, const Made& expected) {
    ASSERT_FALSE(expected.answer.logits.empty());
    EXPECT_TRUE(got.answer.logits == expected.answer.logits);
    EXPECT_EQ(got.answer.continuation, expected.answer.continuation);
  }
  double median_cosine(const std::vector<float>& got) const {
    std::vector<double> all;
    for (std::size_t row = 0; row < golden_.logits.size(); row += golden_.vocab_size) {
      const auto row_of = [&](const std::vector<float>& logits) {
        return std::span(logits).subspan(row, golden_.vocab_size);
      };
      all.push_back(anemone::testing::cosine(row_of(got), row_of(golden_.logits)));
    }
    std::ranges::sort(all);
    return all[all.size() / 2];
  }

  Golden golden_;
};

TEST_P(GraphChoices, InFp32GiveTheGoldenLogitsAndTokens) {
  std::map<std::string, CompileOptions> all;
  for (const char* name : {"layer norms", "products apart", "square MLPs"})
    all[name] = portable(DType::kFp32);
  all["layer norms"].form.norm = artifact::NormForm::kLayerNorm;
  all["products apart"].form.fusing = artifact::FusingForm::kApart;
  all["square MLPs"].form.mlp = artifact::MlpForm::kSquare;
  all["square MLPs"].prefill = 64;
  for (const auto& [name, options] : all) {
    SCOPED_TRACE(name);
    const auto model = compiled_model(GetParam(), options);
    ASSERT_NE(model, nullptr);
    expect_golden(run_greedily(model, golden_.prompt, golden_.continuation.size()), golden_);
  }
}

// eps is rounded to fp16 in the one form and its root in the other, so bits may differ.
TEST_P(GraphChoices, LayerNormsAreNormsToTheFastPath) {
  CompileOptions options = portable(DType::kFp16);
  const Made scaled = make(options);
  options.form.norm = artifact::NormForm::kLayerNorm;
  const Made halves = make(options);
  ASSERT_EQ(halves.answer.logits.size(), golden_.logits.size());
  EXPECT_GE(median_cosine(halves.answer.logits), 0.9999);
  EXPECT_EQ(halves.steps, scaled.steps);
  EXPECT_GT(halves.steps.at("rms_norm"), 0);
  EXPECT_EQ(halves.operations.at("layer_norm"), halves.steps.at("rms_norm"));
  EXPECT_FALSE(scaled.operations.contains("layer_norm"));
}

TEST_P(GraphChoices, ProductsApartGiveTheBitsOfFusedOnes) {
  CompileOptions options = portable(DType::kFp16);
  const Made fused = make(options);
  options.form.fusing = artifact::FusingForm::kApart;
  const Made apart = make(options);
  expect_same_answers(apart, fused);
  EXPECT_GT(apart.operations.at("conv"), fused.operations.at("conv"));
}

TEST_P(GraphChoices, SquareMlpsGiveTheBitsOfOthers) {
  CompileOptions options = portable(DType::kFp16);
  options.prefill = 64;
  const Made line = make(options);
  options.form.mlp = artifact::MlpForm::kSquare;
  const Made square = make(options);
  expect_same_answers(square, line);
  // In and out of every MLP that is not one of experts.
  const int added = square.operations.at("reshape") - line.operations.at("reshape");
  EXPECT_TRUE(has_experts(GetParam()) ? added >= 0 : added > 0) << added;
  EXPECT_EQ(square.operations.at("conv"), line.operations.at("conv"));
  // Products are fused as they were.
  EXPECT_EQ(square.steps.at("projection"), line.steps.at("projection"));
}

INSTANTIATE_TEST_SUITE_P(, GraphChoices, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing
