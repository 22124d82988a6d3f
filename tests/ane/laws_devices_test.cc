// SPDX-License-Identifier: Apache-2.0
#include "tests/ane/law_programs.h"

namespace anemone::ane {
namespace {

using ir::Builder;
using ir::Value;

TEST(Sort, IsTopk) {
  EXPECT_EQ(findings("sort",
                     [](Builder& b) {
                       return b.ops(
                           "topk",
                           {{"x", fp16_input(b, "x", {1, 64})}, {"k", ir::Literal::int32(4)}}, 2,
                           "top")[0];
                     })
                .size(),
            1U);
}

TEST(HostOperation, IsWhatNobodyReportedOnTheChip) {
  EXPECT_EQ(findings("host-operation",
                     [](Builder& b) {
                       return b.op("cumsum", {{"x", fp16_input(b, "x", {1, 64})}}, "y");
                     }),
            Found{"operation main/y: cumsum"});
  EXPECT_EQ(findings("host-operation",
                     [](Builder& b) {
                       return b.op("inverse", {{"x", fp16_input(b, "x", {1, 64})}}, "y");
                     }),
            kNone);
}

// A tensor of 16 KiB or less may have any type.
TEST(ElementTypes, OfLargeTensorsAreHalves) {
  const auto relu = [](DType dtype, const Shape& shape) {
    return findings("fp32", [&](Builder& b) {
      return b.op("relu", {{"x", b.input("x", ir::Type::tensor(dtype, shape))}}, "y");
    });
  };
  EXPECT_EQ(relu(DType::kFp32, {1, 64, 1, 128}), Found{"operation main/y: relu in fp32"});
  EXPECT_EQ(relu(DType::kFp32, {1, 64, 1, 64}), kNone);
  EXPECT_EQ(relu(DType::kFp16, {1, 64, 1, 256}), kNone);
  const auto equal = [](const Shape& shape) {
    return findings("element-type", [&](Builder& b) {
      return b.op("equal", {{"x", fp16_input(b, "x", shape)}, {"y", fp16_input(b, "z", shape)}},
                  "y");
    });
  };
  EXPECT_EQ(equal({1, 64, 1, 512}), Found{"operation main/y: equal gives bool"});
  EXPECT_EQ(equal({1, 64, 1, 64}), kNone);
}

TEST(Rank, IsFiveAtMost) {
  const auto reshaped = [](std::initializer_list<std::int32_t> shape) {
    return findings("rank", [&](Builder& b) {
      return b.op("reshape",
                  {{"x", fp16_input(b, "x", {1, 64})}, {"shape", ir::Literal::int32s(shape)}}, "y");
    });
  };
  EXPECT_EQ(reshaped({1, 2, 2, 2, 2, 4}), Found{"operation main/y: reshape of rank 6"});
  EXPECT_EQ(reshaped({1, 2, 2, 2, 8}), kNone);
}

TEST(EdgeCast, IsOneOfAnInputOrOutput) {
  const auto with = [](bool is_inside) {
    return findings("edge-cast", [&](Builder& b) {
      Value* x = fp16_input(b, "x", {1, 64});
      if (is_inside) x = b.op("relu", {{"x", x}}, "before");
      Value* y = b.op("cast", {{"x", x}, {"dtype", ir::Literal::text("fp32")}}, "wide");
      y = b.op("exp", {{"x", y}}, "exp");
      if (!is_inside) return y;
      y = b.op("cast", {{"x", y}, {"dtype", ir::Literal::text("fp16")}}, "narrow");
      return b.op("relu", {{"x", y}}, "after");
    });
  };
  EXPECT_EQ(with(false), Found{"operation main/wide: cast of an input"});
  EXPECT_EQ(with(true), kNone);
}

// Law 2 of ane-book, chapter 1.
TEST(LinearProduct, IsNoConvolution) {
  EXPECT_EQ(findings("linear-product",
                     [](Builder& b) {
                       return b.op("matmul",
                                   {{"x", fp16_input(b, "x", {1, 64})},
                                    {"y", unread(DType::kFp16, {64, 32})}},
                                   "y");
                     }),
            Found{"operation main/y: matmul with a constant matrix"});
  EXPECT_EQ(findings("linear-product",
                     [](Builder& b) {
                       return b.op("matmul",
                                   {{"x", fp16_input(b, "x", {1, 64})},
                                    {"y", fp16_input(b, "z", {64, 32})}},
                                   "y");
                     }),
            kNone);
}

// Law 3 of ane-book, chapter 1.
TEST(UnquantizedWeights, AreFloats) {
  const auto conv = [](bool is_quantized) {
    return findings("unquantized-weights", [&](Builder& b) {
      const Shape shape{256, 256, 1, 1};
      if (!is_quantized)
        return b.op(
            "conv",
            {{"x", fp16_input(b, "x", {1, 256, 1, 64})}, {"weight", unread(DType::kFp16, shape)}},
            "y");
      Value* weight = b.constexpr_op(
          "constexpr_blockwise_shift_scale",
          {{"data", unread(DType::kInt8, shape)}, {"scale", unread(DType::kFp16, {1, 1, 1, 1})}},
          "weight");
      return b.op("conv", {{"x", fp16_input(b, "x", {1, 256, 1, 64})}, {"weight", weight}}, "y");
    });
  };
  EXPECT_EQ(conv(false), Found{"operation main/y: conv with a matrix of fp16"});
  EXPECT_EQ(conv(true), kNone);
}

}  // namespace
}  // namespace anemone::ane
