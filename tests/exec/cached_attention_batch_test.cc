// SPDX-License-Identifier: Apache-2.0
// Attention over states in runs of one function that go together.
#include "tests/exec/cached_attention_fixture.h"

namespace anemone::exec {
namespace {

struct CachedAttentionBatch : CachedAttention {
  using Steps = std::vector<std::vector<Given>>;
};

TEST_F(CachedAttentionBatch, OverStatesOfTheirOwn) {
  build(1);
  Steps steps;
  for (std::int64_t i = 0; i < 5; ++i) steps.push_back(step(1, 2 * i));
  expect_states_like_single_runs(steps, false);
}

TEST_F(CachedAttentionBatch, ChunksOfOneConversation) {
  build(4);
  Steps steps;
  for (std::int64_t i = 0; i < 3; ++i) steps.push_back(step(4, 4 * i));
  expect_states_like_single_runs(steps, true);
}

// The first attends to the register that the second writes, as a cache does that goes round.
TEST_F(CachedAttentionBatch, ALaterRunWritesWhereAnEarlierOneAttends) {
  build(2);
  Steps steps;
  steps.push_back(step(2, 4));
  steps.push_back(step(2, 3));
  steps.push_back(step(2, 8));
  expect_states_like_single_runs(steps, true);
}

// Enough rows for the blocks of attention, with windows that leave some of them out.
TEST_F(CachedAttentionBatch, ManyRows) {
  build(12);
  Steps steps;
  for (const std::int64_t window : {99, 3}) {
    auto given = step(12, 0, window);
    steps.push_back(std::move(given));
  }
  expect_states_like_single_runs(steps, false);
  std::vector<std::vector<Given>> one;
  one.push_back(steps[1]);
  expect_like_reference({"cached_attention"}, one, kManyRoundings);
}

TEST_F(CachedAttentionBatch, OneBadItemLeavesEveryStateAlone) {
  build(1);
  const auto loaded = load_as(kernels::simd::supported_isas().back(), false);
  auto store = loaded->make_state();
  const auto good = step(1, 0);
  Inputs inputs[2];
  for (const Given& given : good) inputs[0].push_back({given.name, given.tensor.view()});
  Outputs outputs[2];
  const BatchItem items[] = {{&inputs[0], &outputs[0], store->get()},
                             {&inputs[1], &outputs[1], store->get()}};
  EXPECT_EQ(loaded->run_batch("", items).code(), Code::kInvalidArgument);
  EXPECT_EQ(loaded->run_batch("nothing", items).code(), Code::kNotFound);
  EXPECT_TRUE(loaded->run_batch("", {}).ok());
}

}  // namespace
}  // namespace anemone::exec
