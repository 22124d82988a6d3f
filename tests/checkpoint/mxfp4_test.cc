// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/mxfp4.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "tests/support/shared_data.h"

namespace anemone::checkpoint {
namespace {

using ::anemone::testing::TemporaryFolder;

Tensor bytes_tensor(Shape shape, std::uint8_t first = 0) {
  Tensor out(DType::kUInt8, std::move(shape));
  std::uint8_t next = first;
  for (std::byte& byte : out.mutable_view().bytes()) byte = std::byte{next++};
  return out;
}

struct Mxfp4 : ::testing::Test {
  Result<Checkpoint> open(const std::vector<NamedView>& tensors,
                          const std::string& method = "mxfp4") {
    EXPECT_TRUE(write_safetensors(folder.file("model.safetensors"), tensors).ok());
    EXPECT_TRUE(
        write_file(folder.file("config.json"),
                   R"({"model_type": "gpt_oss", "quantization_config": {"quant_method": ")" +
                       method + "\"}}")
            .ok());
    return open_checkpoint(folder.path());
  }
  TemporaryFolder folder;
};

// What transformers does: the table of sixteen values, the low nibble first, times 2^(scale - 127).
float expected(std::size_t i, const Tensor& blocks, const Tensor& scales) {
  constexpr float kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0f, -0.5, -1, -1.5, -2, -3, -4, -6};
  const auto pair = static_cast<unsigned>(blocks.view().bytes()[i / 2]);
  const auto scale = static_cast<int>(scales.view().bytes()[i / 32]);
  return std::ldexp(kValues[i % 2 == 0 ? pair % 16 : pair / 16], scale - 127);
}

TEST_F(Mxfp4, ReadsEveryCodeAtEveryScale) {
  const Tensor blocks = bytes_tensor({2, 4, 2, 16});
  const Tensor scales = bytes_tensor({2, 4, 2}, 120);
  const Tensor other = bytes_tensor({3});
  const auto checkpoint = open(
      {{"w_blocks", blocks.view()}, {"w_scales", scales.view()}, {"other_scales", other.view()}});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  const WeightSource& weights = *checkpoint->weights;
  EXPECT_EQ(weights.all().size(), 2U);
  EXPECT_NE(weights.find("other_scales"), nullptr);
  const WeightRef* weight = weights.find("w_blocks");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->shape, (Shape{2, 4, 64}));
  EXPECT_EQ(weight->dtype, DType::kFp32);
  EXPECT_EQ(weight->storage(), "MXFP4");
  std::vector<float> values(8 * 64);
  read_floats(*weight, 0, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], expected(i, blocks, scales)) << i;
  std::vector<float> part(7);
  read_floats(*weight, 93, part);
  for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], values[93 + i]);
  // The integers behind them.
  std::vector<std::int8_t> quants(64);
  std::vector<float> row_scales(2);
  weight->decoder->read_quants(*weight, 5, quants, row_scales);
  for (std::size_t i = 0; i < quants.size(); ++i)
    EXPECT_EQ(static_cast<float>(quants[i]) * row_scales[i / 32], values[5 * 64 + i]);
}

TEST_F(Mxfp4, ScalesReachFromTheSmallestNumbersToNone) {
  Tensor blocks = bytes_tensor({1, 4, 16}, 0x22);
  Tensor scales(DType::kUInt8, {1, 4});
  const std::uint8_t bytes[] = {0, 1, 254, 255};
  for (std::size_t i = 0; i < 4; ++i) scales.mutable_view().bytes()[i] = std::byte{bytes[i]};
  const auto checkpoint = open({{"w_blocks", blocks.view()}, {"w_scales", scales.view()}});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  std::vector<float> values(128);
  read_floats(*checkpoint->weights->find("w_blocks"), 0, values);
  for (std::size_t i = 0; i < 96; ++i) EXPECT_EQ(values[i], expected(i, blocks, scales)) << i;
  EXPECT_TRUE(std::isnan(values[100]));
}

TEST_F(Mxfp4, RefusesPairsThatDoNotFit) {
  const Tensor blocks = bytes_tensor({4, 2, 16});
  const Tensor floats = Tensor::from<float>({4, 2}, std::vector<float>(8));
  const auto refused = [&](const std::vector<NamedView>& tensors) {
    const auto checkpoint = open(tensors);
    EXPECT_FALSE(checkpoint.ok());
    return checkpoint.status().message();
  };
  EXPECT_NE(refused({{"w_blocks", blocks.view()}}).find("scales of w_blocks"), std::string::npos);
  EXPECT_NE(refused({{"w_blocks", blocks.view()}, {"w_scales", floats.view()}}).find("fp32 [4, 2]"),
            std::string::npos);
  for (const Shape& shape : {Shape{4, 1}, Shape{8}, Shape{4, 2, 1}, Shape{}}) {
    const Tensor scales = bytes_tensor(shape);
    EXPECT_NE(
        refused({{"w_blocks", blocks.view()}, {"w_scales", scales.view()}}).find("[..., groups]"),
        std::string::npos);
  }
  for (const Shape& shape : {Shape{4, 2, 15}, Shape{4, 2, 32}, Shape{16}, Shape{0, 16}, Shape{}}) {
    const Tensor other = bytes_tensor(shape);
    const Tensor scales = bytes_tensor(shape);
    EXPECT_NE(refused({{"w_blocks", other.view()}, {"w_scales", scales.view()}}).find("w_blocks"),
              std::string::npos);
  }
}

TEST_F(Mxfp4, LeavesOtherCheckpointsAlone) {
  const Tensor blocks = bytes_tensor({4, 2, 16});
  const auto checkpoint = open({{"w_blocks", blocks.view()}}, "awq");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->weights->find("w_blocks")->decoder, nullptr);
}

}  // namespace
}  // namespace anemone::checkpoint
