// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/arrays.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "exec/coreml/binding_plan.h"

namespace anemone::exec::coreml {
namespace {

using Strides = std::vector<std::int64_t>;

TEST(Arrays, RowsArePaddedToABoundary) {
  EXPECT_EQ(padded_strides(DType::kFp16, {2, 3, 5}, 64), (Strides{96, 32, 1}));
  EXPECT_EQ(padded_strides(DType::kFp16, {1, 640, 1, 1}, 64), (Strides{20480, 32, 32, 1}));
  EXPECT_EQ(padded_strides(DType::kFp32, {2, 17}, 64), (Strides{32, 1}));
  EXPECT_EQ(padded_strides(DType::kFp16, {2, 3, 5}, 0), (Strides{15, 5, 1}));
  EXPECT_EQ(padded_bytes(DType::kFp16, {2, 3, 5}, 64), 2u * 3 * 64);
  EXPECT_EQ(padded_bytes(DType::kFp16, {2, 3, 5}, 0), 2u * 3 * 5 * 2);
  EXPECT_EQ(padded_bytes(DType::kFp16, {2, 0, 5}, 64), 0u);
}

TEST(Arrays, ExtentEndsWithTheLastElementAndDoesNotOverflow) {
  EXPECT_EQ(extent_bytes(DType::kFp16, {2, 3}, {32, 1}), (32u + 3) * 2);
  EXPECT_EQ(extent_bytes(DType::kFp16, {0, 3}, {32, 1}), 0u);
  const std::int64_t large = std::numeric_limits<std::int64_t>::max() / 2;
  EXPECT_GE(extent_bytes(DType::kFp16, {4, 4}, {large, large}),
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

TEST(Arrays, ElementsAreCopiedBetweenAnyStrides) {
  const Tensor from = Tensor::from<std::int32_t>(
      {2, 2, 3}, std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  std::vector<std::int32_t> memory(2 * 2 * 16, -1);
  // Padded rows, then rows that lie across.
  for (const Strides& strides : {Strides{32, 16, 1}, Strides{1, 2, 8}}) {
    std::ranges::fill(memory, -1);
    const Array array{DType::kInt32,
                      {2, 2, 3},
                      strides,
                      reinterpret_cast<std::byte*>(memory.data()),
                      memory.size() * 4};
    copy_elements(array_of(from.view()), array);
    EXPECT_EQ(std::ranges::count(memory, -1), static_cast<std::ptrdiff_t>(memory.size()) - 12);
    EXPECT_EQ(memory[static_cast<std::size_t>(strides[0] + strides[1] + 2 * strides[2])], 12);
    Tensor back(DType::kInt32, {2, 2, 3});
    copy_elements(array, array_of(back.mutable_view()));
    EXPECT_TRUE(std::ranges::equal(back.view().as<std::int32_t>(), from.view().as<std::int32_t>()));
  }
}

struct BindingPlanTest : ::testing::Test {
  BindingPlanTest() {
    info.inputs = {{.name = "past", .dtype = DType::kFp16, .shape = {1, 2, 4, 8}},
                   {.name = "x", .dtype = DType::kFp16, .shape = {1, 3}}};
    info.outputs = {{.name = "rows", .dtype = DType::kFp16, .shape = {1, 2, 3, 8}},
                    {.name = "y", .dtype = DType::kFp16, .shape = {1, 3}}};
  }
  Result<BindingPlan> plan(std::int64_t position, std::int64_t window = 0) {
    bindings = {{.input = "past",
                 .output = "rows",
                 .kind = CacheBinding::Kind::kAppend,
                 .cache = &cache,
                 .position = position,
                 .count = 2,
                 .window = window}};
    inputs = {{"x", x.view()}};
    return plan_bindings(info, {.inputs = &inputs, .outputs = &outputs, .caches = bindings});
  }
  ModelInfo info;
  Tensor cache{DType::kFp16, {1, 2, 10, 8}};
  Tensor x{DType::kFp16, {1, 3}};
  Inputs inputs;
  Outputs outputs;
  std::vector<CacheBinding> bindings;
};

TEST_F(BindingPlanTest, PastLiesInTheCacheOfTheCaller) {
  const auto made = plan(1);
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_EQ(made->inputs.size(), 2u);
  const PlannedInput& past = made->inputs[0];
  EXPECT_EQ(past.owner, Owner::kCaller);
  EXPECT_EQ(past.source.data, cache.mutable_view().data);
  EXPECT_EQ(past.source.shape, (Shape{1, 2, 4, 8}));
  EXPECT_EQ(past.source.strides, (Strides{160, 80, 8, 1}));
  EXPECT_EQ(made->inputs[1].owner, Owner::kCaller);
  EXPECT_EQ(made->outputs[0].owner, Owner::kStaging);
  EXPECT_EQ(made->outputs[0].use, PlannedOutput::Use::kAppend);
  EXPECT_EQ(made->outputs[1].owner, Owner::kCaller);
}

TEST_F(BindingPlanTest, WindowEndsBeforeTheStep) {
  const auto made = plan(7, 3);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->inputs[0].source.data, cache.mutable_view().data + 3 * 8 * 2);
  EXPECT_EQ(made->inputs[0].source.bytes, 2u * (2 * 10 * 8 - 3 * 8));
}

TEST_F(BindingPlanTest, PaddedRowsAreStaged) {
  for (FeatureInfo& input : info.inputs) input.row_bytes = 64;
  for (FeatureInfo& output : info.outputs) output.row_bytes = 64;
  const auto made = plan(1);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->inputs[0].owner, Owner::kStaging);
  EXPECT_EQ(made->inputs[0].need.strides, (Strides{256, 128, 32, 1}));
  EXPECT_EQ(made->inputs[0].need.bytes, 512u);
  EXPECT_EQ(made->outputs[1].owner, Owner::kStaging);
}

TEST_F(BindingPlanTest, WholeCacheIsReplacedAndUnknownShapesHaveNoBacking) {
  Tensor whole(DType::kFp16, {1, 2, 4, 8});
  bindings = {{.input = "past", .output = "rows", .cache = &whole}};
  info.outputs[1].shape.clear();
  inputs = {{"x", x.view()}};
  const auto made =
      plan_bindings(info, {.inputs = &inputs, .outputs = &outputs, .caches = bindings});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->inputs[0].source.data, whole.mutable_view().data);
  EXPECT_EQ(made->outputs[0].use, PlannedOutput::Use::kReplace);
  EXPECT_EQ(made->outputs[0].shape, whole.shape());
  EXPECT_EQ(made->outputs[1].owner, Owner::kNobody);
}

TEST_F(BindingPlanTest, OutputsWithOnePossibleShapeHaveABacking) {
  inputs = {{"x", x.view()}};
  const auto owner = [&] {
    const auto made = plan_bindings(info, {.inputs = &inputs, .outputs = &outputs});
    EXPECT_TRUE(made.ok());
    return made.ok() ? made->outputs[1].owner : Owner::kStaging;
  };
  FeatureInfo& output = info.outputs[1];
  output.allowed_shapes = {output.shape};
  EXPECT_EQ(owner(), Owner::kCaller);
  output.allowed_shapes.push_back(output.shape);
  output.allowed_shapes[1].back() += 1;
  EXPECT_EQ(owner(), Owner::kNobody);
  output.allowed_shapes.clear();
  for (const std::int64_t size : output.shape) output.size_ranges.push_back({size, size});
  EXPECT_EQ(owner(), Owner::kCaller);
  output.size_ranges.back().upper += 1;
  EXPECT_EQ(owner(), Owner::kNobody);
}

TEST_F(BindingPlanTest, FactsAreRefused) {
  const MaskFact mask{.input = "mask"};
  const StepFacts facts{.position = 0, .count = 1, .tokens = 1, .masks = {&mask, 1}};
  const auto made = plan_bindings(info, {.inputs = &inputs, .outputs = &outputs, .facts = &facts});
  EXPECT_EQ(made.status().message(), "[mask] expected a mask tensor, got step facts");
}

TEST_F(BindingPlanTest, SignatureHasOpenSizesAndRefusesTypesWithoutTensors) {
  info.inputs[1].size_ranges = {{1, 1}, {1, 64}};
  info.inputs[0].allowed_shapes = {{1, 2, 4, 8}, {1, 2, 6, 8}};
  auto signature = signature_of(info);
  ASSERT_TRUE(signature.ok());
  EXPECT_EQ(signature->inputs[1].shape, (Shape{1, kDynamic}));
  EXPECT_EQ(signature->inputs[0].shape, (Shape{1, 2, kDynamic, 8}));
  info.outputs[0].dtype = DType::kString;
  EXPECT_EQ(signature_of(info).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace anemone::exec::coreml
