// SPDX-License-Identifier: Apache-2.0
// What explain() gives for the steps of a plan.
#include <gtest/gtest.h>

#include "exec/profile.h"
#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

struct Explain : FusionFixture {
  // y [1, 40, 5, 1] = int8 weights [40, 64] with one scale per row, and a bias.
  void build() {
    Builder b = function();
    Value* x = b.input("x", half({1, 64, 5, 1}));
    Tensor weight(DType::kInt8, {40, 64, 1, 1});
    Value* matrix = b.op("constexpr_blockwise_shift_scale",
                         {{"data", b.constant(Literal::of(std::move(weight)), "data")},
                          {"scale", b.constant(random_literal({40, 1, 1, 1}), "scale")}});
    Value* y = b.op("conv", {{"x", x}, {"weight", matrix}, {"bias", random_literal({40})}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
  PlanStep last(const LoadedProgram& loaded) {
    const auto steps = explain(loaded);
    EXPECT_TRUE(steps.ok() && !steps->empty());
    return steps->back();
  }
};

TEST_F(Explain, WeightsCountInTheFormThatTheyLieIn) {
  build();
  const PlanStep fused = last(*load_as(kernels::simd::Isa::kPlain, false));
  EXPECT_EQ(fused.name, "projection");
  EXPECT_EQ(fused.weight_bytes, 40 * 64 + 40 * 2 + 40 * 2);
  EXPECT_EQ(fused.flops, 2 * 40 * 64 * 5);
  EXPECT_EQ(fused.state_bytes, 0);
  EXPECT_EQ(fused.form, "int8");
  // The reference has taken them apart when it was loaded.
  const PlanStep plain = last(*load_as(kernels::simd::Isa::kPlain, true));
  EXPECT_EQ(plain.name, "conv");
  EXPECT_GE(plain.weight_bytes, 40 * 64 * 2 + 40 * 2);
  EXPECT_EQ(plain.flops, fused.flops);
}

// Each run tells its own times, whatever else is timed.
TEST_F(Explain, ARunTellsHowLongItsStepsTook) {
  build();
  const auto loaded = load_as(kernels::simd::Isa::kPlain, false);
  const Tensor x = random({1, 64, 5, 1});
  const Inputs inputs = {{"x", x.view()}};
  Outputs plain, outputs[2];
  ASSERT_TRUE(loaded->run("", inputs, plain, nullptr).ok());
  const auto steps = explain(*loaded);
  ASSERT_TRUE(steps.ok());
  ASSERT_TRUE(set_timed(*loaded, true).ok());
  RunTimes times;
  BatchItem items[2] = {{&inputs, &outputs[0], nullptr}, {&inputs, &outputs[1], nullptr}};
  items[0].times = &times;
  ASSERT_TRUE(loaded->run_batch("", items).ok());
  ASSERT_NE(times.steps, nullptr);
  ASSERT_EQ(times.steps->size(), steps->size());
  ASSERT_EQ(times.seconds.size(), steps->size());
  for (std::size_t i = 0; i < steps->size(); ++i) {
    EXPECT_EQ((*times.steps)[i].name, (*steps)[i].name);
    EXPECT_EQ((*times.steps)[i].runs, 0);
  }
  EXPECT_GT(times.seconds.back(), 0);
  for (const Outputs& out : outputs)
    EXPECT_EQ(to_floats(find_output(out, "y")->view()), to_floats(find_output(plain, "y")->view()));
  EXPECT_EQ(last(*loaded).runs, 1) << "what set_timed() asked for counts as well";
  EXPECT_NEAR(last(*loaded).seconds, times.seconds.back(), 1e-6);

  // Times add up, and those of another plan are left out.
  const double first = times.seconds.back();
  ASSERT_TRUE(loaded->run_batch("", items).ok());
  EXPECT_GT(times.seconds.back(), first);
  const double both = times.seconds.back();
  times.add(std::make_shared<const std::vector<PlanStep>>(1), {5});
  EXPECT_EQ(times.seconds.back(), both);
}

TEST_F(Explain, TablesCountTheRowsThatAreReadAndProductsTheirTerms) {
  Builder b = function();
  Value* ids = b.input("ids", Type::tensor(DType::kInt32, {3}));
  Value* rows = b.op("gather", {{"x", b.constant(random_literal({100, 16}), "table")},
                                {"indices", ids},
                                {"axis", Literal::int32(0)},
                                {"batch_dims", Literal::int32(0)},
                                {"validate_indices", Literal::boolean(false)}});
  Value* y = b.op("matmul",
                  {{"x", rows},
                   {"y", rows},
                   {"transpose_x", Literal::boolean(false)},
                   {"transpose_y", Literal::boolean(true)}},
                  "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto steps = explain(*load());
  ASSERT_TRUE(steps.ok());
  ASSERT_EQ(steps->size(), 2U);
  EXPECT_EQ((*steps)[0].weight_bytes, 3 * 16 * 2);
  EXPECT_EQ((*steps)[0].flops, 0);
  EXPECT_EQ((*steps)[1].flops, 2 * 3 * 3 * 16);
}

TEST_F(Explain, RunsAreTimedWhileItIsAskedFor) {
  build();
  const auto loaded = load();
  const Tensor x = random({1, 64, 5, 1});
  run(*loaded, {{"x", x.view()}}, "y");
  EXPECT_EQ(last(*loaded).runs, 0);
  ASSERT_TRUE(set_timed(*loaded, true).ok());
  for (int i = 0; i < 3; ++i) run(*loaded, {{"x", x.view()}}, "y");
  EXPECT_EQ(last(*loaded).runs, 3);
  EXPECT_GT(last(*loaded).seconds, 0);
  ASSERT_TRUE(set_timed(*loaded, false).ok());
  run(*loaded, {{"x", x.view()}}, "y");
  EXPECT_EQ(last(*loaded).runs, 3);
  ASSERT_TRUE(set_timed(*loaded, true).ok());
  EXPECT_EQ(last(*loaded).runs, 0);
}

TEST_F(Explain, FunctionsThatAreNotThereAreSaid) {
  build();
  const auto steps = explain(*load(), "decode");
  ASSERT_FALSE(steps.ok());
  EXPECT_EQ(steps.status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace anemone::exec
