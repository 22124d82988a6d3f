// SPDX-License-Identifier: Apache-2.0
// Packages for systems before iOS 18 give the bits of those for iOS 18.
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/executors.h"
#include "compiler/compiler.h"
#include "exec/cpu/cpu_program.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;
using artifact::CacheForm;
using ir::Opset;

constexpr std::size_t kTargetTokens = 2;

class Targets : public ::testing::TestWithParam<Checkpoint> {
 protected:
  Answer run(const CompileOptions& options) {
    const auto model = compiled_model(GetParam(), options);
    Golden golden = read_golden(GetParam());
    golden.prompt.resize(std::min<std::size_t>(golden.prompt.size(), 8));
    return model == nullptr ? Answer() : run_greedily(model, golden.prompt, kTargetTokens);
  }
};

TEST_P(Targets, BeforeIos18GiveTheBitsOfIos18) {
  struct Form {
    Opset target;
    const char* scheme;
    CacheForm cache;
    bool range_dim = false;
    DType precision = DType::kFp16;
  };
  for (const Form& form : {Form{Opset::kIOS16, "none", CacheForm::kReadOnly},
                           Form{Opset::kIOS17, "none", CacheForm::kBlend, true},
                           Form{Opset::kIOS17, "int8-channel", CacheForm::kReadOnly},
                           Form{Opset::kIOS16, "none", CacheForm::kGrowing},
                           Form{Opset::kIOS16, "lut6", CacheForm::kReadOnly},
                           Form{Opset::kIOS17, "none", CacheForm::kBlend, false, DType::kFp32}}) {
    SCOPED_TRACE(fmt::format("{} for {}", form.scheme, ir::opset_target(form.target)));
    CompileOptions options;
    options.recipe = *parse_recipe(form.scheme);
    options.recipe.quant.threshold = 0;
    options.recipe.quant.group_size = 0;
    options.precision = form.precision;
    options.context = 32;
    options.form.cache = form.cache;
    options.form.recurrent = artifact::RecurrentForm::kTensors;
    options.range_dim = form.range_dim;
    options.prefill = form.range_dim ? 8 : 1;
    const Answer expected = run(options);
    ASSERT_FALSE(expected.logits.empty());
    options.target = form.target;
    const Answer got = run(options);
    EXPECT_TRUE(got.logits == expected.logits);
    EXPECT_EQ(got.continuation, expected.continuation);
  }
}

INSTANTIATE_TEST_SUITE_P(, Targets, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

CompileOptions of_target(Opset target, const char* scheme) {
  CompileOptions options;
  options.target = target;
  options.recipe = *parse_recipe(scheme);
  options.recipe.quant.threshold = 0;
  options.form.cache = CacheForm::kReadOnly;
  options.context = 32;
  return options;
}

Result<CompileReport> compile_pocket(const CompileOptions& options, const std::string& folder) {
  return compile(source_path("models/pocket/checkpoint"), folder, options);
}

TEST(Target, IsTheVersionOfEveryPackage) {
  for (const Opset target : {Opset::kIOS16, Opset::kIOS17, Opset::kIOS18}) {
    const TemporaryFolder folder;
    const std::string out = folder.path() + "/out";
    const auto report = compile_pocket(of_target(target, "lut6"), out);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->manifest.target, ir::opset_target(target));
    for (const artifact::Shard& shard : report->manifest.shards) {
      const auto model = mlpackage::read_package(out + "/" + shard.package);
      ASSERT_TRUE(model.ok()) << model.status().message();
      EXPECT_EQ(model->specification_version, ir::specification_version(target));
      EXPECT_EQ(model->is_multifunction, target == Opset::kIOS18);
      EXPECT_EQ(model->functions.front().name, target == Opset::kIOS18 ? "decode" : "main");
    }
  }
}

// The weights are read where they lie, not restored at load.
TEST(Target, WeightsBeforeIos18AreReadInPlace) {
  for (const char* scheme : {"int8", "int8-channel", "lut4", "lut6", "lut8"}) {
    SCOPED_TRACE(scheme);
    std::vector<std::string> steps;
    for (const Opset target : {Opset::kIOS16, Opset::kIOS18}) {
      const TemporaryFolder folder;
      CompileOptions options = of_target(target, scheme);
      options.recipe.quant.group_size = 0;
      options.prefill = 1;
      const std::string out = folder.path() + "/out";
      const auto report = compile_pocket(options, out);
      ASSERT_TRUE(report.ok()) << report.status().message();
      const auto fast = api::make_executor({.threads = 1});
      ASSERT_TRUE(fast.ok()) << fast.status().message();
      const auto model = engine::Model::load(out, **fast);
      ASSERT_TRUE(model.ok()) << model.status().message();
      const auto plan = exec::explain((*model)->shard(0), report->manifest.functions.front().name);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      std::string text;
      for (const exec::PlanStep& step : *plan) text += step.name + "\n";
      steps.push_back(text);
    }
    EXPECT_EQ(steps[0], steps[1]);
  }
}

std::string refusal(const CompileOptions& options) {
  const TemporaryFolder folder;
  const auto report = compile_pocket(options, folder.path() + "/out");
  return report.ok() ? "compiled" : report.status().message();
}

TEST(Target, SaysWhatNeedsIos18) {
  EXPECT_EQ(refusal(of_target(Opset::kIOS17, "int4-block")),
            "[--quant] expected none, int8, int8-channel, lut4, lut6 or lut8 for ios17, got "
            "int4-block: weights with a scale per block of inputs need iOS 18");
  CompileOptions options = of_target(Opset::kIOS16, "none");
  options.form.cache = CacheForm::kSlice;
  EXPECT_EQ(refusal(options),
            "[--kv-form] expected readonly, growing or blend for ios16, got slice: slice updates "
            "need iOS 18");
  options = of_target(Opset::kIOS16, "none");
  options.form.experts = artifact::ExpertsForm::kPacks;
  EXPECT_EQ(refusal(options),
            "[--experts] expected dense for ios16, got packs: several functions in a package need "
            "iOS 18");
}

TEST(Target, SaysWhatItLeavesOut) {
  CompileOptions options = of_target(Opset::kIOS17, "lut6");
  options.tiers = {8, 16};
  options.draft_width = 4;
  options.prefill = 8;
  const TemporaryFolder folder;
  const auto report = compile_pocket(options, folder.path() + "/out");
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->manifest.functions.size(), 1u);
  EXPECT_EQ(report->manifest.functions.front().tokens, 1);
  for (const char* part : {"one palette per matrix", "contexts 8, 16 left out",
                           "draft width 4 left out", "prompts are read token by token"})
    EXPECT_TRUE(std::ranges::any_of(report->notes, [&](const std::string& note) {
      return note.find(part) != std::string::npos;
    })) << part;
}

}  // namespace
}  // namespace anemone::compiler::testing
