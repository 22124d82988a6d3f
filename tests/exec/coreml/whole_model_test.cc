// SPDX-License-Identifier: Apache-2.0
// Whole models through the executor over the double, in each form of caches: the same tokens as the
// CPU executor gives, with copied prefixes, snapshots and several sequences.
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "compiler/compiler.h"
#include "engine/model/model.h"
#include "engine/session/sequence.h"
#include "engine/session/session.h"
#include "engine/session/step_runner.h"
#include "exec/coreml/coreml_executor.h"
#include "exec/cpu/cpu_executor.h"
#include "tests/exec/coreml/checked_runtime.h"
#include "tests/support/cosine.h"
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

// What a model says after a step: the most likely token, and the logits. Or a number that only the
// engine decides, without logits.
struct Said {
  std::int32_t number = 0;
  std::vector<float> logits;
};

// Three sequences of one model, and what it says after each step of each of them.
class Player {
 public:
  explicit Player(const std::shared_ptr<const engine::Model>& model) : runner_(model) {
    for (auto& sequence : sequences_) {
      auto made = engine::Sequence::create(model);
      EXPECT_TRUE(made.ok()) << made.status().message();
      if (made.ok()) sequence = std::move(*made);
    }
  }
  engine::Sequence& operator[](std::size_t index) { return *sequences_[index]; }
  const std::vector<Said>& said() const { return said_; }

  // Runs all tokens, those of the sequences that have some left in one step.
  void run(const std::vector<std::pair<std::size_t, Ids>>& texts) {
    std::vector<engine::StepItem> items;
    for (const auto& [index, ids] : texts) {
      engine::Sequence& sequence = *sequences_[index];
      sequence.prepare(sequence.position() + static_cast<std::int64_t>(ids.size()));
      items.push_back({.sequence = &sequence, .ids = ids});
    }
    while (!items.empty()) {
      runner_.step(items);
      std::vector<engine::StepItem> left;
      for (const engine::StepItem& item : items) {
        ASSERT_TRUE(item.status.ok()) << item.status.message();
        const auto rest = item.ids.subspan(static_cast<std::size_t>(item.done));
        if (!rest.empty()) left.push_back({.sequence = item.sequence, .ids = rest});
        if (!rest.empty()) continue;
        const auto logits = item.sequence->prediction().row->logits();
        said_.push_back({most_likely(logits), {logits.begin(), logits.end()}});
      }
      items = std::move(left);
    }
  }
  // The first tokens of `from`, as many as its caches serve: none where a recurrent state has no
  // snapshot before them.
  void copy(std::size_t from, std::size_t to, std::int64_t count) {
    Ids ids = sequences_[from]->tokens();
    ids.resize(static_cast<std::size_t>(count) + 1);
    const std::int64_t served = sequences_[from]->reusable(ids);
    sequences_[to]->clear();
    if (served > 0) {
      ASSERT_TRUE(sequences_[to]->copy_prefix(*sequences_[from], served).ok());
    }
    said_.push_back({static_cast<std::int32_t>(sequences_[to]->position()), {}});
  }

 private:
  engine::StepRunner runner_;
  std::array<std::unique_ptr<engine::Sequence>, 3> sequences_;
  std::vector<Said> said_;
};

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
    return most_likely(sequence.prediction().row->logits());
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

// What a server does with the texts of several clients.
TEST_P(WholeModel, SequencesOfAScriptSayWhatTheySayOverTheCpuExecutor) {
  const auto play = [](const std::shared_ptr<const engine::Model>& model) {
    Player player(model);
    player.run({{0, prompt_of(30, 4)}});
    EXPECT_TRUE(player[0].take_snapshot().ok());
    for (std::uint32_t i = 0; i < 5; ++i) player.run({{0, prompt_of(1, 20 + i)}});
    player.copy(0, 1, 30);
    player.run({{1, prompt_of(3, 6)}, {2, prompt_of(21, 7)}});
    for (std::uint32_t i = 0; i < 4; ++i)
      player.run({{0, prompt_of(1, 30 + i)}, {1, prompt_of(1, 40 + i)}, {2, prompt_of(1, 50 + i)}});
    EXPECT_TRUE(player[1].take_snapshot().ok());
    // Back to the snapshot, and on another way, while others decode.
    player[0].truncate(30);
    player.run({{2, prompt_of(1, 8)}, {0, prompt_of(11, 9)}, {1, prompt_of(1, 10)}});
    player.copy(1, 2, 12);
    player.run({{2, prompt_of(17, 11)}, {1, prompt_of(2, 12)}});
    player[1].clear();
    player.run({{1, prompt_of(18, 13)}, {0, prompt_of(1, 14)}, {2, prompt_of(1, 15)}});
    return player.said();
  };
  const std::vector<Said> expected = play(cpu);
  const std::vector<Said> got = play(coreml);
  ASSERT_EQ(got.size(), expected.size());
  std::set<std::int32_t> numbers;
  for (std::size_t i = 0; i < got.size(); ++i) {
    numbers.insert(expected[i].number);
    ASSERT_EQ(got[i].logits.size(), expected[i].logits.size()) << "number " << i;
    if (expected[i].logits.empty()) {
      EXPECT_EQ(got[i].number, expected[i].number) << "number " << i;
      continue;
    }
    EXPECT_GE(anemone::testing::cosine(got[i].logits, expected[i].logits), 0.9999)
        << "number " << i;
    // Only tokens that tie may differ: logits are fp16 of 4 to 8, in steps of 2^-8, and an
    // attention that is one operation rounds once where its graph rounds after each. The tokens
    // that follow do not depend on what was said.
    const auto logit = [&](const Said& said) {
      return expected[i].logits[static_cast<std::size_t>(said.number)];
    };
    EXPECT_NEAR(logit(got[i]), logit(expected[i]), 0x1p-8) << "number " << i;
  }
  EXPECT_GT(numbers.size(), 3u);
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
