// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions along one axis against the reference, to the bit.
#include <string>

#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

struct DepthwiseConvFusion : FusionFixture {
  struct Form {
    Shape x;
    Shape weight;
    std::int32_t groups;
    std::vector<std::int32_t> strides = {1, 1};
    std::vector<std::int32_t> dilations = {1, 1};
    std::vector<std::int32_t> pad = {0, 0, 0, 0};
    bool has_bias = false;
  };

  void build(const Form& form) {
    program = std::make_shared<Program>();
    Builder b = function();
    std::vector<Builder::Input> inputs = {
        {"x", b.input("x", half(form.x))},
        {"weight", b.constant(random_literal(form.weight), "weight")},
        {"strides", Literal::int32s(form.strides)},
        {"dilations", Literal::int32s(form.dilations)},
        {"pad_type", Literal::text("custom")},
        {"pad", Literal::int32s(form.pad)},
        {"groups", Literal::int32(form.groups)}};
    if (form.has_bias) inputs.push_back({"bias", random_literal({form.weight[0]})});
    Value* y = b.op("conv", inputs, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
  void expect_same_bits(const Form& form, bool is_fused) {
    SCOPED_TRACE(to_string(form.x) + " * " + to_string(form.weight));
    build(form);
    const std::vector<std::string> names =
        is_fused ? std::vector<std::string>{"depthwise_conv"} : std::vector<std::string>();
    expect_like_reference(names, {{{"x", random(form.x, 2)}}}, 0);
  }
};

TEST_F(DepthwiseConvFusion, GivesTheBitsOfTheReference) {
  for (const std::int64_t positions : {4, 5, 20, 67})
    for (const bool has_bias : {false, true}) {
      expect_same_bits(
          {.x = {1, 6, positions, 1}, .weight = {6, 1, 4, 1}, .groups = 6, .has_bias = has_bias},
          true);
      expect_same_bits(
          {.x = {1, 6, 1, positions}, .weight = {6, 1, 1, 3}, .groups = 6, .has_bias = has_bias},
          true);
    }
  // Enough channels for all threads.
  expect_same_bits({.x = {1, 3000, 6, 1}, .weight = {3000, 1, 3, 1}, .groups = 3000}, true);
  expect_same_bits({.x = {1, 5, 30, 1}, .weight = {5, 1, 16, 1}, .groups = 5}, true);
}

TEST_F(DepthwiseConvFusion, OthersAreLeftAlone) {
  // Channels that share weights, and more outputs than channels.
  expect_same_bits({.x = {1, 6, 9, 1}, .weight = {6, 2, 4, 1}, .groups = 3}, false);
  expect_same_bits({.x = {1, 6, 9, 1}, .weight = {12, 1, 4, 1}, .groups = 6}, false);
  // Images, steps, holes and borders.
  expect_same_bits({.x = {2, 6, 9, 1}, .weight = {6, 1, 4, 1}, .groups = 6}, false);
  expect_same_bits({.x = {1, 6, 9, 9}, .weight = {6, 1, 3, 3}, .groups = 6}, false);
  expect_same_bits({.x = {1, 6, 9, 1}, .weight = {6, 1, 4, 1}, .groups = 6, .strides = {2, 1}},
                   false);
  expect_same_bits({.x = {1, 6, 9, 1}, .weight = {6, 1, 3, 1}, .groups = 6, .dilations = {2, 1}},
                   false);
  expect_same_bits({.x = {1, 6, 9, 1}, .weight = {6, 1, 4, 1}, .groups = 6, .pad = {3, 0, 0, 0}},
                   false);
  // One output of a border and one element.
  expect_same_bits({.x = {1, 6, 4, 1},
                    .weight = {6, 1, 4, 1},
                    .groups = 6,
                    .strides = {2, 1},
                    .pad = {1, 0, 0, 0}},
                   false);
  // More taps than the kernel takes.
  expect_same_bits({.x = {1, 6, 30, 1}, .weight = {6, 1, 17, 1}, .groups = 6}, false);
}

TEST_F(DepthwiseConvFusion, BatchesGiveTheBitsOfSingleRuns) {
  build({.x = {1, 40, 8, 1}, .weight = {40, 1, 4, 1}, .groups = 40, .has_bias = true});
  std::vector<std::vector<Given>> steps;
  for (int i = 0; i < 3; ++i) steps.push_back({{"x", random({1, 40, 8, 1})}});
  expect_batches_like_single_runs(steps);
}

TEST_F(DepthwiseConvFusion, ThePlanCountsItsWeights) {
  build({.x = {1, 10, 8, 1}, .weight = {10, 1, 3, 1}, .groups = 10});
  const auto steps = explain(*load());
  ASSERT_TRUE(steps.ok());
  ASSERT_EQ(steps->size(), 1U);
  EXPECT_EQ(steps->front().flops, 2 * 10 * 6 * 3);
  EXPECT_EQ(steps->front().weight_bytes, 10 * (3 + 1) * 4);
}

}  // namespace
}  // namespace anemone::exec
