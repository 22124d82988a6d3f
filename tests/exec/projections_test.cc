// SPDX-License-Identifier: Apache-2.0
// Products with weights in each stored form, alone and in batches.
#include "tests/exec/fusion_fixture.h"

namespace anemone::exec {
namespace {

struct FloatProjections : FusionFixture {};

Value* conv(Builder& b, Value* x, Value* weight, Literal bias) {
  return b.op("conv", {{"x", x}, {"weight", weight}, {"bias", std::move(bias)}}, "projected");
}

TEST_F(FloatProjections, Convolutions) {
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

TEST_F(FloatProjections, LinearLayers) {
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

struct CompressedForm {
  const char* name;
  DType dtype;
  Shape parameter;  // scale or lut
  bool has_offsets = false;
};

struct Projections : FusionFixture, ::testing::WithParamInterface<CompressedForm> {
  void build(std::int64_t tokens) {
    const CompressedForm& form = GetParam();
    program = std::make_shared<Program>();
    Builder b = function();
    Value* x = b.input("x", half({1, 64, tokens, 1}));
    const bool is_lut = form.parameter.size() == 6;
    std::vector<std::pair<std::string_view, Literal>> parameters = {
        {is_lut ? "indices" : "data", Literal::of(packed(form.dtype, {40, 64, 1, 1}, engine))},
        {is_lut ? "lut" : "scale", random_literal(form.parameter)}};
    if (form.has_offsets) parameters.emplace_back("offset", random_literal(form.parameter, 9));
    Value* weight =
        b.constexpr_op(is_lut ? "constexpr_lut_to_dense" : "constexpr_blockwise_shift_scale",
                       parameters, "weight");
    Value* y = conv(b, x, weight, random_literal({40}));
    b.rename(y, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
  }
};

TEST_P(Projections, OfTokensSideBySide) {
  for (const std::int64_t tokens : {1, 4, 9, 33}) {
    build(tokens);
    // The reference rounds the weights to fp16 first.
    expect_like_reference({"projection"}, {{{"x", random({1, 64, tokens, 1})}}}, 0x1p-9);
  }
}

TEST_P(Projections, BatchesGiveTheBitsOfSingleRuns) {
  build(1);
  for (const std::size_t runs : {2u, 8u, 9u, 12u, 16u, 29u, 40u}) {
    SCOPED_TRACE(runs);
    std::vector<std::vector<Given>> steps(runs);
    for (std::vector<Given>& step : steps) step.push_back({"x", random({1, 64, 1, 1})});
    expect_batches_like_single_runs(steps);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Weights, Projections,
    ::testing::Values(CompressedForm{"int8", DType::kInt8, {1, 1, 1, 1}},
                      CompressedForm{"int8_rows", DType::kInt8, {40, 1, 1, 1}},
                      CompressedForm{"int8_blocks", DType::kInt8, {40, 2, 1, 1}},
                      CompressedForm{"int4_blocks", DType::kInt4, {40, 2, 1, 1}},
                      CompressedForm{"int8_rows_offset", DType::kInt8, {40, 1, 1, 1}, true},
                      CompressedForm{"int8_blocks_offset", DType::kInt8, {40, 4, 1, 1}, true},
                      CompressedForm{"int4_blocks_offset", DType::kInt4, {40, 2, 1, 1}, true},
                      CompressedForm{"int4_small_blocks_offset", DType::kInt4, {40, 4, 1, 1}, true},
                      CompressedForm{"lut4", DType::kUInt4, {5, 1, 1, 1, 16, 1}},
                      CompressedForm{"lut6", DType::kUInt6, {1, 1, 1, 1, 64, 1}},
                      CompressedForm{"lut8", DType::kUInt8, {40, 1, 1, 1, 256, 1}}),
    [](const auto& form) { return form.param.name; });

}  // namespace
}  // namespace anemone::exec
