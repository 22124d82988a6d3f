// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions along one axis against the reference, to the bit.
#include <algorithm>
#include <string>
#include <vector>

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

// The same convolution as sums of products with each tap.
struct WrittenOutFusion : FusionFixture {
  struct Sum {
    std::int64_t positions = 9;
    std::vector<std::int32_t> taps = {0, 1, 2, 3};  // where each slice begins
    std::size_t axis = 2;
    bool has_bias = false;
    std::int64_t outputs = 0;  // 0: as many as the taps leave
    std::int64_t weight_positions = 1;
    std::int32_t stride = 1;
    bool has_other_user = false;
    bool has_other_input = false;
    bool is_in_fp32 = false;
  };
  static constexpr std::int64_t kChannels = 6;

  Shape at(const Sum& sum, std::int64_t positions) const {
    return sum.axis == 2 ? Shape{1, kChannels, positions, 1} : Shape{1, kChannels, 1, positions};
  }

  // As sums, or as the operation with the same weights.
  void build(const Sum& sum, bool is_operation = false) {
    engine.seed(11);
    program = std::make_shared<Program>();
    Builder b = function();
    const DType dtype = sum.is_in_fp32 ? DType::kFp32 : DType::kFp16;
    Value* x = b.input("x", Type::tensor(dtype, at(sum, sum.positions)));
    Value* other = sum.has_other_input ? b.input("other", half(at(sum, sum.positions))) : x;
    const auto taps = static_cast<std::int64_t>(sum.taps.size());
    const std::int64_t outputs = sum.outputs == 0 ? sum.positions - taps + 1 : sum.outputs;
    std::vector<Tensor> weights;
    for (std::int64_t i = 0; i < taps; ++i)
      weights.push_back(random(at(sum, sum.weight_positions)));
    const Tensor bias = sum.has_bias ? random(at(sum, 1)) : zeros(at(sum, 1));
    const auto constant = [&](const Tensor& tensor) {
      Tensor own(dtype, tensor.shape());
      store_floats(to_floats(tensor.view()), own.mutable_view());
      return Literal::of(std::move(own));
    };
    if (is_operation) {
      Tensor kernel(DType::kFp16,
                    sum.axis == 2 ? Shape{kChannels, 1, taps, 1} : Shape{kChannels, 1, 1, taps});
      std::vector<float> values;
      for (std::size_t c = 0; c < kChannels; ++c)
        for (const Tensor& weight : weights) values.push_back(to_floats(weight.view())[c]);
      store_floats(values, kernel.mutable_view());
      std::vector<Builder::Input> inputs = {
          {"x", x},
          {"weight", b.constant(Literal::of(std::move(kernel)), "weight")},
          {"groups", Literal::int32(static_cast<std::int32_t>(kChannels))}};
      Tensor row(DType::kFp16, {kChannels});
      store_floats(to_floats(bias.view()), row.mutable_view());
      if (sum.has_bias) inputs.push_back({"bias", Literal::of(std::move(row))});
      Value* y = b.op("conv", inputs, "y");
      ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
      return;
    }
    std::vector<Value*> terms;
    for (std::size_t i = 0; i < sum.taps.size(); ++i) {
      const bool is_width = sum.axis == 3;
      const std::int32_t begin = sum.taps[i];
      const auto end = static_cast<std::int32_t>(begin + (outputs - 1) * sum.stride + 1);
      Value* tokens =
          b.op("slice_by_index",
               {{"x", i == 1 ? other : x},
                {"begin", Literal::int32s({0, 0, is_width ? 0 : begin, is_width ? begin : 0})},
                {"end", Literal::int32s({1, static_cast<std::int32_t>(kChannels),
                                         is_width ? 1 : end, is_width ? end : 1})},
                {"stride",
                 Literal::int32s({1, 1, is_width ? 1 : sum.stride, is_width ? sum.stride : 1})}},
               "tokens");
      Value* weight = b.constant(constant(weights[i]), "weight");
      // Either way round.
      terms.push_back(i % 2 == 0 ? b.op("mul", {{"x", tokens}, {"y", weight}}, "term")
                                 : b.op("mul", {{"x", weight}, {"y", tokens}}, "term"));
    }
    std::vector<Value*> results;
    if (sum.has_other_user) results.push_back(b.op("relu", {{"x", terms.front()}}, "other_use"));
    while (terms.size() > 1) {
      const std::size_t half_size = (terms.size() + 1) / 2;
      for (std::size_t i = half_size; i < terms.size(); ++i)
        terms[i - half_size] =
            b.op("add", {{"x", terms[i - half_size]}, {"y", terms[i]}}, "partial");
      terms.resize(half_size);
    }
    Value* y = b.op("add", {{"x", terms.front()}, {"y", b.constant(constant(bias), "bias")}}, "y");
    results.push_back(y);
    ASSERT_TRUE(b.finish(results).ok()) << b.status().message();
  }
  static Tensor zeros(Shape shape) {
    Tensor out(DType::kFp16, shape);
    store_floats(std::vector<float>(static_cast<std::size_t>(element_count(shape))),
                 out.mutable_view());
    return out;
  }

  bool is_fused(const Sum& sum) {
    build(sum);
    const auto names = fused(*load());
    return std::ranges::find(names, "depthwise_conv") != names.end();
  }
};

TEST_F(WrittenOutFusion, GivesTheBitsOfTheOperation) {
  for (const std::size_t axis : {2u, 3u})
    for (const std::int64_t positions : {4, 5, 20, 67})
      for (const std::size_t taps : {2u, 3u, 4u, 16u})
        for (const bool has_bias : {false, true}) {
          Sum sum{.positions = positions, .taps = {}, .axis = axis, .has_bias = has_bias};
          if (static_cast<std::int64_t>(taps) > positions) continue;
          for (std::size_t i = 0; i < taps; ++i) sum.taps.push_back(static_cast<std::int32_t>(i));
          SCOPED_TRACE(to_string(at(sum, positions)) + " with " + std::to_string(taps));
          const Tensor x = random(at(sum, positions), 2);
          build(sum, true);
          const auto operation = load_as(kernels::simd::Isa::kPlain, true);
          ASSERT_NE(operation, nullptr);
          const auto expected = run(*operation, {{"x", x.view()}}, "y");
          ASSERT_TRUE(status.ok()) << status.message();
          build(sum);
          for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
            const auto fast = load_as(isa, false);
            ASSERT_NE(fast, nullptr);
            EXPECT_EQ(fused(*fast), std::vector<std::string>{"depthwise_conv"});
            EXPECT_EQ(run(*fast, {{"x", x.view()}}, "y"), expected);
          }
          expect_like_reference({"depthwise_conv"}, {{{"x", x.clone()}}}, kManyRoundings);
        }
}

TEST_F(WrittenOutFusion, OthersAreLeftAlone) {
  EXPECT_TRUE(is_fused({}));
  EXPECT_TRUE(is_fused({.taps = {2, 0, 3, 1}}));
  // A tap that is missing, one that is there twice, and taps that leave out what lies before them.
  EXPECT_FALSE(is_fused({.taps = {0, 1, 3}, .outputs = 6}));
  EXPECT_FALSE(is_fused({.taps = {0, 1, 1, 2}, .outputs = 6}));
  EXPECT_FALSE(is_fused({.taps = {1, 2, 3}, .outputs = 6}));
  // Fewer outputs than there are.
  EXPECT_FALSE(is_fused({.outputs = 5}));
  // Weights of each position, steps, another input, a term that something else uses, fp32.
  EXPECT_FALSE(is_fused({.weight_positions = 6}));
  EXPECT_FALSE(is_fused({.taps = {0, 1}, .outputs = 4, .stride = 2}));
  EXPECT_FALSE(is_fused({.has_other_user = true}));
  EXPECT_FALSE(is_fused({.has_other_input = true}));
  EXPECT_FALSE(is_fused({.is_in_fp32 = true}));
  // More taps than the kernel takes.
  Sum many{.positions = 30, .taps = {}};
  for (std::int32_t i = 0; i < 17; ++i) many.taps.push_back(i);
  EXPECT_FALSE(is_fused(many));
}

}  // namespace
}  // namespace anemone::exec
