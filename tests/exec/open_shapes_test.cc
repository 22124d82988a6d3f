// SPDX-License-Identifier: Apache-2.0
// Functions whose inputs have open dimensions: planned for the shapes of each run.
#include <atomic>
#include <thread>

#include "exec/cpu/function_plans.h"
#include "tests/exec/open_shapes_fixture.h"

namespace anemone::exec {
namespace {

struct OpenShapes : OpenShapesFixture {};

TEST_F(OpenShapes, AnOpenDimensionHasThePlanAndTheBitsOfAFixedOne) {
  for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
    SCOPED_TRACE(std::string(kernels::simd::isa_name(isa)));
    build_layer(kDynamic);
    const auto open = load_as(isa, false);
    const auto reference = load_as(isa, true);
    ASSERT_TRUE(open != nullptr && reference != nullptr);
    for (const std::int64_t tokens : {5, 1, 40, 5}) {
      SCOPED_TRACE(tokens);
      build_layer(tokens);
      const auto fixed = load_as(isa, false);
      ASSERT_NE(fixed, nullptr);
      const auto given = layer_inputs(tokens);
      const auto got = run(*open, views(given), "y");
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(got, run(*fixed, views(given), "y"));
      const auto names = steps(*open);
      EXPECT_EQ(names, steps(*fixed));
      for (const char* fusion :
           {"rms_norm", "projection", "rope", "attention", "silu_multiply", "softmax", "chain"})
        EXPECT_GT(std::ranges::count(names, fusion), 0) << fusion;
      expect_near(got, run(*reference, views(given), "y"), kManyRoundings);
    }
  }
}

TEST_F(OpenShapes, MoreShapesThanPlansAreKeptTakeTurns) {
  build_layer(kDynamic);
  const auto loaded = load();
  const auto reference = load_as(options.isa, true);
  ASSERT_TRUE(loaded != nullptr && reference != nullptr);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t tokens = 1; tokens <= static_cast<std::int64_t>(FunctionPlans::kMaxPlans) + 3;
         ++tokens) {
      SCOPED_TRACE(tokens);
      const auto given = layer_inputs(tokens);
      const auto got = run(*loaded, views(given), "y");
      ASSERT_TRUE(status.ok()) << status.message();
      expect_near(got, run(*reference, views(given), "y"), kManyRoundings);
    }
}

TEST_F(OpenShapes, RunsOfDifferentShapesGoSideBySide) {
  build_layer(kDynamic);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  constexpr std::int64_t kShapes = static_cast<std::int64_t>(FunctionPlans::kMaxPlans) + 2;
  std::vector<std::vector<Given>> given;
  std::vector<std::vector<float>> expected;
  for (std::int64_t i = 0; i < kShapes; ++i) {
    given.push_back(layer_inputs(1 + i));
    expected.push_back(run(*loaded, views(given.back()), "y"));
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Outputs outputs;
      for (std::int64_t i = 0; i < 4 * kShapes; ++i) {
        const auto which = static_cast<std::size_t>((i * (t + 1) + t) % kShapes);
        const Status done = loaded->run("", views(given[which]), outputs, nullptr);
        if (!done.ok() || to_floats(find_output(outputs, "y")->view()) != expected[which]) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(OpenShapes, BatchesOfDifferentShapesGiveTheBitsOfSingleRuns) {
  build_layer(kDynamic);
  std::vector<std::vector<Given>> steps;
  for (const std::int64_t tokens : {3, 3, 7, 3, 1, 1}) steps.push_back(layer_inputs(tokens));
  expect_batches_like_single_runs(steps);
}

TEST_F(OpenShapes, ARunThatFailsLeavesOthersAlone) {
  Builder b = function();
  Value* x = b.input("x", half({kDynamic}));
  Value* z = b.input("z", half({kDynamic}));
  Value* y = b.op("add", {{"x", x}, {"y", z}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor three = random({3}), five = random({5});
  for (int i = 0; i < 2; ++i) {
    run(*loaded, {{"x", three.view()}, {"z", five.view()}}, "y");
    EXPECT_EQ(status.code(), Code::kCorrupt) << status.message();
    EXPECT_NE(status.message().find("[add \"y\"]"), std::string::npos) << status.message();
    EXPECT_EQ(run(*loaded, {{"x", three.view()}, {"z", three.view()}}, "y").size(), 3U);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

// Before a run there is a plan for the least of the shapes that are allowed.
TEST_F(OpenShapes, ThePlanIsThatOfTheLastRun) {
  Builder b = function();
  Value* x = b.input("x", half({1, kDynamic, kChannels}));
  Value* y = linear(b, x, 8);
  b.rename(y, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  for (const bool is_list : {false, true}) {
    Feature in = half_feature("x", {1, kDynamic, kChannels});
    if (is_list)
      in.allowed_shapes = {{1, 6, kChannels}, {1, 2, kChannels}};
    else
      in.size_ranges = {{1, 1}, {2, 6}, {kChannels, kChannels}};
    interface.signatures["main"] = Signature{{in}, {half_feature("y", {1, kDynamic, 8})}, {}};
    const auto loaded = load();
    ASSERT_NE(loaded, nullptr);
    const auto flops = [&] { return explain(*loaded)->back().flops; };
    EXPECT_EQ(flops(), 2 * 2 * kChannels * 8);
    const Tensor six = random({1, 6, kChannels});
    ASSERT_TRUE(set_timed(*loaded, true).ok());
    run(*loaded, {{"x", six.view()}}, "y");
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(flops(), 2 * 6 * kChannels * 8);
    EXPECT_EQ(explain(*loaded)->back().runs, 1);
    const Tensor one = random({1, 1, kChannels});
    run(*loaded, {{"x", one.view()}}, "y");
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
  }
}

// A dimension that the program leaves open is not dropped where a run has 1 of it.
TEST_F(OpenShapes, SqueezeGivesTheRankThatTheProgramDeclares) {
  Builder b = function();
  Value* x = b.input("x", Type::tensor(DType::kFp32, {1, kDynamic, 1, 2}));
  Value* y = b.op("squeeze", {{"x", x}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  EXPECT_EQ(y->type.shape, (Shape{kDynamic, 2}));
  for (const bool is_reference : {false, true}) {
    const auto loaded = load_as(options.isa, is_reference);
    ASSERT_NE(loaded, nullptr);
    for (const std::int64_t size : {3, 1, 4}) {
      const Tensor given =
          floats({1, size, 1, 2}, std::vector<float>(static_cast<std::size_t>(2 * size), 5.0f));
      Outputs outputs;
      ASSERT_TRUE((status = loaded->run("", {{"x", given.view()}}, outputs, nullptr)).ok())
          << status.message();
      EXPECT_EQ(find_output(outputs, "y")->view().shape, (Shape{size, 2}));
    }
  }
}

TEST_F(OpenShapes, SqueezeRefusesASizeThatItShouldDrop) {
  Builder b = function();
  Value* x = b.input("x", Type::tensor(DType::kFp32, {1, kDynamic, 1, 2}));
  Value* y = b.op("squeeze", {{"x", x}, {"axes", Literal::int32s({1, 2})}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  EXPECT_EQ(y->type.shape, (Shape{1, kDynamic, 2}));
  y->type.shape = {1, 2};  // as other writers declare it
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(run(*loaded, {{"x", floats({1, 1, 1, 2}, {3, 4}).view()}}, "y").size(), 2U);
  EXPECT_TRUE(status.ok()) << status.message();
  run(*loaded, {{"x", floats({1, 2, 1, 2}, {3, 4, 5, 6}).view()}}, "y");
  EXPECT_NE(status.message().find("squeeze_c4"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace anemone::exec
