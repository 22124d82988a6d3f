// SPDX-License-Identifier: Apache-2.0
// Choices about an artifact that must not change its results: each gives the logits of the artifact
// with the plain options, bit for bit. Tiers (functions for a smaller context), a flexible number
// of tokens, hidden states with the tokens in the width, embeddings that lie in the head, and heads
// that give the best token in place of logits.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>

#include "artifact/manifest.h"
#include "compiler/compiler.h"
#include "engine/loop/engine.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

constexpr std::int64_t kContext = 64;
constexpr std::size_t kNewTokens = 12;

class Forms : public ::testing::TestWithParam<Checkpoint> {
 protected:
  void SetUp() override {
    if (!is_present(GetParam())) GTEST_SKIP() << "absent: " << GetParam().path;
    golden_ = read_golden(GetParam());
    // A prompt and its continuation are longer than the smaller tiers of the tests below, and have
    // to fit into the context.
    const std::size_t most = static_cast<std::size_t>(kContext) - kNewTokens;
    golden_.prompt.resize(std::min(golden_.prompt.size(), most));
  }

  // The plain options in fp32 and in fp16. Their caches differ as well: Core ML has no fp32 states,
  // so caches in fp32 are inputs and outputs.
  static std::vector<CompileOptions> bases() {
    CompileOptions exact;
    exact.precision = DType::kFp32;
    exact.recipe.quant.scheme = quant::Scheme::kNone;
    exact.context = kContext;
    exact.prefill = 16;
    CompileOptions half;
    half.context = kContext;
    half.prefill = 16;
    return {exact, half};
  }
  std::shared_ptr<const engine::Model> load(const CompileOptions& options) {
    return compiled_model(GetParam(), options);
  }
  Answer run(const CompileOptions& options) {
    const auto model = load(options);
    return model == nullptr ? Answer() : run_greedily(model, golden_.prompt, kNewTokens);
  }
  // The answer with bases()[base] unchanged. Made once for all tests of a checkpoint.
  const Answer& plain_of(std::size_t base) {
    static std::map<std::pair<std::string, std::size_t>, Answer> answers;
    const auto [it, is_new] = answers.try_emplace({GetParam().name, base});
    if (is_new) it->second = run(bases()[base]);
    return it->second;
  }
  // The change keeps every bit.
  void expect_same(const std::string& what, void (*change)(CompileOptions&)) {
    for (std::size_t base = 0; base < bases().size(); ++base) {
      CompileOptions options = bases()[base];
      SCOPED_TRACE(what + ", " + std::string(dtype_name(options.precision)));
      const Answer& plain = plain_of(base);
      change(options);
      const Answer changed = run(options);
      ASSERT_FALSE(plain.logits.empty());
      EXPECT_TRUE(changed.logits == plain.logits);
      EXPECT_EQ(changed.continuation, plain.continuation);
    }
  }

  Golden golden_;
};

TEST_P(Forms, TiersGiveTheBitsOfTheWholeContext) {
  expect_same("one tier", [](CompileOptions& o) { o.tiers = {24}; });
  // The smallest is narrower than prefill, another is no multiple of anything.
  expect_same("three tiers", [](CompileOptions& o) { o.tiers = {7, 19, 40}; });
  expect_same("tiers and verify", [](CompileOptions& o) {
    o.tiers = {16, 48};
    o.draft_width = 4;
  });
}

TEST_P(Forms, AFlexibleFunctionGivesTheBitsOfFixedOnes) {
  expect_same("range", [](CompileOptions& o) { o.range_dim = true; });
  expect_same("range with tiers", [](CompileOptions& o) {
    o.range_dim = true;
    o.tiers = {20};
  });
}

TEST_P(Forms, TheOtherLayoutGivesTheSameBits) {
  expect_same("width",
              [](CompileOptions& o) { o.form.layout = artifact::HiddenLayout::kTokensInWidth; });
  expect_same("width, flexible", [](CompileOptions& o) {
    o.form.layout = artifact::HiddenLayout::kTokensInWidth;
    o.range_dim = true;
  });
}

TEST_P(Forms, TheLastAxisGivesTheSameLogits) {
  expect_same("last axis",
              [](CompileOptions& o) { o.form.logits = artifact::LogitsLayout::kLast; });
  expect_same("last axis, width, flexible", [](CompileOptions& o) {
    o.form.logits = artifact::LogitsLayout::kLast;
    o.form.layout = artifact::HiddenLayout::kTokensInWidth;
    o.range_dim = true;
  });
}

TEST_P(Forms, RecurrentStatesInTensorsGiveTheSameBits) {
  expect_same("tensors",
              [](CompileOptions& o) { o.form.recurrent = artifact::RecurrentForm::kTensors; });
}

TEST_P(Forms, AGreedyHeadPicksTheTokensOfTheLogits) {
  for (std::size_t base = 0; base < bases().size(); ++base) {
    CompileOptions options = bases()[base];
    const Answer& plain = plain_of(base);
    options.form.head = artifact::HeadForm::kArgmax;
    // So that a greedy head is tried over each layout of the logits.
    if (base == 1) options.form.logits = artifact::LogitsLayout::kLast;
    const auto model = load(options);
    ASSERT_NE(model, nullptr);
    EXPECT_TRUE(model->manifest().is_greedy());
    EXPECT_EQ(greedy_ids(model, golden_.prompt, kNewTokens), plain.continuation);

    engine::Engine engine({});
    engine::GenerateOptions generate;
    generate.as_text = false;
    generate.sampling.greedy = false;
    generate.sampling.temperature = 0.7;
    EXPECT_EQ(engine::generate(engine, model, golden_.prompt, generate).status().code(),
              Code::kUnsupported);
    generate = {};
    generate.sampling.processors.repetition_penalty = 1.1;
    EXPECT_EQ(engine::generate(engine, model, golden_.prompt, generate).status().code(),
              Code::kUnsupported);
    generate = {};
    generate.on_prompt_logits = [](std::int64_t, std::span<const float>) { return Status(); };
    EXPECT_EQ(engine::generate(engine, model, golden_.prompt, generate).status().code(),
              Code::kUnsupported);
  }
}

TEST_P(Forms, ATiedFloatHeadHoldsTheEmbeddings) {
  CompileOptions options = bases().front();
  const auto shared = load(options);
  ASSERT_NE(shared, nullptr);
  const Answer plain = run_greedily(shared, golden_.prompt, kNewTokens);
  const bool is_tied = shared->manifest().embedding.parts.front().file != "embedding.bin";
  EXPECT_EQ(std::filesystem::exists(compiled_folder(GetParam(), options) + "/embedding.bin"),
            !is_tied);
  // A quantized head cannot: the embeddings stay exact, in a file of their own.
  options.recipe.by_role[models::WeightRole::kHead] = quant::Scheme::kLut8;
  options.recipe.quant.threshold = 0;
  const auto apart = load(options);
  ASSERT_NE(apart, nullptr);
  EXPECT_EQ(apart->manifest().embedding.parts.front().file, "embedding.bin");
  EXPECT_EQ(apart->manifest().embedding.parts.front().rows, apart->vocab_size());
  // Rows are found by id: the same hidden states enter the first layer.
  const std::int64_t columns = shared->manifest().hidden_size;
  for (const std::int32_t id : golden_.prompt) {
    Tensor one(DType::kFp32, {1, columns, 1, 1});
    Tensor other(DType::kFp32, {1, columns, 1, 1});
    ASSERT_TRUE(shared->embed({&id, 1}, one.mutable_view()).ok());
    ASSERT_TRUE(apart->embed({&id, 1}, other.mutable_view()).ok());
    ASSERT_EQ(to_floats(one.view()), to_floats(other.view())) << "id " << id;
  }
  EXPECT_EQ(plain.continuation.size(), kNewTokens);
}

TEST(FlexibleFunctions, AreRefusedWithAppendedAndPackedCaches) {
  for (const auto cache : {artifact::CacheForm::kReadOnly, artifact::CacheForm::kGrowing,
                           artifact::CacheForm::kSlice}) {
    const TemporaryFolder folder;
    CompileOptions options;
    options.range_dim = true;
    options.form.cache = cache;
    const auto report =
        compile(checkpoints_in_the_tree().front().path, folder.file("artifact"), options);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.status().code(), Code::kInvalidArgument);
    EXPECT_NE(report.status().message().find("--range-dim"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(, Forms, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing
