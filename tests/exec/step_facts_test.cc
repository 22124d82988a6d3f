// SPDX-License-Identifier: Apache-2.0
#include "exec/step_facts.h"

#include <gtest/gtest.h>

#include "exec/executor.h"

namespace anemone::exec {
namespace {

// By the definition: which positions each token sees, one by one.
TEST(StepFacts, WhatATokenAttendsToIsWhatTheDefinitionSays) {
  constexpr std::int64_t kTokens = 4;
  for (const bool is_bidirectional : {false, true})
    for (const std::int64_t window : {0, 1, 3, 99})
      for (const std::int64_t position : {0, 1, 5})
        for (std::int64_t count = 1; count <= kTokens; ++count)
          for (std::int64_t t = 0; t < kTokens; ++t) {
            const MaskFact mask{"m", MaskFact::Role::kAttention, window, is_bidirectional};
            const PositionRange got = attended(mask, position, count, t);
            const std::int64_t at = position + (t < count ? t : count - 1);
            for (std::int64_t s = 0; s < 20; ++s) {
              const bool is_ahead = s > at;
              const bool is_near = window == 0 || (is_ahead ? s - at : at - s) < window;
              const bool is_seen = is_near && (is_bidirectional ? s < position + count : !is_ahead);
              ASSERT_EQ(s >= got.begin && s < got.end, is_seen)
                  << "window " << window << " token " << t << " of " << count << " at " << position
                  << " position " << s;
            }
          }
}

struct CheckFacts : ::testing::Test {
  CheckFacts() {
    Feature& mask = signature.inputs.emplace_back();
    mask.name = "mask";
    mask.dtype = DType::kFp16;
    mask.shape = {1, 1, kDynamic, 8};
    mask.size_ranges = {{1, 1}, {1, 1}, {1, 4}, {8, 8}};
  }
  std::string message(const StepFacts& facts, const Inputs& inputs = {}) {
    return check_item(signature, BatchItem{.inputs = &inputs, .facts = &facts}).message();
  }
  Signature signature;
  const MaskFact masks[1] = {{.input = "mask"}};
};

TEST_F(CheckFacts, StandInForAnInput) {
  const StepFacts facts{.position = 0, .count = 1, .tokens = 2, .masks = masks};
  EXPECT_EQ(message(facts), "");
  EXPECT_FALSE(check_inputs(signature, Inputs{}).ok());
  EXPECT_EQ(mask_shape(signature.inputs[0], masks[0], facts), (Shape{1, 1, 2, 8}));
}

// A past of 1 to 24 positions and the 2 tokens of the step: a fact stands for the longest one. One
// without a limit has no longest, so the check of shapes decides.
TEST(MaskShape, OfAnOpenPastIsTheGreatest) {
  Feature mask;
  mask.shape = {1, 1, 2, kDynamic};
  mask.size_ranges = {{1, 1}, {1, 1}, {2, 2}, {3, 26}};
  const MaskFact fact{.input = "mask", .role = MaskFact::Role::kAttentionPastAndStep};
  const StepFacts facts{.position = 5, .count = 2, .tokens = 2, .masks = {&fact, 1}};
  EXPECT_EQ(mask_shape(mask, fact, facts), (Shape{1, 1, 2, 26}));
  EXPECT_EQ(greatest_shape(mask), (Shape{1, 1, 2, 26}));
  mask.size_ranges[3].upper = SizeRange::kUnbounded;
  EXPECT_EQ(mask_shape(mask, fact, facts), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(greatest_shape(mask), (Shape{1, 1, 2, kDynamic}));
}

TEST_F(CheckFacts, AreOfInputsThatAreThereOnce) {
  const MaskFact others[] = {{.input = "mask"}, {.input = "musk"}};
  EXPECT_EQ(message({0, 1, 2, others}),
            "[musk] expected one of the inputs mask, got an unknown mask");
  const Tensor mask(DType::kFp16, {1, 1, 2, 8});
  EXPECT_EQ(message({0, 1, 2, masks}, {{"mask", mask.view()}}),
            "[mask] expected one value, got two");
}

TEST_F(CheckFacts, HaveNoMoreTokensThanTheInput) {
  EXPECT_EQ(message({0, 1, 5, masks}), "[mask] expected shape [1, 1, 1..4, 8], got [1, 1, 5, 8]");
}

}  // namespace
}  // namespace anemone::exec
