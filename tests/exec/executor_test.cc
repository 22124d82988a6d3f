// SPDX-License-Identifier: Apache-2.0
#include "exec/executor.h"

#include <gtest/gtest.h>

namespace anemone::exec {
namespace {

Feature feature(std::string name, DType dtype, Shape shape) {
  Feature out;
  out.name = std::move(name);
  out.dtype = dtype;
  out.shape = std::move(shape);
  return out;
}

struct CheckInputs : ::testing::Test {
  Signature signature;
  Tensor x{DType::kFp32, {2, 3}};

  CheckInputs() { signature.inputs.push_back(feature("x", DType::kFp32, {2, 3})); }
  std::string message(const Inputs& inputs) { return check_inputs(signature, inputs).message(); }
};

TEST_F(CheckInputs, AcceptsWhatTheSignatureSays) {
  EXPECT_TRUE(check_inputs(signature, {{"x", x.view()}}).ok());
}

TEST_F(CheckInputs, NamesAMissingInput) {
  EXPECT_EQ(message({}), "[x] expected a value of fp32 [2, 3], got none");
}

TEST_F(CheckInputs, NamesAnUnknownInput) {
  EXPECT_EQ(message({{"x", x.view()}, {"y", x.view()}}),
            "[y] expected one of the inputs x, got an unknown name");
}

TEST_F(CheckInputs, RefusesAnInputThatIsGivenTwice) {
  EXPECT_EQ(message({{"x", x.view()}, {"x", x.view()}}), "[x] expected one value, got two");
}

TEST_F(CheckInputs, RefusesAnotherDtype) {
  const Tensor half(DType::kFp16, {2, 3});
  EXPECT_EQ(message({{"x", half.view()}}), "[x] expected fp32, got fp16");
}

TEST_F(CheckInputs, RefusesAnotherShapeAndAnotherRank) {
  const Tensor wide(DType::kFp32, {2, 4});
  const Tensor flat(DType::kFp32, {6});
  EXPECT_EQ(message({{"x", wide.view()}}), "[x] expected shape [2, 3], got [2, 4]");
  EXPECT_EQ(message({{"x", flat.view()}}), "[x] expected shape [2, 3], got [6]");
}

TEST_F(CheckInputs, HoldsFlexibleDimensionsToTheirRange) {
  signature.inputs[0].shape = {2, kDynamic};
  signature.inputs[0].size_ranges = {{2, 2}, {1, 8}};
  EXPECT_TRUE(check_inputs(signature, {{"x", x.view()}}).ok());
  const Tensor wide(DType::kFp32, {2, 9});
  EXPECT_EQ(message({{"x", wide.view()}}), "[x] expected shape [2, 1..8], got [2, 9]");
  signature.inputs[0].size_ranges[1].upper = SizeRange::kUnbounded;
  EXPECT_TRUE(check_inputs(signature, {{"x", wide.view()}}).ok());
}

TEST_F(CheckInputs, HoldsAShapeToItsEnumeration) {
  signature.inputs[0].shape = {2, kDynamic};
  signature.inputs[0].allowed_shapes = {{2, 1}, {2, 4}};
  EXPECT_EQ(message({{"x", x.view()}}), "[x] expected shape [2, 1] or [2, 4], got [2, 3]");
  const Tensor wide(DType::kFp32, {2, 4});
  EXPECT_TRUE(check_inputs(signature, {{"x", wide.view()}}).ok());
}

TEST_F(CheckInputs, LetsAnOptionalInputGoOnlyWhenItHasADefault) {
  signature.inputs[0].is_optional = true;
  EXPECT_EQ(message({}),
            "[x] expected a value, got none (the input is optional but has no default)");
  signature.inputs[0].default_value = 1.5;
  EXPECT_TRUE(check_inputs(signature, {}).ok());
}

}  // namespace
}  // namespace anemone::exec
