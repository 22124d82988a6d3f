// SPDX-License-Identifier: Apache-2.0
#include "ir/program.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace anemone::ir {
namespace {

TEST(Identifier, FollowsTheRuleOfMil) {
  for (const char* good : {"a", "_", "a1", "A_b@2"}) EXPECT_TRUE(is_identifier(good)) << good;
  for (const char* bad : {"", "1a", "a-b", "a.b", "@a", "a b", "\xc3\xa9"})
    EXPECT_FALSE(is_identifier(bad)) << bad;
}

TEST(Identifier, IsMadeFromAnyText) {
  EXPECT_EQ(sanitize_identifier("layers.0.k"), "layers_0_k");
  EXPECT_EQ(sanitize_identifier("0"), "_0");
  EXPECT_EQ(sanitize_identifier(""), "_");
  EXPECT_EQ(sanitize_identifier("state"), "state_workaround");
}

TEST(Type, IsWrittenAsInMilText) {
  EXPECT_EQ(to_string(Type::tensor(DType::kFp16, {1, kDynamic})), "tensor<fp16, [1, ?]>");
  EXPECT_EQ(to_string(Type::scalar(DType::kBool)), "bool");
  EXPECT_EQ(to_string(Type::state(DType::kFp16, {2})), "state<tensor<fp16, [2]>>");
  EXPECT_EQ(to_string(Type::list(Type::scalar(DType::kString), kDynamic)), "list<string, ?>");
}

TEST(Type, StandsForAnotherWhenOneOfThemLeavesADimensionOpen) {
  const auto fp16 = [](Shape shape) { return Type::tensor(DType::kFp16, std::move(shape)); };
  EXPECT_TRUE(is_compatible(fp16({1, kDynamic}), fp16({1, 5})));
  EXPECT_TRUE(is_compatible(fp16({1, 5}), fp16({1, kDynamic})));
  EXPECT_FALSE(is_compatible(fp16({1, 5}), fp16({1, 4})));
  EXPECT_FALSE(is_compatible(fp16({1}), fp16({1, 1})));
  EXPECT_FALSE(is_compatible(fp16({1}), Type::tensor(DType::kFp32, {1})));
  EXPECT_FALSE(is_compatible(fp16({1}), Type::state(DType::kFp16, {1})));
}

Program parsed(const std::string& body) {
  auto program =
      parse("program(1.0){func main<ios18>(fp32 x, fp32 z) {" + body + "} -> (x);}", "t");
  EXPECT_TRUE(program.ok()) << program.status().message();
  return std::move(*program);
}

TEST(FirstDifference, NamesTheFirstThingThatDiffers) {
  const std::string line = "fp32 y = add(x = x, y = x)[name = string(\"n\")];";
  const std::pair<std::string, const char*> cases[] = {
      {line, ""},
      {"", "function main: 1 operations against 0"},
      {"fp32 y = sub(x = x, y = x)[name = string(\"n\")];",
       "function main: operation 0 (n): type add against sub"},
      {"fp32 y = add(x = x, y = x)[name = string(\"m\")];",
       "function main: operation 0 (n): name n against m"},
      {"fp32 y = add(x = x, y = z)[name = string(\"n\")];",
       "function main: operation 0 (n): parameter y: argument 0 differs"},
      {"fp16 y = add(x = x, y = x)[name = string(\"n\")];",
       "function main: operation 0 (n): outputs: y: fp32 against fp16"},
      {"fp32 y = add(x = x, y = x)[name = string(\"n\"), a = int32(1)];",
       "function main: operation 0 (n): 0 attributes against 1"},
  };
  const Program a = parsed(line);
  for (const auto& [other, expected] : cases)
    EXPECT_EQ(*first_difference(a, parsed(other)), expected) << other;
}

}  // namespace
}  // namespace anemone::ir
