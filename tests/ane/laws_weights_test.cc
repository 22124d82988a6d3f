// SPDX-License-Identifier: Apache-2.0
#include "tests/ane/law_programs.h"

namespace anemone::ane {
namespace {

using ir::Builder;
using ir::Value;

// y = conv(x, weight) with a weight of [outputs, inputs, 1, 1].
Value* conv_of(Builder& b, Value* weight, std::int64_t inputs) {
  return b.op("conv", {{"x", fp16_input(b, "x", {1, inputs, 1, 64})}, {"weight", weight}}, "y");
}

Value* integers(Builder& b, DType dtype, const Shape& data, const Shape& scale) {
  return b.constexpr_op("constexpr_blockwise_shift_scale",
                        {{"data", unread(dtype, data)}, {"scale", unread(DType::kFp16, scale)}},
                        "weight");
}

Value* palette(Builder& b, DType indices, const Shape& shape, std::int64_t groups) {
  const std::int64_t entries = std::int64_t{1} << dtype_bits(indices);
  return b.constexpr_op("constexpr_lut_to_dense",
                        {{"indices", unread(indices, shape)},
                         {"lut", unread(DType::kFp16, {groups, 1, 1, 1, entries, 1})}},
                        "weight");
}

TEST(BlockScales, AreFoundInConvolutions) {
  const auto with = [](const Shape& scale) {
    return findings("block-scales", [&](Builder& b) {
      return conv_of(b, integers(b, DType::kInt4, {64, 128, 1, 1}, scale), 128);
    });
  };
  EXPECT_EQ(with({64, 4, 1, 1}), Found{"operation main/y: int4, a scale for every 32 inputs"});
  EXPECT_EQ(with({1, 2, 1, 1}), Found{"operation main/y: int4, a scale for every 64 inputs"});
  EXPECT_EQ(with({64, 1, 1, 1}), kNone);
  EXPECT_EQ(with({1, 1, 1, 1}), kNone);
}

TEST(BlockScales, AreFoundInLinearOperations) {
  const auto with = [](const Shape& scale) {
    return findings("block-scales", [&](Builder& b) {
      return b.op("linear",
                  {{"x", fp16_input(b, "x", {64, 40})},
                   {"weight", integers(b, DType::kInt8, {64, 40}, scale)},
                   {"bias", unread(DType::kFp16, {64})}},
                  "y");
    });
  };
  EXPECT_EQ(with({64, 5}), Found{"operation main/y: int8, a scale for every 8 inputs"});
  EXPECT_EQ(with({64, 1}), kNone);
}

// The law asks nothing of a tensor that is no weight of a product.
TEST(BlockScales, DoNotMatterElsewhere) {
  EXPECT_EQ(findings("block-scales",
                     [](Builder& b) {
                       return b.op(
                           "add",
                           {{"x", fp16_input(b, "x", {64, 128, 1, 1})},
                            {"y", integers(b, DType::kInt8, {64, 128, 1, 1}, {64, 4, 1, 1})}},
                           "y");
                     }),
            kNone);
}

// What coremltools writes for enable_per_channel_scale.
TEST(PaletteScales, AreFoundOnThePalette) {
  const auto with = [](DType entries) {
    return findings("palette-scales", [&](Builder& b) {
      Value* lut = b.constexpr_op("constexpr_blockwise_shift_scale",
                                  {{"data", unread(entries, {4, 1, 1, 1, 16, 1})},
                                   {"scale", unread(DType::kFp16, {4, 1, 1, 1, 1, 1})}},
                                  "scaled");
      Value* weight = b.constexpr_op("constexpr_lut_to_dense",
                                     {{"indices", unread(DType::kUInt4, {64, 128, 1, 1})},
                                      {"lut", unread(DType::kFp16, {4, 1, 1, 1, 16, 1})}},
                                     "weight");
      if (weight != nullptr) weight->producer->inputs["lut"] = {lut};
      return conv_of(b, weight, 128);
    });
  };
  EXPECT_EQ(with(DType::kFp16), Found{"operation main/weight: scales of the palette"});
  // Joint compression: a palette of integers needs its scales.
  EXPECT_EQ(with(DType::kInt8), kNone);
}

TEST(PaletteScales, AreFoundRoundThePalettizedWeight) {
  const auto with = [](bool is_palette) {
    return findings("palette-scales", [&](Builder& b) {
      Value* inner = is_palette ? palette(b, DType::kUInt4, {64, 128, 1, 1}, 4)
                                : b.constant(unread(DType::kFp16, {64, 128, 1, 1}), "dense");
      Value* scaled = b.constexpr_op("constexpr_blockwise_shift_scale",
                                     {{"data", unread(DType::kFp16, {64, 128, 1, 1})},
                                      {"scale", unread(DType::kFp16, {64, 1, 1, 1})}},
                                     "scaled");
      if (scaled != nullptr) scaled->producer->inputs["data"] = {inner};
      return conv_of(b, scaled, 128);
    });
  };
  EXPECT_EQ(with(true), Found{"operation main/scaled: scales of a weight with a palette"});
  EXPECT_EQ(with(false), kNone);
}

Found notch(std::string_view law, DType dtype, std::int64_t outputs, std::int64_t inputs) {
  return findings(law, [&](Builder& b) {
    const Shape shape{outputs, inputs, 1, 1};
    Value* weight = dtype == DType::kFp16 || dtype == DType::kFp32
                        ? b.constant(unread(dtype, shape), "weight")
                    : dtype == DType::kUInt4 ? palette(b, dtype, shape, outputs / 16)
                                             : integers(b, dtype, shape, {outputs, 1, 1, 1});
    Value* x = b.input(
        "x", ir::Type::tensor(dtype == DType::kFp32 ? dtype : DType::kFp16, {1, inputs, 1, 64}));
    return b.op("conv", {{"x", x}, {"weight", weight}}, "y");
  });
}

TEST(DmaNotch, IsNearMultiplesOfAMebibyte) {
  const Found found{"operation main/y: 1.000 MiB a core at 16 bits"};
  EXPECT_EQ(notch("dma-notch", DType::kFp16, 4096, 2048), found);
  // Sixteen KiB on either side of a mebibyte: the rows of a core have 4096 bytes each.
  EXPECT_EQ(notch("dma-notch", DType::kFp16, 4096 - 4 * 16, 2048),
            Found{"operation main/y: 0.984 MiB a core at 16 bits"});
  EXPECT_EQ(notch("dma-notch", DType::kFp16, 4096 - 5 * 16, 2048), kNone);
  EXPECT_EQ(notch("dma-notch", DType::kFp16, 4096 + 4 * 16, 2048),
            Found{"operation main/y: 1.016 MiB a core at 16 bits"});
  EXPECT_EQ(notch("dma-notch", DType::kFp16, 4096 + 5 * 16, 2048), kNone);
  // The last core has fewer rows; all others have ceil(outputs / 16).
  EXPECT_EQ(notch("dma-notch", DType::kFp16, 4096 - 15, 2048), found);
  EXPECT_EQ(notch("dma-notch", DType::kFp16, 12288, 2048),
            Found{"operation main/y: 3.000 MiB a core at 16 bits"});
  EXPECT_EQ(notch("dma-notch", DType::kFp16, 1024, 3072), kNone);
  // No payload is no multiple.
  EXPECT_EQ(notch("dma-notch", DType::kFp16, 16, 16), kNone);
  EXPECT_EQ(notch("dma-notch", DType::kFp32, 4096, 2048), kNone);
}

TEST(DmaNotch, OfQuantizedWeightsIsALawOfItsOwn) {
  EXPECT_EQ(notch("dma-notch", DType::kInt8, 4096, 4096), kNone);
  EXPECT_EQ(notch("dma-notch-quantized", DType::kFp16, 4096, 2048), kNone);
  EXPECT_EQ(notch("dma-notch-quantized", DType::kInt8, 4096, 2048), kNone);
  EXPECT_EQ(notch("dma-notch-quantized", DType::kInt8, 4096, 4096),
            Found{"operation main/y: 1.000 MiB a core at 8 bits"});
  EXPECT_EQ(notch("dma-notch-quantized", DType::kInt4, 8192, 4096),
            Found{"operation main/y: 1.000 MiB a core at 4 bits"});
  EXPECT_EQ(notch("dma-notch-quantized", DType::kUInt4, 8192, 4096),
            Found{"operation main/y: 1.000 MiB a core at 4 bits"});
  EXPECT_EQ(notch("dma-notch-quantized", DType::kUInt4, 8192, 3072), kNone);
}

}  // namespace
}  // namespace anemone::ane
