// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "mlpackage/model.h"
#include "tests/mlpackage/sample_model.h"

namespace anemone::mlpackage::testing {
namespace {

using ir::Type;

class DescribeTest : public ::testing::Test {
 protected:
  // Declared before function_, which it owns: members are made in this order.
  Model model_;
  ir::Function* function_ = model_.program.add_function("main", ir::Opset::kIOS17);

  ir::Value* input(const char* name, Type type) {
    function_->inputs.push_back(model_.program.add_value(name, std::move(type)));
    return function_->inputs.back();
  }
  void output(const char* name, Type type) {
    BlockWriter block(model_.program, *function_->block);
    function_->block->outputs.push_back(block.op("use", name, {}, {std::move(type)})->outputs[0]);
  }
  void describe(const std::map<std::string, FlexibleShape>& flexible = {}) {
    auto interface = describe_function(*function_, flexible);
    ASSERT_TRUE(interface.ok()) << interface.status().message();
    model_.functions = {*interface};
  }
};

TEST_F(DescribeTest, names_types_and_states_follow_from_the_function) {
  const Model model = plain_model();
  const FunctionInterface& main = model.functions[0];
  EXPECT_EQ(main.name, "main");
  ASSERT_EQ(main.inputs.size(), 1u);
  EXPECT_EQ(main.inputs[0].name, "x");
  EXPECT_EQ(main.inputs[0].dtype, DType::kFp16);
  EXPECT_EQ(main.inputs[0].shape, (Shape{1, 4}));
  ASSERT_EQ(main.states.size(), 1u);
  EXPECT_EQ(main.states[0].kind, FeatureDescription::Kind::kState);
  EXPECT_EQ(main.input("cache"), &main.states[0]);
  EXPECT_EQ(main.output("y"), &main.outputs[0]);
  EXPECT_EQ(main.output("x"), nullptr);
}

TEST_F(DescribeTest, scalar_inputs_are_described_as_one_element_and_outputs_stay_open) {
  input("x", Type::scalar(DType::kInt32));
  output("y", Type::scalar(DType::kFp32));
  output("z", Type::tensor(DType::kFp32, {kDynamic, 2}));
  describe();
  EXPECT_EQ(model_.functions[0].inputs[0].shape, Shape{1});
  EXPECT_EQ(model_.functions[0].outputs[0].shape, Shape{});
  EXPECT_EQ(model_.functions[0].outputs[1].shape, Shape{});
}

TEST_F(DescribeTest, unknown_dimensions_need_the_shapes_they_take) {
  input("x", Type::tensor(DType::kFp32, {kDynamic, 2}));
  EXPECT_EQ(describe_function(*function_).status().code(), Code::kInvalidArgument);
  describe({{"x", {{3, 2}, {{{1, 8}, {2, 2}}, {}}}}});
  EXPECT_EQ(model_.functions[0].inputs[0].shape, (Shape{3, 2}));
  EXPECT_EQ(model_.functions[0].inputs[0].flexibility.ranges[0], (DimensionRange{1, 8}));
}

TEST_F(DescribeTest, types_without_a_description_are_refused) {
  output("y", Type::tensor(DType::kBool, {2}));
  EXPECT_EQ(describe_function(*function_).status().code(), Code::kInvalidArgument);
}

TEST_F(DescribeTest, the_version_is_the_least_that_has_everything) {
  const auto version_of = [](ir::Opset opset, DType dtype, bool is_state) {
    Model model;
    ir::Function* function = model.program.add_function("main", opset);
    const Type type = is_state ? Type::state(dtype, {2}) : Type::tensor(dtype, {2});
    function->inputs = {model.program.add_value("x", type)};
    model.functions.push_back(*describe_function(*function));
    return minimum_specification_version(model);
  };
  EXPECT_EQ(version_of(ir::Opset::kIOS15, DType::kFp32, false), 6);
  EXPECT_EQ(version_of(ir::Opset::kIOS15, DType::kFp16, false), 7);
  EXPECT_EQ(version_of(ir::Opset::kIOS17, DType::kFp32, false), 8);
  EXPECT_EQ(version_of(ir::Opset::kIOS17, DType::kFp16, true), 9);
  EXPECT_EQ(version_of(ir::Opset::kIOS15, DType::kInt8, false), 10);
  EXPECT_EQ(minimum_specification_version(two_function_model()), 9);
}

}  // namespace
}  // namespace anemone::mlpackage::testing
