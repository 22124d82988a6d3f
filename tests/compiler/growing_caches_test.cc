// SPDX-License-Identifier: Apache-2.0
// Caches that grow give the texts of read-only ones, and cost the CPU engine no more: it makes one
// plan of a function for all lengths, and copies nothing but what it appends.
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "compiler/compiler.h"
#include "engine/session/kv_cache.h"
#include "engine/session/session.h"
#include "exec/cpu/cpu_program.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/support/cosine.h"
#include "tests/support/random_ids.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;
using artifact::CacheForm;
using artifact::PastForm;

// Prompt and continuation cross the borders at 16 and 32 positions, and the second border lies
// within a chunk.
constexpr std::size_t kPrompt = 25;
constexpr std::size_t kDecodeSteps = 12;

std::vector<std::int32_t> prompt() {
  return anemone::testing::random_ids(kPrompt, /*most=*/48, /*seed=*/3);
}

CompileOptions options_of(CacheForm cache, DType precision = DType::kFp16,
                          PastForm past = PastForm::kWhole) {
  CompileOptions options{.precision = precision};
  options.recipe.quant.scheme = quant::Scheme::kNone;
  options.context = 40;
  options.prefill = 8;
  options.form.cache = cache;
  options.form.past = past;
  options.form.recurrent = artifact::RecurrentForm::kTensors;
  return options;
}

std::shared_ptr<const engine::Model> load(const Checkpoint& checkpoint,
                                          const CompileOptions& options,
                                          std::string_view isa = {}) {
  return load_model(compiled_folder(checkpoint, options), isa);
}

class GrowingCaches : public ::testing::TestWithParam<Checkpoint> {
 protected:
  Answer answer(const CompileOptions& options, std::string_view isa) {
    const auto model = load(GetParam(), options, isa);
    return model == nullptr ? Answer() : run_greedily(model, prompt(), kDecodeSteps);
  }
};

TEST_P(GrowingCaches, GiveTheBitsOfReadOnlyOnes) {
  for (const PastForm past : {PastForm::kWhole, PastForm::kWindow}) {
    const Answer expected = answer(options_of(CacheForm::kReadOnly, DType::kFp16, past), "");
    const Answer got = answer(options_of(CacheForm::kGrowing, DType::kFp16, past), "");
    ASSERT_FALSE(expected.logits.empty());
    EXPECT_TRUE(got.logits == expected.logits);
    EXPECT_EQ(got.continuation, expected.continuation);
  }
}

// Without the fused attention the columns of a step stand behind another number of masked ones, so
// that sums have another order.
TEST_P(GrowingCaches, GiveTheTokensOfReadOnlyOnesWithoutFusions) {
  using Run = std::pair<DType, std::string_view>;
  for (const auto& [precision, isa] : {Run{DType::kFp32, ""}, Run{DType::kFp32, "reference"}}) {
    SCOPED_TRACE(fmt::format("{} {}", dtype_name(precision), isa));
    const Answer expected = answer(options_of(CacheForm::kReadOnly, precision), isa);
    const Answer got = answer(options_of(CacheForm::kGrowing, precision), isa);
    EXPECT_EQ(got.continuation, expected.continuation);
    ASSERT_FALSE(expected.logits.empty());
    ASSERT_EQ(got.logits.size(), expected.logits.size());
    EXPECT_GT(anemone::testing::cosine(got.logits, expected.logits), 0.999999);
  }
}

TEST_P(GrowingCaches, HaveOnePlanForAllLengths) {
  const auto fixed = load(GetParam(), options_of(CacheForm::kReadOnly));
  const auto growing = load(GetParam(), options_of(CacheForm::kGrowing));
  ASSERT_TRUE(fixed != nullptr && growing != nullptr);
  auto session = engine::Session::create(growing);
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_TRUE((*session)->decode(1).ok());
  std::vector<const exec::ExecutionPlan*> plans;
  for (std::size_t s = 0; s < growing->manifest().shards.size(); ++s) {
    EXPECT_EQ(plan_steps(growing->shard(s)), plan_steps(fixed->shard(s)));
    const auto* program = dynamic_cast<const exec::CpuProgram*>(&growing->shard(s));
    ASSERT_NE(program, nullptr);
    plans.push_back(program->plan("decode")->get());
  }
  while ((*session)->position() < growing->context()) ASSERT_TRUE((*session)->decode(2).ok());
  for (std::size_t s = 0; s < plans.size(); ++s)
    EXPECT_EQ(dynamic_cast<const exec::CpuProgram&>(growing->shard(s)).plan("decode")->get(),
              plans[s]);
  EXPECT_FALSE((*session)->decode(2).ok()) << "the context is full";
}

// Texts of different lengths in one pass, and one that goes on from fewer tokens than it had.
TEST_P(GrowingCaches, OfSeveralTextsAreApart) {
  for (const DType precision : {DType::kFp16, DType::kFp32}) {
    const auto model = load(GetParam(), options_of(CacheForm::kGrowing, precision));
    ASSERT_NE(model, nullptr);
    constexpr std::array<std::size_t, 3> kLengths = {3, 15, 25};
    std::vector<std::unique_ptr<engine::Session>> alone, together;
    const std::vector<std::int32_t> ids = prompt();
    for (const std::size_t length : kLengths)
      for (auto* sessions : {&alone, &together}) {
        sessions->push_back(*engine::Session::create(model));
        ASSERT_TRUE(sessions->back()->prefill(std::span(ids).first(length)).ok());
      }
    for (std::int32_t id = 5; id < 13; ++id) {
      std::vector<engine::DecodeStep> steps;
      for (const auto& session : together) steps.push_back({session.get(), id});
      const Status status = engine::decode_batch(steps);
      ASSERT_TRUE(status.ok()) << status.message();
      for (std::size_t i = 0; i < alone.size(); ++i) {
        const auto expected = alone[i]->decode(id);
        ASSERT_TRUE(expected.ok()) << expected.status().message();
        EXPECT_TRUE(std::ranges::equal(together[i]->logits(), *expected)) << i;
      }
    }
    ASSERT_TRUE(together[2]->truncate(15).ok());
    const auto again = together[2]->decode(5);
    auto fresh = *engine::Session::create(model);
    ASSERT_TRUE(fresh->prefill(std::span(ids).first(15)).ok());
    const auto expected = fresh->decode(5);
    ASSERT_TRUE(again.ok() && expected.ok());
    EXPECT_GT(anemone::testing::cosine(*again, *expected), 0.99999);
  }
}

const Checkpoint& of_name(const std::vector<Checkpoint>& all, std::string_view name) {
  return *std::ranges::find(all, name, &Checkpoint::name);
}

// A plain decoder, and between them every block; FastParity has the form on all architectures.
std::vector<Checkpoint> a_few() {
  const std::vector<Checkpoint> all = checkpoints();
  std::vector<Checkpoint> out;
  for (const char* name :
       {"tiny_llama", "tiny_phi3", "tiny_gemma3_text", "tiny_gemma4_text", "tiny_lfm2_moe",
        "tiny_zaya", "tiny_gpt_oss_mxfp4", "tiny_qwen3_next", "pocket"})
    out.push_back(of_name(all, name));
  return out;
}

INSTANTIATE_TEST_SUITE_P(, GrowingCaches, ::testing::ValuesIn(a_few()),
                         [](const auto& info) { return info.param.name; });

// [1, heads, past, dim] for a past of 1 to the context or the window; and masks over the past and
// the 1 or 8 tokens of the step.
TEST(PackagesOfGrowingCaches, SayHowLongThePastMayBe) {
  const auto all = checkpoints();
  const std::string folder =
      compiled_folder(of_name(all, "tiny_gemma3_text"),
                      options_of(CacheForm::kGrowing, DType::kFp16, PastForm::kWindow));
  const auto manifest = artifact::read_manifest(folder);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  const artifact::Shard& shard = manifest->shards.front();
  const auto model = mlpackage::read_package(folder + "/" + shard.package);
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_EQ(model->functions.size(), 2U);
  std::set<std::int64_t> greatest;
  for (const mlpackage::FunctionInterface& function : model->functions) {
    const std::int64_t tokens = function.name == "prefill" ? 8 : 1;
    std::map<std::string, mlpackage::FeatureDescription> inputs;
    for (const auto& input : function.inputs) inputs[input.name] = input;
    const auto expect_open = [&](const std::string& name, std::size_t axis, std::int64_t beside,
                                 std::int64_t window) {
      const auto& ranges = inputs[name].flexibility.ranges;
      ASSERT_EQ(ranges.size(), 4U) << name;
      const std::int64_t most = window == 0 ? 40 : window;
      greatest.insert(most);
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(ranges[i].lower, i == axis ? 1 + beside : inputs[name].shape[i]) << name;
        EXPECT_EQ(ranges[i].upper, i == axis ? most + beside : inputs[name].shape[i]) << name;
      }
    };
    for (const artifact::Cache& cache : shard.caches) expect_open(cache.name, 2, 0, cache.window);
    for (const artifact::Port& port : shard.inputs) {
      if (port.role == artifact::PortRole::kAttentionMaskPastAndStep)
        expect_open(port.name, 3, tokens, port.window);
      else
        EXPECT_TRUE(inputs[port.name].flexibility.ranges.empty()) << port.name;
    }
  }
  EXPECT_EQ(greatest.size(), 2U) << "layers of both kinds";
}

// A package of read-only caches takes the longest past alone.
TEST(PackagesOfGrowingCaches, AreNotThoseOfReadOnlyOnes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("artifact");
  ASSERT_NE(compile_and_load(of_name(checkpoints(), "tiny_qwen3"), path,
                             options_of(CacheForm::kReadOnly)),
            nullptr);
  auto manifest = artifact::read_manifest(path);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  manifest->form.cache = CacheForm::kGrowing;
  ASSERT_TRUE(artifact::write_manifest(path, *manifest).ok());
  const auto model = engine::Model::load(path, executor());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), Code::kCorrupt);
  EXPECT_NE(model.status().message().find(
                "expected input \"attention_mask\" [1, 1, 1, 2], got [1, 1, 1, 41]"),
            std::string::npos)
      << model.status().message();
}

TEST(PackagesOfGrowingCaches, AreRefusedWhereAnotherAxisOrContextIsAskedFor) {
  const auto refusal = [](CompileOptions options) {
    const TemporaryFolder folder;
    const auto report = compile(of_name(checkpoints(), "pocket").path, folder.file("out"), options);
    return report.ok() ? std::string("compiled") : std::string(report.status().message());
  };
  CompileOptions options = options_of(CacheForm::kGrowing);
  options.tiers = {16};
  EXPECT_EQ(refusal(options),
            "[--context] expected one context for --kv-form growing, which takes no more of a "
            "cache than there is, got 1 more");
  options.tiers = {};
  options.range_dim = true;
  EXPECT_EQ(refusal(options),
            "[--range-dim] expected caches that packages blend (--kv-form blend), got growing, "
            "which takes a fixed number of tokens");
}

}  // namespace
}  // namespace anemone::compiler::testing
