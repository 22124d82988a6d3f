// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/program_fixture.h"

namespace anemone::exec {
namespace {

using Floats = std::vector<float>;

struct DynamicShapes : ProgramFixture {
  void build() {
    Builder b = function();
    Value* x = b.input("x", Type::tensor(DType::kFp32, {2, kDynamic}));
    Value* y = b.input("y", Type::tensor(DType::kFp32, {2, kDynamic}));
    Value* sum = b.op("add", {{"x", x}, {"y", y}}, "sum");
    Value* total =
        b.op("reduce_sum",
             {{"x", sum}, {"axes", Literal::int32s({1})}, {"keep_dims", Literal::boolean(false)}},
             "total");
    ASSERT_TRUE(b.finish({sum, total}).ok()) << b.status().message();
  }
};

TEST_F(DynamicShapes, TakeTheShapesOfEachRun) {
  build();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  for (const std::int64_t n : {1, 3, 2}) {
    const Tensor x = floats({2, n}, Floats(static_cast<std::size_t>(2 * n), 1));
    const Tensor y = floats({2, n}, Floats(static_cast<std::size_t>(2 * n), 2));
    EXPECT_EQ(run(*loaded, {{"x", x.view()}, {"y", y.view()}}, "total"),
              Floats(2, 3 * static_cast<float>(n)));
  }
}

TEST_F(DynamicShapes, ThatDoNotFitTogetherAreOneLineThatNamesTheOperation) {
  build();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor x = floats({2, 3}, Floats(6, 1));
  const Tensor y = floats({2, 2}, Floats(4, 1));
  run(*loaded, {{"x", x.view()}, {"y", y.view()}}, "sum");
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("[add \"sum\"]"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("(function main)"), std::string::npos) << status.message();
}

struct Scalars : ProgramFixture {};

TEST_F(Scalars, HaveTheShapeOneOutside) {
  Builder b = function();
  Value* x = b.input("x", Type::tensor(DType::kFp32, {}));
  Value* y = b.op("add", {{"x", x}, {"y", Literal::number(1, DType::kFp32)}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(loaded->signature("main")->input("x")->shape, (Shape{1}));
  const Tensor x_value = floats({1}, {4});
  Outputs outputs;
  ASSERT_TRUE(loaded->run("", {{"x", x_value.view()}}, outputs, nullptr).ok());
  EXPECT_EQ(outputs[0].tensor.shape(), (Shape{1}));
  EXPECT_EQ(to_floats(outputs[0].tensor.view()), (Floats{5}));
}

struct Optional : ProgramFixture {
  void build(std::optional<double> default_value) {
    Builder b = function();
    Value* x = b.input("x", Type::tensor(DType::kFp32, {2}));
    Value* bias = b.input("bias", Type::tensor(DType::kFp32, {2}));
    Value* y = b.op("add", {{"x", x}, {"y", bias}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    Signature signature;
    signature.inputs.resize(2);
    signature.inputs[0].name = "x";
    signature.inputs[0].shape = {2};
    signature.inputs[1].name = "bias";
    signature.inputs[1].shape = {2};
    signature.inputs[1].is_optional = true;
    signature.inputs[1].default_value = default_value;
    signature.outputs.resize(1);
    signature.outputs[0].name = "y";
    signature.outputs[0].shape = {2};
    interface.signatures.emplace("main", signature);
  }
};

TEST_F(Optional, InputsThatAreLeftOutTakeTheirDefault) {
  build(7);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor x = floats({2}, {1, 2});
  const Tensor bias = floats({2}, {1, 1});
  EXPECT_EQ(run(*loaded, {{"x", x.view()}}, "y"), (Floats{8, 9}));
  EXPECT_EQ(run(*loaded, {{"x", x.view()}, {"bias", bias.view()}}, "y"), (Floats{2, 3}));
  EXPECT_EQ(run(*loaded, {{"x", x.view()}}, "y"), (Floats{8, 9}));
}

TEST_F(Optional, InputsWithoutADefaultMustBeGiven) {
  build(std::nullopt);
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  const Tensor x = floats({2}, {1, 2});
  run(*loaded, {{"x", x.view()}}, "y");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
}

TEST_F(Optional, ADefaultThatNoMachineHoldsIsRefusedAtLoad) {
  build(7);
  program->functions()[0]->inputs[1]->type.shape = {kDynamic};
  Feature& bias = interface.signatures.find("main")->second.inputs[1];
  bias.shape = {kDynamic};
  bias.default_shape = {std::int64_t{1} << 40};
  const auto loaded = load_program(program, interface);
  EXPECT_EQ(loaded.status().code(), Code::kCorrupt) << loaded.status().message();
}

TEST_F(Optional, ADescriptionThatContradictsTheProgramIsRefusedAtLoad) {
  build(7);
  interface.signatures.find("main")->second.inputs[1].shape = {3};
  const auto loaded = load_program(program, interface);
  EXPECT_EQ(loaded.status().message(),
            "[bias] is described as fp32 [3], the program has tensor<fp32, [2]>");
}

}  // namespace
}  // namespace anemone::exec
