// SPDX-License-Identifier: Apache-2.0
// Each fused operation against the operations that it stands for.
#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

struct Fusion : FusionFixture {};

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

// Norms of nothing, of which there is no number of rows or of channels to divide by.
TEST_F(Fusion, NormsOfNothingAreLeftAlone) {
  struct Form {
    Shape shape;
    std::int32_t axis;
    Shape gamma;
  };
  for (const Form& form : {Form{{2, 0}, 1, {0}}, {{4, 0}, 0, {4, 1}}, {{0, 4}, 1, {4}}}) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half(form.shape));
    Value* mean = b.op("reduce_mean", {{"x", b.op("square", {{"x", x}})},
                                       {"axes", Literal::int32s({form.axis})},
                                       {"keep_dims", Literal::boolean(true)}});
    Value* sum = b.op("add", {{"x", mean}, {"y", Literal::number(0.001, DType::kFp16)}});
    Value* normed = b.op("mul", {{"x", x}, {"y", b.op("rsqrt", {{"x", sum}})}});
    Value* y = b.op("mul", {{"x", normed}, {"y", random_literal(form.gamma)}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    const auto loaded = load();
    ASSERT_NE(loaded, nullptr);
    const Tensor nothing = random(form.shape);
    EXPECT_TRUE(run(*loaded, {{"x", nothing.view()}}, "y").empty());
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

// The largest elements are a row that meets a column: the norm is larger than x.
TEST_F(Fusion, NormsOfWhatBroadcastsAreLeftAlone) {
  Builder b = function();
  const auto number = [](double v) { return Literal::number(v, DType::kFp16); };
  const auto reduce = [&](const char* op, Value* v, bool keeps) {
    return b.op(op,
                {{"x", v}, {"axes", Literal::int32s({1})}, {"keep_dims", Literal::boolean(keeps)}});
  };
  Value* x = b.input("x", half({6, 1}));
  Value* largest = reduce("reduce_max", b.op("abs", {{"x", x}}), false);
  Value* divisor = b.op("maximum", {{"x", largest}, {"y", number(0.001)}});
  Value* inverse = b.op("inverse", {{"x", divisor}, {"epsilon", number(0)}});
  Value* source = b.op("mul", {{"x", x}, {"y", inverse}});
  Value* eps = b.op("square", {{"x", b.op("mul", {{"x", inverse}, {"y", number(0.003)}})}});
  Value* mean = reduce("reduce_mean", b.op("square", {{"x", source}}), true);
  Value* factor = b.op("rsqrt", {{"x", b.op("add", {{"x", mean}, {"y", eps}})}});
  Value* normed = b.op("mul", {{"x", source}, {"y", factor}});
  Value* y = b.op("mul", {{"x", normed}, {"y", random_literal({1})}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  const auto loaded = load();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(std::ranges::count(fused(*loaded), "rms_norm"), 0);
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

// The graph as transformers writes it: x * cos + rotate_half(x) * sin, with tables of the whole
// width, which an export of one length has in the program.
TEST_F(Fusion, RopeOfRotatedHalves) {
  const Shape table = {1, 1, 5, 24};
  for (const bool is_constant : {false, true}) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({1, 3, 5, 24}));
    const auto slice = [&](std::int32_t begin, std::int32_t end) {
      return b.op("slice_by_index", {{"x", x},
                                     {"begin", Literal::int32s({0, 0, 0, begin})},
                                     {"end", Literal::int32s({1, 3, 5, end})}});
    };
    std::vector<Given> given = {{"x", random({1, 3, 5, 24})}};
    const auto times = [&](Value* value, const char* name) {
      if (is_constant) return b.op("mul", {{"x", value}, {"y", random_literal(table)}});
      given.push_back({name, random(table)});
      return b.op("mul", {{"x", value}, {"y", b.input(name, half(table))}});
    };
    Value* negated = b.op("mul", {{"x", slice(12, 24)}, {"y", Literal::number(-1, DType::kFp16)}});
    Value* rotated = b.op("concat", {{"values", std::vector<Value*>{negated, slice(0, 12)}},
                                     {"axis", Literal::int32(-1)},
                                     {"interleave", Literal::boolean(false)}});
    Value* y = b.op("add", {{"x", times(x, "cos")}, {"y", times(rotated, "sin")}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    expect_like_reference({"rope"}, {given}, 0x1p-9);
  }
}

// The halves of something else, or in the other order, are no rotation.
TEST_F(Fusion, WhatOnlyLooksLikeRopeIsLeftAlone) {
  for (const bool is_other : {false, true}) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({2, 8}));
    Value* cos = b.input("cos", half({2, 8}));
    Value* source = is_other ? b.input("other", half({2, 8})) : x;
    const auto slice = [&](std::int32_t from) {
      return b.op("slice_by_index", {{"x", source},
                                     {"begin", Literal::int32s({0, from})},
                                     {"end", Literal::int32s({2, from + 4})}});
    };
    Value* negated =
        b.op("mul", {{"x", slice(is_other ? 4 : 0)}, {"y", Literal::number(-1, DType::kFp16)}});
    Value* rotated =
        b.op("concat", {{"values", std::vector<Value*>{negated, slice(is_other ? 0 : 4)}},
                        {"axis", Literal::int32(-1)},
                        {"interleave", Literal::boolean(false)}});
    Value* y = b.op("add",
                    {{"x", b.op("mul", {{"x", x}, {"y", cos}})},
                     {"y", b.op("mul", {{"x", rotated}, {"y", cos}})}},
                    "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    const auto loaded = load_as(kernels::simd::supported_isas().back(), false);
    ASSERT_NE(loaded, nullptr);
    const auto names = fused(*loaded);
    EXPECT_EQ(std::ranges::count(names, "rope"), 0);
  }
}

struct AttentionFusion : FusionFixture {
  // softmax(q @ k^T * factor + mask) @ v, written out.
  void build(const Shape& q_shape, const Shape& k_shape, const Shape& mask_shape,
             bool is_transposed) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* q = b.input("q", half(q_shape));
    Value* k = b.input("k", half(k_shape));
    Value* v = b.input("v", half(k_shape));
    Value* mask = mask_shape.empty() ? nullptr : b.input("mask", half(mask_shape));
    Value* keys = k;
    if (is_transposed) {
      std::vector<std::int32_t> perm(q_shape.size());
      for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int32_t>(i);
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      keys = b.op("transpose", {{"x", k}, {"perm", Literal::int32s(perm)}});
    }
    Value* scores = b.op("matmul", {{"x", q},
                                    {"y", keys},
                                    {"transpose_x", Literal::boolean(false)},
                                    {"transpose_y", Literal::boolean(!is_transposed)}});
    scores = b.op("mul", {{"x", scores}, {"y", Literal::number(0.25, DType::kFp16)}});
    if (mask != nullptr) scores = b.op("add", {{"x", scores}, {"y", mask}});
    Value* weights = b.op("softmax", {{"x", scores}, {"axis", Literal::int32(-1)}});
    Value* y = b.op("matmul", {{"x", weights}, {"y", v}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
  std::vector<std::vector<Given>> inputs(const Shape& q_shape, const Shape& k_shape,
                                         const Shape& mask_shape) {
    std::vector<Given> given;
    given.push_back({"q", random(q_shape, 2)});
    given.push_back({"k", random(k_shape, 2)});
    given.push_back({"v", random(k_shape)});
    if (!mask_shape.empty()) {
      Tensor mask = random(mask_shape, 2);
      // Some keys are hidden, as a causal mask hides them.
      const auto halves = mask.mutable_view().as<Half>();
      for (std::size_t i = 2; i < halves.size(); i += 3) halves[i] = to_half(-1e4f);
      given.push_back({"mask", std::move(mask)});
    }
    return {given};
  }
};

TEST_F(AttentionFusion, WrittenOut) {
  struct Case {
    Shape q, k, mask;
    bool is_transposed;
  };
  for (const Case& c :
       std::initializer_list<Case>{{{1, 2, 5, 16}, {1, 2, 9, 16}, {}, false},
                                   {{1, 3, 70, 8}, {1, 3, 70, 8}, {1, 1, 70, 70}, true},
                                   {{2, 3, 4, 12}, {2, 3, 6, 12}, {2, 3, 4, 6}, false},
                                   {{3, 4, 8}, {3, 5, 8}, {1, 5}, true}}) {
    build(c.q, c.k, c.mask, c.is_transposed);
    expect_like_reference({"attention"}, inputs(c.q, c.k, c.mask), kManyRoundings);
  }
}

TEST_F(AttentionFusion, AsOneOperation) {
  for (const bool is_constant : {false, true}) {
    program = std::make_shared<Program>();
    Builder b = function();
    Value* q = b.input("q", half({1, 2, 6, 16}));
    Value* k = b.input("k", half({1, 2, 7, 16}));
    Value* v = b.input("v", half({1, 2, 7, 16}));
    Value* mask =
        is_constant ? b.constant(random_literal({6, 7}, 2), "mask") : b.input("mask", half({6, 7}));
    Value* y = b.op("scaled_dot_product_attention",
                    {{"query", q}, {"key", k}, {"value", v}, {"attn_mask", mask}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    const Shape mask_input = is_constant ? Shape{} : Shape{6, 7};
    expect_like_reference({"attention"}, inputs({1, 2, 6, 16}, {1, 2, 7, 16}, mask_input),
                          kManyRoundings);
  }
}

// Masks that are neither one for all heads nor one for each are left to the reference.
TEST_F(AttentionFusion, OtherMasksAreLeftAlone) {
  build({2, 3, 4, 8}, {2, 3, 6, 8}, {2, 1, 4, 6}, false);
  const auto loaded = load_as(kernels::simd::supported_isas().back(), false);
  ASSERT_NE(loaded, nullptr);
  const auto names = fused(*loaded);
  EXPECT_EQ(std::ranges::count(names, "attention"), 0);
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
  // The rest is views of the same memory.
  const auto steps = explain(*load());
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(std::ranges::count_if(*steps, [](const PlanStep& s) { return s.is_view; }), 2);
}

// Whole squares and vectors, and what is left of rows and columns.
TEST_F(Fusion, TransposesOfAnySizes) {
  Builder b = function();
  std::vector<Value*> parts;
  std::vector<Given> inputs;
  for (const Shape& shape :
       {Shape{2, 8, 8}, Shape{1, 64, 96}, Shape{3, 37, 9}, Shape{1, 7, 70}, Shape{1, 104, 41}}) {
    const std::string name = "x" + std::to_string(parts.size());
    Value* x = b.input(name, half(shape));
    Value* transposed = b.op("transpose", {{"x", x}, {"perm", Literal::int32s({0, 2, 1})}});
    parts.push_back(b.op("reshape", {{"x", transposed}, {"shape", Literal::int32s({-1})}}));
    inputs.push_back({name, random(shape, 4)});
  }
  const std::vector<std::string> fusions(parts.size(), "transpose");
  Value* y = b.op("concat", {{"values", parts}, {"axis", Literal::int32(0)}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  expect_like_reference(fusions, {inputs}, 0);
}

// As those of heads are in a step of one token.
TEST_F(Fusion, TransposesOfAxesOfOneAreViews) {
  Builder b = function();
  Value* x = b.input("x", half({1, 2, 8, 1}));
  Value* transposed =
      b.op("transpose", {{"x", b.op("exp", {{"x", x}})}, {"perm", Literal::int32s({0, 1, 3, 2})}});
  Value* y = b.op("transpose", {{"x", transposed}, {"perm", Literal::int32s({0, 2, 3, 1})}}, "y");
  ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  // The second one exchanges the heads and their elements.
  expect_like_reference({"chain"}, {{{"x", random({1, 2, 8, 1}, 4)}}}, 0x1p-9);
  const auto steps = explain(*load());
  ASSERT_TRUE(steps.ok());
  ASSERT_EQ(steps->size(), 3U);
  EXPECT_TRUE((*steps)[1].is_view);
  EXPECT_FALSE((*steps)[2].is_view);
}

// A value that another operation reads stays.
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
