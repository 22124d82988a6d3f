// SPDX-License-Identifier: Apache-2.0
// Layer norm and softmax along rows against the operations that they stand for.
#include <cmath>

#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

struct FusedRows : FusionFixture {
  void build_norm(const Type& type, std::vector<std::int32_t> axes, bool is_affine) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", type);
    std::vector<Builder::Input> arguments = {
        {"x", x}, {"axes", Literal::int32s(axes)}, {"epsilon", Literal::number(0.001, type.dtype)}};
    if (is_affine) {
      Shape row;
      for (const std::int32_t axis : axes)
        row.push_back(type.shape[static_cast<std::size_t>(
            axis < 0 ? axis + static_cast<std::int32_t>(type.shape.size()) : axis)]);
      arguments.push_back({"gamma", random_literal(row, 2)});
      arguments.push_back({"beta", random_literal(row, 2)});
    }
    Value* y = b.op("layer_norm", arguments, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
  void build_softmax(const Type& type, std::int32_t axis) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", type);
    Value* y = b.op("softmax", {{"x", x}, {"axis", Literal::int32(axis)}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
};

TEST_F(FusedRows, LayerNorms) {
  for (const std::int64_t channels : {1, 32, 45})
    for (const bool is_affine : {false, true}) {
      build_norm(half({2, 5, channels}), {-1}, is_affine);
      expect_like_reference({"layer_norm"}, {{{"x", random({2, 5, channels}, 3)}}}, kOneRounding);
    }
  build_norm(half({2, 3, 4, 7}), {2, 3}, true);
  expect_like_reference({"layer_norm"}, {{{"x", random({2, 3, 4, 7}, 3)}}}, kOneRounding);
}

TEST_F(FusedRows, LayerNormsOfAnyNumberOfRows) {
  build_norm(half({1, kDynamic, 24}), {2}, true);
  expect_like_reference({"layer_norm"},
                        {{{"x", random({1, 3, 24}, 3)}}, {{"x", random({1, 400, 24}, 3)}}},
                        kOneRounding);
}

TEST_F(FusedRows, OtherLayerNormsStay) {
  build_norm(half({2, 8, 5}), {1}, true);
  expect_like_reference({}, {{{"x", random({2, 8, 5}, 3)}}}, kOneRounding);
  build_norm(Type::tensor(DType::kFp32, {2, 8}), {1}, false);
  EXPECT_TRUE(fused(*load()).empty());
}

TEST_F(FusedRows, Softmaxes) {
  for (const std::int64_t channels : {1, 16, 37, 5000}) {
    build_softmax(half({2, 3, channels}), -1);
    expect_like_reference({"softmax"}, {{{"x", random({2, 3, channels}, 10)}}}, kOneRounding);
  }
  build_softmax(half({kDynamic, kDynamic}), 1);
  expect_like_reference({"softmax"}, {{{"x", random({7, 9}, 4)}}, {{"x", random({1, 30}, 4)}}},
                        kOneRounding);
}

TEST_F(FusedRows, OtherSoftmaxesStay) {
  build_softmax(half({2, 8, 5}), 1);
  expect_like_reference({}, {{{"x", random({2, 8, 5}, 3)}}}, kOneRounding);
  build_softmax(Type::tensor(DType::kFp32, {2, 8}), -1);
  EXPECT_TRUE(fused(*load()).empty());
}

TEST_F(FusedRows, BatchesGiveTheBitsOfSingleRuns) {
  Builder b = function();
  Value* x = b.input("x", half({3, 45}));
  Value* normed = b.op("layer_norm", {{"x", x}, {"axes", Literal::int32s({1})}});
  Value* y = b.op("softmax", {{"x", normed}, {"axis", Literal::int32(-1)}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  std::vector<std::vector<Given>> steps;
  for (int i = 0; i < 4; ++i) steps.push_back({{"x", random({3, 45}, 3)}});
  expect_batches_like_single_runs(steps);
}

}  // namespace
}  // namespace anemone::exec
