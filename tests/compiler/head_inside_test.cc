// SPDX-License-Identifier: Apache-2.0
// Heads inside the package of the last layers give the bits of heads in packages of their own.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ane/check.h"
#include "ane/form.h"
#include "ane/package_plan.h"
#include "artifact/manifest.h"
#include "compiler/compiler.h"
#include "engine/loop/engine.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/compiler/wide_checkpoint.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

constexpr std::size_t kHeadTokens = 3;

CompileOptions options_of(const std::string& form) {
  CompileOptions options;
  options.form = *ane::read_form(form);
  options.context = 32;
  options.prefill = 8;
  return options;
}

CompileOptions with_head_inside(CompileOptions options) {
  options.packages = *ane::read_plan("one-package");
  return options;
}

Checkpoint tiny(const std::string& name) {
  return {"tiny_" + name, source_path("tests/compiler/data/tiny/" + name)};
}

Checkpoint pocket() {
  return {"pocket", source_path("models/pocket/checkpoint")};
}

// Compiles both and compares what they give; returns the model that has the heads inside.
std::shared_ptr<const engine::Model> expect_same(const Checkpoint& checkpoint,
                                                 const CompileOptions& apart,
                                                 const CompileOptions& inside) {
  const auto expected_model = compiled_model(checkpoint, apart);
  const auto model = compiled_model(checkpoint, inside);
  EXPECT_TRUE(expected_model != nullptr && model != nullptr);
  if (expected_model == nullptr || model == nullptr) return nullptr;
  EXPECT_FALSE(expected_model->manifest().has_head_inside());
  EXPECT_TRUE(model->manifest().has_head_inside());
  EXPECT_TRUE(model->head_packages().empty());
  Golden golden = read_golden(checkpoint);
  golden.prompt.resize(
      std::min<std::size_t>(golden.prompt.size(), 11));  // the last step has padding
  const Answer expected = run_greedily(expected_model, golden.prompt, kHeadTokens);
  const Answer got = run_greedily(model, golden.prompt, kHeadTokens);
  EXPECT_FALSE(expected.logits.empty());
  EXPECT_TRUE(got.logits == expected.logits);
  EXPECT_EQ(got.continuation, expected.continuation);
  return model;
}

class HeadInside : public ::testing::TestWithParam<Checkpoint> {};
class HeadInsideStates : public ::testing::TestWithParam<const char*> {};

TEST_P(HeadInside, GivesTheSameBits) {
  const CompileOptions options = options_of("portable");
  const auto model = expect_same(GetParam(), options, with_head_inside(options));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->manifest().shards.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(, HeadInside, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

// Functions of tiers have the head, too.
TEST_P(HeadInsideStates, GiveTheSameBitsInTiers) {
  CompileOptions options = options_of("blend-states");
  options.tiers = {16};
  options.recipe = *parse_recipe("int8-channel");
  options.recipe.quant.threshold = 0;
  expect_same(tiny(GetParam()), options, with_head_inside(options));
}

TEST_P(HeadInsideStates, GiveTheSameBitsWhenPacked) {
  const CompileOptions options = options_of("slice-states");
  expect_same(tiny(GetParam()), options, with_head_inside(options));
}

// Every kind of cache: dense, sliding and shared, short convolutions, delta nets; tied heads and
// capped logits.
INSTANTIATE_TEST_SUITE_P(, HeadInsideStates,
                         ::testing::Values("qwen2", "gemma4_text", "lfm2_moe", "qwen3_next",
                                           "gpt_oss", "zaya"),
                         [](const auto& info) { return std::string(info.param); });

// What may change the functions or the cut beside it.
TEST(HeadInsideOf, OtherFormsGivesTheSameBits) {
  CompileOptions exact = options_of("blend-states");
  exact.precision = DType::kFp32;
  exact.recipe.quant.scheme = quant::Scheme::kNone;
  CompileOptions flexible = options_of("blend-states");
  flexible.range_dim = true;
  CompileOptions old = options_of("portable");
  old.target = ir::Opset::kIOS16;
  old.recipe = *parse_recipe("int8-channel");
  old.prefill = 1;
  CompileOptions packs = options_of("portable");
  packs.form.experts = artifact::ExpertsForm::kPacks;
  for (const auto& [name, options, checkpoint] :
       {std::tuple("fp32", exact, tiny("qwen3")), std::tuple("flexible", flexible, tiny("llama")),
        std::tuple("ios16", old, tiny("qwen2")), std::tuple("packs", packs, tiny("lfm2_moe")),
        std::tuple("packs", packs, tiny("zaya"))}) {
    SCOPED_TRACE(name);
    expect_same(checkpoint, options, with_head_inside(options));
  }
}

TEST(HeadInsideOf, TheLastOfSeveralPackagesGivesTheSameBits) {
  CompileOptions options = options_of("portable");
  options.packages.layers = "each";
  CompileOptions inside = options;
  inside.packages.has_head_inside = true;
  for (const char* name : {"gemma4_text", "qwen3_moe", "lfm2"}) {
    SCOPED_TRACE(name);
    const auto model = expect_same(tiny(name), options, inside);
    ASSERT_NE(model, nullptr);
    EXPECT_GT(model->manifest().shards.size(), 1U);
  }
}

// A tied head, whose rows are the embeddings, and one with a matrix of its own.
TEST(HeadInsideOf, SeveralOutputsGivesTheSameBits) {
  for (const char* name : {"qwen2", "llama"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    write_wide(name, folder.file("checkpoint"));
    const Checkpoint checkpoint = {name, folder.file("checkpoint")};
    CompileOptions options = options_of("portable");
    const auto apart = compile_and_load(checkpoint, folder.file("apart"), options);
    const auto inside =
        compile_and_load(checkpoint, folder.file("inside"), with_head_inside(options));
    ASSERT_TRUE(apart != nullptr && inside != nullptr);
    EXPECT_GT(inside->manifest().heads.size(), 1U);
    const bool is_tied = name == std::string("qwen2");
    EXPECT_EQ(std::filesystem::exists(folder.file("inside") + "/embedding.bin"), !is_tied);
    const std::vector<std::int32_t> prompt = {3, 20'000, 39'998, 17, 13'343, 39'999};
    const Answer expected = run_greedily(apart, prompt, kHeadTokens);
    const Answer got = run_greedily(inside, prompt, kHeadTokens);
    EXPECT_TRUE(got.logits == expected.logits);
    EXPECT_EQ(got.continuation, expected.continuation);
  }
}

TEST(HeadInsideOf, AClassifierGivesTheSameBits) {
  std::vector<std::vector<float>> logits;
  for (const bool is_inside : {false, true}) {
    CompileOptions options;
    options.form = *ane::read_form("portable");
    options.context = 32;
    options.tiers = {8};
    if (is_inside) options = with_head_inside(options);
    const auto model = compiled_model(tiny("openai_privacy_filter"), options);
    ASSERT_NE(model, nullptr);
    engine::Engine engine({});
    for (const std::size_t length : {5U, 20U}) {
      std::vector<std::int32_t> ids(length);
      for (std::size_t i = 0; i < length; ++i) ids[i] = static_cast<std::int32_t>(2 * i + 1);
      const auto got = engine::classify(engine, model, std::move(ids), {});
      ASSERT_TRUE(got.ok()) << got.status().message();
      logits.push_back(*got);
    }
  }
  EXPECT_FALSE(logits[0].empty());
  EXPECT_EQ(logits[0], logits[2]);
  EXPECT_EQ(logits[1], logits[3]);
}

// A prompt in one wide step, then one token at a time, then drafts: a head that gives the most
// likely token alone has no logits to compare.
TEST(HeadInsideOf, AGreedyModelGivesTheSameTokens) {
  std::vector<std::vector<std::int32_t>> answers;
  for (const bool is_inside : {false, true}) {
    CompileOptions options = options_of("portable");
    options.context = 128;
    options.prefill = 16;
    options.draft_width = 4;
    options.form.head = artifact::HeadForm::kArgmax;
    if (is_inside) options = with_head_inside(options);
    const auto model = compiled_model(pocket(), options);
    ASSERT_NE(model, nullptr);
    std::vector<std::int32_t>& ids = answers.emplace_back();
    for (const std::size_t length : {3U, 10U, 16U, 41U}) {
      std::vector<std::int32_t> prompt(length);
      for (std::size_t i = 0; i < length; ++i) prompt[i] = static_cast<std::int32_t>(5 + i % 7);
      const auto more = greedy_ids(model, prompt, 8);
      ids.insert(ids.end(), more.begin(), more.end());
    }
  }
  EXPECT_EQ(answers[0].size(), 4U * 8);
  EXPECT_EQ(answers[0], answers[1]);
}

TEST(HeadInsidePackage, IsWholeAndLawful) {
  const TemporaryFolder folder;
  const auto report =
      compile(pocket().path, folder.file("out"), with_head_inside(options_of("portable")));
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->manifest.shards.size(), 1U);
  const artifact::Shard& shard = report->manifest.shards.front();
  EXPECT_EQ(report->manifest.heads.front().package, shard.package);
  EXPECT_EQ(report->manifest.heads.front().input, shard.output);
  EXPECT_EQ(artifact::needed_format_version(report->manifest), 3);
  EXPECT_FALSE(std::filesystem::exists(folder.file("out") + "/head_0.mlpackage"));
  const auto package = mlpackage::read_package(folder.file("out") + "/" + shard.package);
  ASSERT_TRUE(package.ok()) << package.status().message();
  EXPECT_EQ(package->functions.size(), report->manifest.functions.size());
  for (const mlpackage::FunctionInterface& function : package->functions)
    EXPECT_TRUE(std::ranges::any_of(function.outputs, [](const auto& output) {
      return output.name == "logits";
    })) << function.name;
  for (const ane::Finding& finding :
       ane::check_package("package", *package, report->manifest.layers).findings)
    EXPECT_NE(finding.severity, ane::Severity::kRefused) << finding.law->id;
}

}  // namespace
}  // namespace anemone::compiler::testing
