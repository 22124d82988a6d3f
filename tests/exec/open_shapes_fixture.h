// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {

// Programs whose inputs have open dimensions.
struct OpenShapesFixture : FusionFixture {
  static constexpr std::int64_t kChannels = 32;
  static constexpr std::int64_t kHeads = 2;
  static constexpr std::int64_t kDim = 16;

  // A layer of a decoder over [1, tokens, channels]; sizes of heads are put together from the shape
  // of x, as converters of open dimensions write it.
  void build_layer(std::int64_t tokens) {
    engine.seed(7);  // the same weights each time
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({1, tokens, kChannels}));
    Value* cos = b.input("cos", half({1, 1, tokens, kDim / 2}));
    Value* sin = b.input("sin", half({1, 1, tokens, kDim / 2}));
    Value* mask = b.input("mask", half({1, 1, tokens, tokens}));
    Value* normed = norm(b, x);
    Value* length = b.op("gather", {{"x", b.op("shape", {{"x", x}})},
                                    {"indices", Literal::int32s({1})},
                                    {"axis", Literal::int32(0)},
                                    {"batch_dims", Literal::int32(0)},
                                    {"validate_indices", Literal::boolean(false)}});
    Value* q = rotate(b, heads(b, linear(b, normed, kHeads * kDim), length), cos, sin);
    Value* k = rotate(b, heads(b, linear(b, normed, kHeads * kDim), length), cos, sin);
    Value* v = heads(b, linear(b, normed, kHeads * kDim), length);
    Value* mixed = b.op("scaled_dot_product_attention",
                        {{"query", q}, {"key", k}, {"value", v}, {"attn_mask", mask}});
    Value* flat =
        b.op("reshape", {{"x", transpose(b, mixed)}, {"shape", shape(b, length, {kHeads * kDim})}});
    Value* sum = two(b, "add", x, linear(b, flat, kChannels));
    Value* after = norm(b, sum);
    Value* gate = b.op("silu", {{"x", linear(b, after, 48)}});
    Value* wide = two(b, "mul", gate, linear(b, after, 48));
    sum = two(b, "add", sum, linear(b, wide, kChannels, 48));
    Value* squashed = b.op("tanh", {{"x", two(b, "mul", sum, b.op("sigmoid", {{"x", x}}))}});
    Value* y = b.op("softmax", {{"x", linear(b, squashed, 24)}, {"axis", Literal::int32(-1)}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
  std::vector<Given> layer_inputs(std::int64_t tokens) {
    std::vector<Given> out;
    out.push_back({"x", random({1, tokens, kChannels})});
    for (const char* table : {"cos", "sin"})
      out.push_back({table, random({1, 1, tokens, kDim / 2})});
    Tensor mask(DType::kFp16, {1, 1, tokens, tokens});
    const auto values = mask.mutable_view().as<Half>();
    for (std::int64_t i = 0; i < tokens * tokens; ++i)
      values[static_cast<std::size_t>(i)] = to_half(i % tokens > i / tokens ? -1e4f : 0.0f);
    out.push_back({"mask", std::move(mask)});
    return out;
  }

  static Value* two(Builder& b, const char* op, Value* x, Value* y) {
    return b.op(op, {{"x", x}, {"y", y}});
  }
  Value* norm(Builder& b, Value* x) {
    Value* mean = b.op("reduce_mean", {{"x", b.op("square", {{"x", x}})},
                                       {"axes", Literal::int32s({-1})},
                                       {"keep_dims", Literal::boolean(true)}});
    Value* sum = b.op("add", {{"x", mean}, {"y", Literal::number(0.001, DType::kFp16)}});
    Value* normed = two(b, "mul", x, b.op("rsqrt", {{"x", sum}}));
    return b.op("mul", {{"x", normed}, {"y", random_literal({kChannels}, 2)}});
  }
  Value* linear(Builder& b, Value* x, std::int64_t rows, std::int64_t columns = kChannels) {
    return b.op("linear", {{"x", x},
                           {"weight", random_literal({rows, columns}, 0.3f)},
                           {"bias", random_literal({rows})}});
  }
  // [1, length, sizes...]
  static Value* shape(Builder& b, Value* length, const std::vector<std::int64_t>& sizes) {
    std::vector<Value*> parts = {b.constant(Literal::int32s({1}), "one"), length};
    for (const std::int64_t size : sizes)
      parts.push_back(b.constant(Literal::int32s({static_cast<std::int32_t>(size)}), "size"));
    return b.op(
        "concat",
        {{"values", parts}, {"axis", Literal::int32(0)}, {"interleave", Literal::boolean(false)}});
  }
  static Value* transpose(Builder& b, Value* x) {
    return b.op("transpose", {{"x", x}, {"perm", Literal::int32s({0, 2, 1, 3})}});
  }
  static Value* heads(Builder& b, Value* x, Value* length) {
    return transpose(b, b.op("reshape", {{"x", x}, {"shape", shape(b, length, {kHeads, kDim})}}));
  }
  static Value* rotate(Builder& b, Value* x, Value* cos, Value* sin) {
    const auto halves = b.ops(
        "split", {{"x", x}, {"num_splits", Literal::int32(2)}, {"axis", Literal::int32(-1)}}, 2);
    if (halves.empty()) return nullptr;
    Value* first = two(b, "sub", two(b, "mul", halves[0], cos), two(b, "mul", halves[1], sin));
    Value* second = two(b, "add", two(b, "mul", halves[1], cos), two(b, "mul", halves[0], sin));
    return b.op("concat", {{"values", std::vector<Value*>{first, second}},
                           {"axis", Literal::int32(-1)},
                           {"interleave", Literal::boolean(false)}});
  }

  static Feature half_feature(std::string name, Shape shape) {
    Feature out;
    out.name = std::move(name);
    out.dtype = DType::kFp16;
    out.shape = std::move(shape);
    return out;
  }
  static Inputs views(const std::vector<Given>& given) {
    Inputs out;
    for (const Given& one : given) out.push_back({one.name, one.tensor.view()});
    return out;
  }
  // All steps but views, in the order of the plan.
  std::vector<std::string> steps(const LoadedProgram& loaded) {
    std::vector<std::string> out;
    const auto found = explain(loaded);
    EXPECT_TRUE(found.ok());
    for (const PlanStep& step : *found)
      if (!step.is_view) out.push_back(step.name);
    return out;
  }
};

}  // namespace anemone::exec
