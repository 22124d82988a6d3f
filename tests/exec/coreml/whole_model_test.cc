// SPDX-License-Identifier: Apache-2.0
// Whole models through the executor over the double, in each form of caches: the same tokens as the
// CPU executor gives, with copied prefixes, snapshots and several sequences.
#include <algorithm>
#include <gtest/gtest.h>
#include <ostream>
#include <thread>
#include <vector>

#include "compiler/compiler.h"
#include "engine/model/model.h"
#include "engine/session/sequence.h"
#include "engine/session/session.h"
#include "engine/session/step_runner.h"
#include "exec/coreml/coreml_executor.h"
#include "exec/cpu/cpu_executor.h"
#include "tests/exec/coreml/checked_runtime.h"
#include "tests/support/random_ids.h"
#include "tests/support/shared_data.h"

namespace anemone::exec::coreml::testing {
namespace {

using artifact::CacheForm;
using Ids = std::vector<std::int32_t>;
constexpr std::size_t kSteps = 20;

struct ModelCase {
  const char* name;
  const char* checkpoint;
  CacheForm cache = CacheForm::kReadOnly;
  CheckedOptions runtime = {};
  std::vector<std::int64_t> tiers = {};
  DType precision = DType::kFp16;
  bool range_dim = false;
  artifact::PastForm past = artifact::PastForm::kWhole;
  artifact::ExpertsForm experts = artifact::ExpertsForm::kDense;

  friend void PrintTo(const ModelCase& test, std::ostream* out) { *out << test.name; }
};

Ids prompt_of(std::size_t length, std::uint32_t seed) {
  return anemone::testing::random_ids(length, /*most=*/48, seed);
}

std::int32_t most_likely(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

Ids generate(engine::Session& session, const Ids& prompt) {
  const Status prefilled = session.prefill(prompt);
  EXPECT_TRUE(prefilled.ok()) << prefilled.message();
  Ids out;
  while (prefilled.ok() && out.size() < kSteps) {
    out.push_back(most_likely(session.logits()));
    const auto logits = session.decode(out.back());
    EXPECT_TRUE(logits.ok()) << logits.status().message();
    if (!logits.ok()) break;
  }
  return out;
}

class WholeModel : public ::testing::TestWithParam<ModelCase> {
 protected:
  void SetUp() override {
    compiler::CompileOptions options;
    options.form.cache = GetParam().cache;
    options.form.past = GetParam().past;
    options.form.experts = GetParam().experts;
    options.precision = GetParam().precision;
    options.range_dim = GetParam().range_dim;
    options.tiers = GetParam().tiers;
    options.context = 96;
    options.prefill = 16;
    const auto report =
        compiler::compile(anemone::testing::source_path(GetParam().checkpoint), artifact, options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    cpu = load(*cpu_executor);
    coreml = load(*executor);
    ASSERT_NE(cpu, nullptr);
    ASSERT_NE(coreml, nullptr);
  }
  void TearDown() override {
    coreml.reset();
    executor.reset();
    EXPECT_EQ(runtime->violations(), std::vector<std::string>());
    EXPECT_EQ(runtime->live_models(), 0);
    EXPECT_EQ(runtime->live_states(), 0);
  }
  std::shared_ptr<const engine::Model> load(Executor& with) {
    engine::ModelLoadOptions options;
    options.load_text = false;
    auto loaded = engine::Model::load(artifact, with, options);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return loaded.ok() ? *loaded : nullptr;
  }
  static std::unique_ptr<engine::Session> session(std::shared_ptr<const engine::Model> model) {
    auto created = engine::Session::create(std::move(model));
    EXPECT_TRUE(created.ok()) << created.status().message();
    return std::move(*created);
  }

  anemone::testing::TemporaryFolder folder;
  const std::string artifact = folder.file("model");
  std::unique_ptr<Executor> cpu_executor = make_cpu_executor({.threads = 1});
  std::shared_ptr<CheckedRuntime> runtime = std::make_shared<CheckedRuntime>(GetParam().runtime);
  std::unique_ptr<CoreMlExecutor> executor =
      make_coreml_executor(runtime, {.cache_folder = folder.file("cache")});
  std::shared_ptr<const engine::Model> cpu;
  std::shared_ptr<const engine::Model> coreml;
};

TEST_P(WholeModel, GeneratesTheTokensOfTheCpuExecutor) {
  const Ids prompt = prompt_of(41, 1);
  const auto expected = session(cpu);
  const auto got = session(coreml);
  EXPECT_EQ(generate(*got, prompt), generate(*expected, prompt));
  ASSERT_TRUE(got->truncate(20).ok());
  ASSERT_TRUE(expected->truncate(20).ok());
  const Ids other = prompt_of(9, 2);
  EXPECT_EQ(generate(*got, other), generate(*expected, other));
  got->reset();
  expected->reset();
  EXPECT_EQ(generate(*got, other), generate(*expected, other));
}

TEST_P(WholeModel, ThreadsGenerateWhatEachWouldAlone) {
  constexpr std::size_t kThreads = 3;
  std::vector<Ids> alone(kThreads);
  std::vector<Ids> together(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i)
    alone[i] = generate(*session(coreml), prompt_of(17 + i, 3));
  for (std::size_t i = 0; i < kThreads; ++i)
    threads.emplace_back(
        [&, i] { together[i] = generate(*session(coreml), prompt_of(17 + i, 3)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

TEST_P(WholeModel, CopiedPrefixAndSnapshotGoOnLikeTheOriginal) {
  engine::StepRunner runner(coreml);
  const auto make = [&] {
    auto made = engine::Sequence::create(coreml);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  };
  const auto run = [&](engine::Sequence& sequence, const Ids& ids) -> std::int32_t {
    sequence.prepare(sequence.position() + static_cast<std::int64_t>(ids.size()));
    for (std::size_t done = 0; done < ids.size();) {
      engine::StepItem item{.sequence = &sequence, .ids = std::span(ids).subspan(done)};
      runner.step({&item, 1});
      EXPECT_TRUE(item.status.ok()) << item.status.message();
      if (!item.status.ok()) return -1;
      done += static_cast<std::size_t>(item.done);
    }
    return most_likely(sequence.prediction().logits);
  };
  const Ids prompt = prompt_of(30, 4);
  const Ids rest = prompt_of(11, 5);
  const auto original = make();
  run(*original, prompt);
  ASSERT_TRUE(original->take_snapshot().ok());
  const auto copy = make();
  ASSERT_TRUE(copy->copy_prefix(*original, 30).ok());
  const std::int32_t expected = run(*original, rest);
  EXPECT_EQ(run(*copy, rest), expected);
  // Back to the snapshot, and the same way again.
  original->truncate(30);
  EXPECT_EQ(original->position(), 30);
  EXPECT_EQ(run(*original, rest), expected);
}

// Small enough to be run in many forms under sanitizers.
constexpr const char* kDense = "tests/compiler/data/tiny/qwen3";
// Short convolutions, whose states a snapshot has to hold.
constexpr const char* kRecurrent = "tests/compiler/data/tiny/lfm2";

const CheckedOptions kPadded = {.row_bytes = 64, .given_row_bytes = 64};
const CheckedOptions kNoBackings = {.uses_backings = false, .given_row_bytes = 64};

const ModelCase kModelCases[] = {
    {"ReadOnly", kDense},
    {"ReadOnlyPadded", kDense, CacheForm::kReadOnly, kPadded},
    {"ReadOnlyWithoutBackings", kDense, CacheForm::kReadOnly, kNoBackings},
    {"ReadOnlyTiers", kDense, CacheForm::kReadOnly, {}, {24, 48}},
    {"ReadOnlyRecurrent", kRecurrent, CacheForm::kReadOnly},
    {"Slice", kDense, CacheForm::kSlice},
    {"SlicePadded", kDense, CacheForm::kSlice, kPadded},
    {"Blend", kDense, CacheForm::kBlend},
    {"BlendPadded", kDense, CacheForm::kBlend, kPadded},
    {"BlendRecurrent", kRecurrent, CacheForm::kBlend, kNoBackings},
    {"WholeCachesInAndOut", kDense, CacheForm::kBlend, {}, {}, DType::kFp32},
    {"WholeCachesPadded", kDense, CacheForm::kBlend, kPadded, {}, DType::kFp32},
    {"ReadOnlyWindows",
     "tests/compiler/data/tiny/gemma3_text",
     CacheForm::kReadOnly,
     {},
     {},
     DType::kFp16,
     false,
     artifact::PastForm::kWindow},
    {"ReadOnlyWindowsPadded",
     "tests/compiler/data/tiny/gemma3_text",
     CacheForm::kReadOnly,
     kPadded,
     {},
     DType::kFp16,
     false,
     artifact::PastForm::kWindow},
    {"RangeDim", kDense, CacheForm::kBlend, {}, {}, DType::kFp16, true},
    {"Growing", kDense, CacheForm::kGrowing},
    {"GrowingPadded", kDense, CacheForm::kGrowing, kPadded},
    {"GrowingFloats", kDense, CacheForm::kGrowing, kNoBackings, {}, DType::kFp32},
    {"GrowingRecurrent", kRecurrent, CacheForm::kGrowing},
    {"GrowingWindows",
     "tests/compiler/data/tiny/gemma3_text",
     CacheForm::kGrowing,
     {},
     {},
     DType::kFp16,
     false,
     artifact::PastForm::kWindow},
    {"PacksOfExperts",
     "tests/compiler/data/tiny/qwen3_moe",
     CacheForm::kReadOnly,
     {},
     {},
     DType::kFp16,
     false,
     artifact::PastForm::kWhole,
     artifact::ExpertsForm::kPacks},
};
INSTANTIATE_TEST_SUITE_P(Forms, WholeModel, ::testing::ValuesIn(kModelCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace anemone::exec::coreml::testing
