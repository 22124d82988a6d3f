// SPDX-License-Identifier: Apache-2.0
// Each fused operation against the operations that it stands for.
#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

struct Fusion : FusionFixture {};

Value* conv(Builder& b, Value* x, Value* weight, Literal bias) {
  return b.op("conv", {{"x", x}, {"weight", weight}, {"bias", std::move(bias)}}, "projected");
}

TEST_F(Fusion, ProjectionsOfFloats) {
  for (const std::int64_t tokens : {1, 3, 7, 20}) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({1, 64, tokens, 1}));
    Value* y =
        conv(b, x, b.constant(random_literal({40, 64, 1, 1}), "weight"), random_literal({40}));
    b.rename(y, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    expect_like_reference({"projection"}, {{{"x", random({1, 64, tokens, 1})}}}, kOneRounding);
  }
}

TEST_F(Fusion, LinearLayersOfFloats) {
  for (const std::int64_t tokens : {1, 5, 18}) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({2, tokens, 48}));
    Value* y =
        b.op("linear",
             {{"x", x}, {"weight", random_literal({33, 48})}, {"bias", random_literal({33})}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    expect_like_reference({"projection"}, {{{"x", random({2, tokens, 48})}}}, kOneRounding);
  }
}

Tensor packed(DType dtype, Shape shape, std::mt19937& engine) {
  Tensor out(dtype, std::move(shape));
  for (std::byte& byte : out.mutable_view().bytes()) byte = static_cast<std::byte>(engine() >> 9);
  return out;
}

TEST_F(Fusion, ProjectionsOfEveryCompressedForm) {
  struct Form {
    const char* name;
    DType dtype;
    Shape parameter;  // scale or lut
  };
  const std::vector<Form> forms = {
      {"int8", DType::kInt8, {1, 1, 1, 1}},          {"int8 rows", DType::kInt8, {40, 1, 1, 1}},
      {"int8 blocks", DType::kInt8, {40, 2, 1, 1}},  {"int4 blocks", DType::kInt4, {40, 2, 1, 1}},
      {"lut4", DType::kUInt4, {5, 1, 1, 1, 16, 1}},  {"lut6", DType::kUInt6, {1, 1, 1, 1, 64, 1}},
      {"lut8", DType::kUInt8, {40, 1, 1, 1, 256, 1}}};
  for (const Form& form : forms)
    for (const std::int64_t tokens : {1, 4, 9, 33}) {
      SCOPED_TRACE(form.name);
      program = std::make_shared<Program>();
      Builder b = function();
      Value* x = b.input("x", half({1, 64, tokens, 1}));
      const bool is_lut = form.parameter.size() == 6;
      Value* weight = b.constexpr_op(
          is_lut ? "constexpr_lut_to_dense" : "constexpr_blockwise_shift_scale",
          {{is_lut ? "indices" : "data", Literal::of(packed(form.dtype, {40, 64, 1, 1}, engine))},
           {is_lut ? "lut" : "scale", random_literal(form.parameter)}},
          "weight");
      Value* y = conv(b, x, weight, random_literal({40}));
      b.rename(y, "y");
      ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
      // The reference rounds the weights to fp16 first.
      expect_like_reference({"projection"}, {{{"x", random({1, 64, tokens, 1})}}}, 0x1p-9);
    }
}

TEST_F(Fusion, NormsInTwoForms) {
  for (const bool is_scaled : {true, false})
    for (const bool along_rows : {true, false}) {
      program = std::make_shared<Program>();
      Builder b = function();
      const Shape shape = along_rows ? Shape{1, 3, 5, 32} : Shape{1, 32, 5, 1};
      const std::int32_t axis = along_rows ? -1 : 1;
      const Shape gamma = along_rows ? Shape{1, 1, 1, 32} : Shape{1, 32, 1, 1};
      Value* x = b.input("x", half(shape));
      const auto number = [](double v) { return Literal::number(v, DType::kFp16); };
      const auto reduce = [&](const char* op, Value* v) {
        return b.op(
            op,
            {{"x", v}, {"axes", Literal::int32s({axis})}, {"keep_dims", Literal::boolean(true)}});
      };
      Value* source = x;
      Value* eps = nullptr;
      if (is_scaled) {
        Value* largest = reduce("reduce_max", b.op("abs", {{"x", x}}));
        Value* divisor = b.op("maximum", {{"x", largest}, {"y", number(0.001)}});
        Value* inverse = b.op("inverse", {{"x", divisor}, {"epsilon", number(0)}});
        source = b.op("mul", {{"x", x}, {"y", inverse}});
        eps = b.op("square", {{"x", b.op("mul", {{"x", inverse}, {"y", number(0.003)}})}});
      }
      Value* mean = reduce("reduce_mean", b.op("square", {{"x", source}}));
      Value* sum = is_scaled ? b.op("add", {{"x", mean}, {"y", eps}})
                             : b.op("add", {{"x", mean}, {"y", number(0.001)}});
      Value* factor = b.op("rsqrt", {{"x", sum}});
      Value* normed = b.op("mul", {{"x", source}, {"y", factor}});
      Value* y = b.op("mul", {{"x", normed}, {"y", random_literal(gamma, 2)}}, "y");
      ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
      expect_like_reference({"rms_norm"}, {{{"x", random(shape, 3)}}}, kManyRoundings);
    }
}

TEST_F(Fusion, Rope) {
  Builder b = function();
  Value* x = b.input("x", half({1, 4, 6, 16}));
  Value* cos = b.input("cos", half({1, 1, 6, 8}));
  Value* sin = b.input("sin", half({1, 1, 6, 8}));
  const auto halves = b.ops(
      "split", {{"x", x}, {"num_splits", Literal::int32(2)}, {"axis", Literal::int32(-1)}}, 2);
  const auto mul = [&](Value* a, Value* c) { return b.op("mul", {{"x", a}, {"y", c}}); };
  Value* first = b.op("sub", {{"x", mul(halves[0], cos)}, {"y", mul(halves[1], sin)}});
  Value* second = b.op("add", {{"x", mul(halves[1], cos)}, {"y", mul(halves[0], sin)}});
  Value* y = b.op("concat",
                  {{"values", std::vector<Value*>{first, second}},
                   {"axis", Literal::int32(-1)},
                   {"interleave", Literal::boolean(false)}},
                  "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  expect_like_reference({"rope"},
                        {{{"x", random({1, 4, 6, 16})},
                          {"cos", random({1, 1, 6, 8})},
                          {"sin", random({1, 1, 6, 8})}}},
                        0x1p-9);
}

TEST_F(Fusion, ActivationsSumsAndTransposes) {
  Builder b = function();
  Value* x = b.input("x", half({1, 12, 7, 1}));
  const auto halves =
      b.ops("split", {{"x", x}, {"num_splits", Literal::int32(2)}, {"axis", Literal::int32(1)}}, 2);
  Value* active = b.op("silu", {{"x", halves[0]}});
  Value* product = b.op("mul", {{"x", halves[1]}, {"y", active}});
  Value* sum = b.op("add", {{"x", product}, {"y", halves[0]}});
  Value* flat = b.op("reshape", {{"x", sum}, {"shape", Literal::int32s({1, 2, 3, 7})}});
  Value* y = b.op("transpose", {{"x", flat}, {"perm", Literal::int32s({0, 1, 3, 2})}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  expect_like_reference({"silu_multiply", "add", "transpose"}, {{{"x", random({1, 12, 7, 1}, 4)}}},
                        0x1p-9);
  // The rest is other looks at the same memory.
  const auto steps = explain(*load());
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(std::ranges::count_if(*steps, [](const PlanStep& s) { return s.is_view; }), 2);
}

// What somebody else looks at stays.
TEST_F(Fusion, AnInnerValueThatIsAnOutputIsComputed) {
  Builder b = function();
  Value* x = b.input("x", half({1, 8, 4, 1}));
  Value* active = b.op("silu", {{"x", x}}, "active");
  Value* y = b.op("mul", {{"x", active}, {"y", x}}, "y");
  ASSERT_TRUE(b.finish({y, active}).ok()) << b.status().message();
  expect_like_reference({"chain", "chain"}, {{{"x", random({1, 8, 4, 1}, 4)}}}, 0x1p-9);
  const auto fast = load();
  const Tensor input = random({1, 8, 4, 1});
  EXPECT_EQ(run(*fast, {{"x", input.view()}}, "active").size(), 32U);
}

}  // namespace
}  // namespace anemone::exec
