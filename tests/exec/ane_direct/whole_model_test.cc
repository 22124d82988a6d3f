// SPDX-License-Identifier: Apache-2.0
// The pocket model, a Qwen2 with biases, with its products on the double: what the CPU engine
// answers, up to the rounding of fp16, whatever the chip takes and whatever fails.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compiler.h"
#include "engine/model/model.h"
#include "engine/session/session.h"
#include "exec/ane_direct/ane_executor.h"
#include "tests/exec/ane_direct/small_kernels.h"
#include "tests/support/shared_data.h"

namespace anemone::exec::ane_direct::testing {
namespace {

using Ids = std::vector<std::int32_t>;
using quant::Scheme;
constexpr std::size_t kSteps = 4;
// The head, and in each of six layers: queries, keys and values together; the output of attention;
// gate and up together; down.
constexpr int kMatrices = 6 * 4 + 1;

// Compiled once for all tests.
using artifact::CacheForm;
const std::string& artifact_of(Scheme scheme, CacheForm cache = CacheForm::kBlend) {
  static anemone::testing::TemporaryFolder folder;
  static std::map<std::pair<Scheme, CacheForm>, std::string> artifacts;
  std::string& path = artifacts[{scheme, cache}];
  if (!path.empty()) return path;
  path = folder.file(std::to_string(artifacts.size()));
  compiler::CompileOptions options;
  options.form.cache = cache;
  options.recipe.quant.scheme = scheme;
  options.recipe.quant.threshold = 0;
  options.context = 64;
  options.prefill = 16;
  const auto report =
      compiler::compile(anemone::testing::source_path("models/pocket/checkpoint"), path, options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return path;
}

std::unique_ptr<engine::Session> session_of(const std::string& artifact, Executor& executor) {
  engine::ModelLoadOptions options;
  options.load_text = false;
  const auto model = engine::Model::load(artifact, executor, options);
  EXPECT_TRUE(model.ok()) << model.status().message();
  if (!model.ok()) return nullptr;
  auto session = engine::Session::create(*model);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return session.ok() ? std::move(*session) : nullptr;
}

std::int32_t most_likely(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

// The logits differ by rounding alone, and the token is the same unless two are as likely as that.
void expect_alike(std::span<const float> got, std::span<const float> expected) {
  ASSERT_EQ(got.size(), expected.size());
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += std::pow(got[i] - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  EXPECT_LE(std::sqrt(difference / size), 0.02);
  const float margin =
      0.02f * static_cast<float>(std::sqrt(size / static_cast<double>(got.size())));
  EXPECT_GE(got[static_cast<std::size_t>(most_likely(expected))],
            *std::ranges::max_element(got) - margin);
}

struct PocketModel : ::testing::Test {
  // Answers a prompt with the executor, and with the CPU engine, whose tokens both read on.
  KernelOffload::Counts expect_answers_of_the_cpu(Scheme scheme, TestDevice& test,
                                                  CacheForm cache = CacheForm::kBlend) {
    const std::string& artifact = artifact_of(scheme, cache);
    auto made = make_ane_executor(
        test.runtime, {.cpu = {.threads = 1},
                       .device = {.budget = &test.budget, .load_pause_ms = 0},
                       .on_note = [&](std::string_view note) { notes.emplace_back(note); }});
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (!made.ok()) return {};
    const auto cpu = make_cpu_executor({.threads = 1});
    const auto got = session_of(artifact, **made);
    const auto expected = session_of(artifact, *cpu);
    if (got == nullptr || expected == nullptr) return {};
    Ids prompt;
    for (std::int32_t i = 0; i < 20; ++i) prompt.push_back((i * 37 + 5) % 1000);
    EXPECT_TRUE(got->prefill(prompt).ok());
    EXPECT_TRUE(expected->prefill(prompt).ok());
    expect_alike(got->logits(), expected->logits());
    for (std::size_t i = 0; i < kSteps; ++i) {
      const std::int32_t next = most_likely(expected->logits());
      EXPECT_TRUE(got->decode(next).ok());
      EXPECT_TRUE(expected->decode(next).ok());
      expect_alike(got->logits(), expected->logits());
    }
    return (*made)->counts();
  }
  void TearDown() override {
    EXPECT_EQ(test.runtime->violations(), std::vector<std::string>());
    EXPECT_EQ(test.runtime->live_models(), 0U);
    EXPECT_EQ(test.runtime->live_surfaces(), 0U);
  }

  TestDevice test;
  std::vector<std::string> notes;
};

TEST_F(PocketModel, HasAllProductsOnTheChipWhateverFormTheWeightsHave) {
  for (const Scheme scheme : {Scheme::kNone, Scheme::kInt8Channel, Scheme::kLut6}) {
    TestDevice fresh;
    const auto counts = expect_answers_of_the_cpu(scheme, fresh);
    EXPECT_EQ(counts.kernels, kMatrices);
    EXPECT_EQ(counts.refused + counts.left + counts.failed, 0);
    // The functions for prompts and for single tokens share the kernels.
    EXPECT_EQ(fresh.runtime->compiles(), kMatrices + 1);
    EXPECT_GT(fresh.runtime->evaluations(), 5 * kMatrices);
    EXPECT_EQ(fresh.runtime->violations(), std::vector<std::string>());
    EXPECT_EQ(fresh.runtime->live_models(), 0U);
    EXPECT_TRUE(notes.empty()) << notes[0];
  }
}

// The products do not depend on how much of a cache there is: the plans for its least and its
// greatest length, one after the other, have the same kernels.
TEST_F(PocketModel, HasTheSameKernelsForCachesThatGrow) {
  const auto counts = expect_answers_of_the_cpu(Scheme::kNone, test, CacheForm::kGrowing);
  EXPECT_EQ(counts.kernels, kMatrices);
  EXPECT_EQ(counts.refused + counts.left + counts.failed, 0);
  EXPECT_EQ(test.runtime->compiles(), kMatrices + 1);
}

TEST_F(PocketModel, ComputesOnTheCpuWhatIsTooMuchForAProcess) {
  CompileBudget small(11);
  const auto made = make_ane_executor(
      test.runtime, {.cpu = {.threads = 1}, .device = {.budget = &small, .load_pause_ms = 0}});
  ASSERT_TRUE(made.ok());
  const auto session = session_of(artifact_of(Scheme::kNone), **made);
  ASSERT_NE(session, nullptr);
  const auto counts = (*made)->counts();
  EXPECT_EQ(counts.kernels, 10);
  EXPECT_GE(counts.left, kMatrices - 10);
  EXPECT_EQ(test.runtime->compiles(), 11);
}

TEST_F(PocketModel, ComputesOnTheCpuWhatTheChipComputesOtherwise) {
  test.runtime->options.miscompiled = {3, 17};
  const auto counts = expect_answers_of_the_cpu(Scheme::kLut6, test);
  EXPECT_EQ(counts.refused, 2);
  EXPECT_EQ(counts.kernels, kMatrices - 2);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_NE(notes[0].find("expected what the CPU engine computes"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find(": the CPU computes it"), std::string::npos) << notes[0];
}

TEST_F(PocketModel, GoesBackToTheCpuWhereARunFails) {
  // After the self-test, the comparisons, and the first products.
  test.runtime->inject({.call = Fault::Call::kEvaluate,
                        .error = runtime_error("d", 1, "status=0x1d"),
                        .times = 2,
                        .after = 1 + kMatrices + 15});
  const auto counts = expect_answers_of_the_cpu(Scheme::kNone, test);
  EXPECT_EQ(counts.kernels, kMatrices);
  EXPECT_EQ(counts.failed, 2);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_NE(notes[0].find("the CPU computes it from now on"), std::string::npos) << notes[0];
}

TEST(AneExecutor, RefusesWhatItCannotBeMadeOf) {
  EXPECT_EQ(make_ane_executor(nullptr).status().code(), Code::kUnsupported);
  TestDevice test;
  EXPECT_EQ(make_ane_executor(test.runtime, {.cpu = {.is_reference = true}}).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace anemone::exec::ane_direct::testing
