// SPDX-License-Identifier: Apache-2.0
// Runs of a batch over one recurrent state go one after the other where the state is, and together
// everywhere else.
#include <algorithm>

#include "exec/cpu/cpu_program.h"
#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

struct Recurrent : FusionFixture {
  // state = state / 2 + w1 x; y = w2 tanh(state). The program reads the state before all else.
  void build() {
    Builder b = function();
    Value* x = b.input("x", half({1, 16, 1, 1}));
    Value* state = b.input("memory", Type::state(DType::kFp16, {1, 16, 1, 1}));
    Value* before = b.read_state(state, "before");
    Value* in = b.op("conv", {{"x", x}, {"weight", random_literal({16, 16, 1, 1})}});
    Value* half_of = b.op("mul", {{"x", before}, {"y", Literal::number(0.5, DType::kFp16)}});
    Value* after = b.op("add", {{"x", half_of}, {"y", in}});
    b.write_state(state, after, "write");
    Value* out = b.op("tanh", {{"x", after}});
    Value* y = b.op("conv", {{"x", out}, {"weight", random_literal({8, 16, 1, 1})}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
};

TEST_F(Recurrent, ReadsTheWeightsOnceForAllRuns) {
  build();
  const auto loaded = load_as(kernels::simd::supported_isas().back(), false);
  ASSERT_NE(loaded, nullptr);
  const auto plan = dynamic_cast<const CpuProgram&>(*loaded).plan("");
  ASSERT_TRUE(plan.ok());
  const PreparedFunction& function = (*plan)->function();
  EXPECT_TRUE(function.is_batchable);
  ASSERT_EQ(function.stretches.size(), 1U);
  const auto [begin, end] = function.stretches[0];
  const auto steps = explain(*loaded);
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(std::ranges::count(*steps, "projection", &PlanStep::name), 2);
  EXPECT_EQ((*steps)[begin].name, "read_state");
  EXPECT_EQ((*steps)[end - 1].name, "write_state");
  for (std::size_t k = begin; k < end; ++k) EXPECT_NE((*steps)[k].name, "projection");
}

TEST_F(Recurrent, RunsOfABatchSeeWhatThoseBeforeThemHaveWritten) {
  build();
  for (const auto& [isa, is_reference] : engines()) {
    SCOPED_TRACE(is_reference ? "reference" : std::string(kernels::simd::isa_name(isa)));
    const auto loaded = load_as(isa, is_reference);
    ASSERT_NE(loaded, nullptr);
    // Runs of two sequences that take turns, the first more often.
    const std::vector<std::size_t> sequences = {0, 1, 0, 0, 1, 0};
    std::unique_ptr<StateStore> alone[] = {*loaded->make_state(), *loaded->make_state()};
    std::unique_ptr<StateStore> together[] = {*loaded->make_state(), *loaded->make_state()};
    std::vector<Tensor> x;
    std::vector<Inputs> inputs;
    std::vector<std::vector<float>> expected;
    for (const std::size_t sequence : sequences) {
      x.push_back(random({1, 16, 1, 1}));
      inputs.push_back({{"x", x.back().view()}});
      expected.push_back(run(*loaded, inputs.back(), "y", alone[sequence].get()));
      ASSERT_TRUE(status.ok()) << status.message();
    }
    std::vector<Outputs> outputs(sequences.size());
    std::vector<BatchItem> items;
    for (std::size_t i = 0; i < sequences.size(); ++i)
      items.push_back({&inputs[i], &outputs[i], together[sequences[i]].get()});
    status = loaded->run_batch("", items);
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t i = 0; i < sequences.size(); ++i)
      EXPECT_EQ(to_floats(find_output(outputs[i], "y")->view()), expected[i]) << i;
    for (std::size_t s = 0; s < 2; ++s)
      EXPECT_EQ(to_floats(together[s]->read("memory")->view()),
                to_floats(alone[s]->read("memory")->view()));
    EXPECT_NE(expected[0], expected[2]);
  }
}

}  // namespace
}  // namespace anemone::exec
