// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/fp8.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "tests/support/shared_data.h"

namespace anemone::checkpoint {
namespace {

using ::anemone::testing::TemporaryFolder;

struct Fp8 : ::testing::Test {
  // A file of one matrix "w" of E4M3, whose bytes count up, and of floats beside it.
  Result<Checkpoint> open(const Shape& shape, const std::string& scale_name,
                          const Shape& scale_shape, const std::string& block_size = "[2, 3]") {
    const auto bytes = static_cast<std::size_t>(element_count(shape));
    const auto scales = static_cast<std::size_t>(element_count(scale_shape));
    const Json header = {
        {"w", {{"dtype", "F8_E4M3"}, {"shape", shape}, {"data_offsets", {0, bytes}}}},
        {scale_name,
         {{"dtype", "F32"},
          {"shape", scale_shape},
          {"data_offsets", {bytes, bytes + 4 * scales}}}}};
    std::string text = dump_json(header);
    text.resize((text.size() + 7) / 8 * 8, ' ');
    std::string file(8, '\0');
    file[0] = static_cast<char>(text.size() % 256);
    file[1] = static_cast<char>(text.size() / 256);
    file += text;
    for (std::size_t i = 0; i < bytes; ++i) file += static_cast<char>(i % 256);
    for (std::size_t i = 0; i < scales; ++i) {
      const float scale = static_cast<float>(i + 1);
      file.append(reinterpret_cast<const char*>(&scale), sizeof(scale));
    }
    EXPECT_TRUE(write_file(folder.file("model.safetensors"), file).ok());
    EXPECT_TRUE(write_file(folder.file("config.json"),
                           fmt::format(R"({{"model_type": "qwen3", "quantization_config": )"
                                       R"({{"quant_method": "fp8", "weight_block_size": {}}}}})",
                                       block_size))
                    .ok());
    return open_checkpoint(folder.path());
  }
  std::vector<float> read(const WeightRef& weight) {
    std::vector<float> out(static_cast<std::size_t>(element_count(weight.shape)));
    read_floats(weight, 0, out);
    return out;
  }
  TemporaryFolder folder;
};

TEST_F(Fp8, ReadsTheNumbersOfTheFormat) {
  ASSERT_TRUE(open({16, 16}, "w_scale_inv", {1}, "null").ok());
  const auto file = open_safetensors(folder.file("model.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  const WeightRef* weight = (*file)->find("w");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->storage(), "F8_E4M3");
  const std::vector<float> values = read(*weight);
  // Micikevicius et al., "FP8 formats for deep learning", table 1.
  EXPECT_EQ(values[0], 0.0F);
  EXPECT_EQ(values[0x01], std::ldexp(1.0F, -9));  // the smallest
  EXPECT_EQ(values[0x07], std::ldexp(7.0F, -9));  // the largest without a leading one
  EXPECT_EQ(values[0x08], std::ldexp(1.0F, -6));  // the smallest with one
  EXPECT_EQ(values[0x38], 1.0F);
  EXPECT_EQ(values[0x3C], 1.5F);
  EXPECT_EQ(values[0x7E], 448.0F);
  EXPECT_TRUE(std::isnan(values[0x7F]));
  EXPECT_TRUE(std::isnan(values[0xFF]));
  for (std::size_t code = 1; code < 0x7F; ++code) {
    EXPECT_GT(values[code], values[code - 1]);
    EXPECT_EQ(values[code + 128], -values[code]);
  }
}

TEST_F(Fp8, MultipliesEachBlockByItsScale) {
  // Blocks of [2, 3] of [5, 7]: three by three, the last ones cut off.
  const auto checkpoint = open({5, 7}, "w_scale_inv", {3, 3});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->weights->find("w_scale_inv"), nullptr);
  const WeightRef* weight = checkpoint->weights->find("w");
  ASSERT_NE(weight, nullptr);
  EXPECT_FALSE(weight->is_quantized());
  const std::vector<float> got = read(*weight);
  WeightRef plain = *weight;
  plain.decoder = &fp8_decoder();
  const std::vector<float> unscaled = read(plain);
  for (std::size_t row = 0; row < 5; ++row)
    for (std::size_t column = 0; column < 7; ++column) {
      const std::size_t at = row * 7 + column;
      const float scale = static_cast<float>(row / 2 * 3 + column / 3 + 1);
      EXPECT_EQ(got[at], unscaled[at] * scale) << row << " " << column;
      float one = 0;  // from anywhere
      read_floats(*weight, static_cast<std::int64_t>(at), {&one, 1});
      EXPECT_EQ(one, got[at]);
    }
}

TEST_F(Fp8, TakesStacksAndOneScaleForAll) {
  const auto stack = open({2, 2, 4}, "w_scale_inv", {2, 1, 2});
  ASSERT_TRUE(stack.ok()) << stack.status().message();
  const std::vector<float> values = read(*stack->weights->find("w"));
  EXPECT_EQ(values[8], 3 * std::ldexp(8.0F, -9));    // code 8, block 2
  EXPECT_EQ(values[11], 4 * std::ldexp(11.0F, -9));  // code 11, block 3
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}}) {
    const auto one = open({5, 7}, "w_scale_inv", shape, "null");
    ASSERT_TRUE(one.ok()) << one.status().message();
    EXPECT_EQ(read(*one->weights->find("w"))[9], std::ldexp(9.0F, -9));
  }
}

TEST_F(Fp8, RefusesWhatDoesNotFit) {
  const auto refused = [](const Result<Checkpoint>& opened, Code code, const char* part) {
    ASSERT_FALSE(opened.ok()) << part;
    EXPECT_EQ(opened.status().code(), code) << opened.status().message();
    EXPECT_NE(opened.status().message().find(part), std::string::npos) << opened.status().message();
  };
  refused(open({5, 7}, "other", {3, 3}), Code::kNotFound, "scales of w");
  refused(open({5, 7}, "w_scale_inv", {2, 3}), Code::kCorrupt, "[3, 3]");
  refused(open({5, 7}, "w_scale_inv", {9}), Code::kCorrupt, "[3, 3]");
  refused(open({5, 7}, "w_scale_inv", {3, 3}, "null"), Code::kCorrupt, "[1, 1]");
  refused(open({35}, "w_scale_inv", {1}, "null"), Code::kCorrupt, "matrix");
  for (const char* block : {"[0, 3]", "[2]", "2", "[2, -1]", "[2, 1.5]", "[2, 99999999999]"})
    refused(open({5, 7}, "w_scale_inv", {3, 3}, block), Code::kParseError, "weight_block_size");
}

}  // namespace
}  // namespace anemone::checkpoint
