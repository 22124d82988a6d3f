// SPDX-License-Identifier: Apache-2.0
// The executor over the double, by a small package: functions, states, threads, events, times.
#include <algorithm>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "exec/coreml/coreml_executor.h"
#include "exec/coreml/residency.h"
#include "exec/profile.h"
#include "tests/exec/coreml/checked_runtime.h"
#include "tests/exec/coreml/small_package.h"

namespace anemone::exec::coreml::testing {
namespace {

using Floats = std::vector<float>;

struct MemoryCase {
  const char* name;
  CheckedOptions options;
};

class Program : public ::testing::TestWithParam<MemoryCase> {
 protected:
  void SetUp() override {
    write_small_package(package);
    options.cache_folder = folder.file("cache");
    options.on_event = [&](const LoadEvent& event) { events.push_back(event.stage); };
  }
  void TearDown() override {
    program.reset();
    executor.reset();
    EXPECT_EQ(runtime->violations(), std::vector<std::string>());
    EXPECT_EQ(runtime->live_models(), 0);
    EXPECT_EQ(runtime->live_states(), 0);
  }
  void load(const LoadOptions& load_options = {}) {
    executor = make_coreml_executor(runtime, options);
    auto loaded = executor->load(package, load_options);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    program = *loaded;
  }
  std::unique_ptr<StateStore> make_state() {
    auto made = program->make_state();
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : nullptr;
  }
  Floats run(const std::string& function, const Floats& values, StateStore* state) {
    const Tensor x = halves({1, 2, 3}, values);
    Outputs outputs;
    status = program->run(function, {{"x", x.view()}}, outputs, state);
    if (!status.ok()) return {};
    EXPECT_EQ(outputs.size(), 1u);
    return to_floats(outputs[0].tensor.view());
  }

  anemone::testing::TemporaryFolder folder;
  const std::string package = folder.file("small.mlpackage");
  std::shared_ptr<CheckedRuntime> runtime = std::make_shared<CheckedRuntime>(GetParam().options);
  CoreMlOptions options;
  std::vector<LoadEvent::Stage> events;
  std::unique_ptr<CoreMlExecutor> executor;
  std::shared_ptr<const LoadedProgram> program;
  Status status;
};

TEST_P(Program, RunsFunctionsOverOneSetOfStates) {
  load();
  EXPECT_EQ(program->functions(), (std::vector<std::string>{"decode", "prefill", "twice"}));
  EXPECT_EQ(program->default_function(), "decode");
  const auto one = make_state();
  const auto two = make_state();
  EXPECT_EQ(run("decode", {1, 2, 3, 4, 5, 6}, one.get()), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run("prefill", {1, 1, 1, 1, 1, 1}, one.get()), (Floats{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(run("", {9, 9, 9, 9, 9, 9}, two.get()), (Floats{9, 9, 9, 9, 9, 9}));
  EXPECT_EQ(run("twice", {1, 2, 3, 4, 5, 6}, nullptr), (Floats{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(run("twice", {1, 2, 3, 4, 5, 6}, one.get()), (Floats{2, 4, 6, 8, 10, 12}));
}

TEST_P(Program, StatesAreReadWrittenEditedAndReset) {
  load();
  const auto state = make_state();
  run("decode", {1, 2, 3, 4, 5, 6}, state.get());
  EXPECT_EQ(to_floats((*state->read("total")).view()), (Floats{1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(state->write("total", halves({1, 2, 3}, {5, 5, 5, 5, 5, 5}).view()).ok());
  ASSERT_TRUE(
      state->edit("total", [](const MutableTensorView& view) { view.as<Half>()[4] = to_half(7); })
          .ok());
  EXPECT_EQ(run("decode", {0, 0, 0, 0, 0, 1}, state.get()), (Floats{5, 5, 5, 5, 7, 6}));
  state->reset();
  EXPECT_EQ(run("decode", {0, 0, 0, 0, 0, 1}, state.get()), (Floats{0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(state->read("other").status().code(), Code::kNotFound);
  EXPECT_EQ(state->write("total", halves({1}, {1}).view()).message(),
            "[state total] expected fp16 [1, 2, 3], got fp16 [1]");
}

TEST_P(Program, WrongCallsChangeNothing) {
  load();
  const auto state = make_state();
  run("decode", {1, 1, 1, 1, 1, 1}, state.get());
  const auto predictions = runtime->predictions();
  run("decode", {1, 1, 1, 1, 1, 1}, nullptr);
  EXPECT_EQ(status.message(), "[small.mlpackage] expected states for function decode, got none");
  run("other", {1, 1, 1, 1, 1, 1}, state.get());
  EXPECT_EQ(status.code(), Code::kNotFound);
  Outputs outputs;
  const Tensor small = halves({1, 2}, {1, 1});
  EXPECT_EQ(program->run("decode", {{"x", small.view()}}, outputs, state.get()).message(),
            "[x] expected shape [1, 2, 3], got [1, 2]");
  const auto other = executor->load(package, {});
  ASSERT_TRUE(other.ok());
  const auto foreign = (*other)->make_state();
  ASSERT_TRUE(foreign.ok());
  run("decode", {1, 1, 1, 1, 1, 1}, foreign->get());
  EXPECT_EQ(status.message(), "[small.mlpackage] expected states of this program, got others");
  EXPECT_EQ(runtime->predictions(), predictions + 3);  // those of the second load's warm-up
  EXPECT_EQ(run("decode", {0, 0, 0, 0, 0, 0}, state.get()), (Floats{1, 1, 1, 1, 1, 1}));
}

TEST_P(Program, StatesThatOutliveTheirProgramServeNoOther) {
  load();
  const auto state = make_state();
  program.reset();
  load();
  run("decode", {1, 1, 1, 1, 1, 1}, state.get());
  EXPECT_EQ(status.message(), "[small.mlpackage] expected states of this program, got others");
  EXPECT_TRUE(state->read("total").ok());
}

TEST_P(Program, OutputsOfAnEarlierRunAreUsedAgain) {
  load();
  const Tensor x = halves({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  Outputs outputs;
  ASSERT_TRUE(program->run("twice", {{"x", x.view()}}, outputs, nullptr).ok());
  const std::byte* const storage = outputs[0].tensor.view().data;
  outputs.push_back({"leftover", Tensor(DType::kFp16, {1})});
  ASSERT_TRUE(program->run("twice", {{"x", x.view()}}, outputs, nullptr).ok());
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].tensor.view().data, storage);
}

TEST_P(Program, LoadsAndWarmsUpWithEvents) {
  load();
  EXPECT_EQ(runtime->loads(), 3);
  EXPECT_EQ(runtime->predictions(), 3);
  using enum LoadEvent::Stage;
  EXPECT_EQ(events, (std::vector{kHashing, kCompiling, kCompiled, kLoaded, kWarm, kLoaded, kWarm,
                                 kLoaded, kWarm}));
}

TEST_P(Program, FunctionsLoadWhenTheyFirstRun) {
  load({.functions = {"twice", "decode"}, .when_first_run = true});
  EXPECT_EQ(program->functions(), (std::vector<std::string>{"decode", "twice"}));
  EXPECT_EQ(runtime->loads(), 0);
  EXPECT_NE(program->signature("decode"), nullptr);
  EXPECT_EQ(program->signature("prefill"), nullptr);
  run("twice", {1, 2, 3, 4, 5, 6}, nullptr);
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(runtime->loads(), 1);
  EXPECT_EQ(executor->load(package, {.functions = {"none"}}).status().code(), Code::kNotFound);
}

TEST_P(Program, ThreadsRunSequencesOfTheirOwn) {
  load();
  constexpr int kThreads = 4;
  constexpr int kRuns = 50;
  std::vector<std::unique_ptr<StateStore>> states;
  for (int i = 0; i < kThreads; ++i) states.push_back(make_state());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      const Tensor x = halves({1, 2, 3}, Floats(6, static_cast<float>(i)));
      for (int k = 0; k < kRuns; ++k) {
        Outputs outputs;
        const char* const name = k % 3 == 0 ? "decode" : k % 3 == 1 ? "prefill" : "twice";
        EXPECT_TRUE(
            program
                ->run(name, {{"x", x.view()}}, outputs, states[static_cast<std::size_t>(i)].get())
                .ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(to_floats((*states[static_cast<std::size_t>(i)]->read("total")).view()),
              Floats(6, static_cast<float>(i * 34)));
}

TEST_P(Program, TellsTheTimeOfItsPhases) {
  load();
  const Profiled* profiled = program->profiled();
  ASSERT_NE(profiled, nullptr);
  profiled->set_timed(true);
  run("twice", {1, 2, 3, 4, 5, 6}, nullptr);
  run("twice", {1, 2, 3, 4, 5, 6}, nullptr);
  const auto steps = profiled->explain("twice");
  ASSERT_TRUE(steps.ok());
  ASSERT_EQ(steps->size(), 3u);
  EXPECT_EQ((*steps)[1].name, "predict");
  EXPECT_EQ((*steps)[1].runs, 2);
  EXPECT_GT((*steps)[1].seconds, 0);
  EXPECT_EQ(profiled->explain("decode")->front().runs, 0);
  EXPECT_EQ(profiled->explain("none").status().code(), Code::kNotFound);
}

// Core ML has an order of its own.
TEST_P(Program, HasFeaturesInTheOrderOfTheirNames) {
  mlpackage::Model model;
  Builder b(model.program, ops::op_registry(), "main", Opset::kIOS18);
  const Type type = Type::tensor(DType::kFp16, {1, 2, 3});
  Value* second = b.input("second", type);
  Value* first = b.input("first", type);
  Value* third = b.input("third", type);
  Value* sum = b.op("add", {{"x", first}, {"y", second}}, "sum");
  ASSERT_TRUE(b.finish({b.op("add", {{"x", sum}, {"y", third}}, "y")}).ok());
  add_interface(model, b.function());
  ASSERT_TRUE(mlpackage::write_package(model, folder.file("three.mlpackage"),
                                       {.registry = &ops::op_registry()})
                  .ok());
  const auto loaded =
      make_coreml_executor(runtime, options)->load(folder.file("three.mlpackage"), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::vector<std::string> names;
  for (const Feature& input : (*loaded)->signature("main")->inputs) names.push_back(input.name);
  EXPECT_EQ(names, (std::vector<std::string>{"first", "second", "third"}));
}

TEST_P(Program, GivesThePlanOfAFunction) {
  load();
  const auto plan = compute_plan(*program, "twice");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const Residency residency = join(*plan, {});
  EXPECT_EQ(residency.verdict, Verdict::kResident);
  EXPECT_EQ(residency.unpredicted, 2u);  // a product and a sum
  EXPECT_EQ(compute_plan(*program, "none").status().code(), Code::kNotFound);
}

const MemoryCase kMemoryCases[] = {
    {"Dense", {}},
    {"PaddedRows", {.row_bytes = 64, .given_row_bytes = 64}},
    {"NoBackings", {.uses_backings = false, .given_row_bytes = 64}},
};
INSTANTIATE_TEST_SUITE_P(Memory, Program, ::testing::ValuesIn(kMemoryCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace anemone::exec::coreml::testing
