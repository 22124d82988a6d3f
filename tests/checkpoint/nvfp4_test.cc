// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/nvfp4.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "tests/support/shared_data.h"

namespace anemone::checkpoint {
namespace {

using ::anemone::testing::source_path;
using ::anemone::testing::TemporaryFolder;

std::vector<float> all_values(const WeightRef& weight) {
  std::vector<float> out(static_cast<std::size_t>(element_count(weight.shape)));
  read_floats(weight, 0, out);
  return out;
}

class Nvfp4Forms : public ::testing::TestWithParam<const char*> {};

// make_nvfp4.py: what compressed-tensors, and ModelOpt's formulas, make of the bytes.
TEST_P(Nvfp4Forms, GivesTheFloatsOfItsWriterBitForBit) {
  const std::string path = source_path(std::string("tests/checkpoint/data/nvfp4/") + GetParam());
  const auto checkpoint = open_checkpoint(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  EXPECT_EQ(checkpoint->config.quantization(), "nvfp4");
  const auto decoded = open_safetensors(path + "-decoded.safetensors");
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  // Neither scales nor what is known of activations is left.
  EXPECT_EQ(checkpoint->weights->all().size(), (*decoded)->all().size());
  int quantized = 0;
  for (const WeightRef* expected : (*decoded)->all()) {
    SCOPED_TRACE(expected->name);
    const WeightRef* weight = checkpoint->weights->find(expected->name);
    ASSERT_NE(weight, nullptr);
    ASSERT_EQ(weight->shape, expected->shape);
    const std::vector<float> got = all_values(*weight);
    const std::vector<float> wanted = all_values(*expected);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], wanted[i]) << i;
    // The head was left out, and norms are no matrices.
    EXPECT_EQ(weight->is_quantized(), expected->dtype == DType::kFp32);
    if (!weight->is_quantized()) continue;
    ++quantized;
    EXPECT_EQ(weight->storage(), "NVFP4");
    std::vector<float> part(21);  // from anywhere
    read_floats(*weight, 37, part);
    for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(part[i], wanted[37 + i]);
    // The integers behind a row.
    const QuantizedForm form = *weight->decoder->quantized_form();
    EXPECT_EQ(form.group, 16);
    const auto columns = static_cast<std::size_t>(weight->shape[1]);
    std::vector<std::int8_t> quants(columns);
    std::vector<float> scales(columns / 16);
    weight->decoder->read_quants(*weight, 3, quants, scales);
    for (std::size_t i = 0; i < columns; ++i)
      EXPECT_EQ(static_cast<float>(quants[i]) * scales[i / 16], wanted[3 * columns + i]);
  }
  EXPECT_EQ(quantized, 7);
}

INSTANTIATE_TEST_SUITE_P(, Nvfp4Forms, ::testing::Values("compressed-tensors", "modelopt"),
                         [](const auto& info) {
                           return std::string(info.param) == "modelopt" ? "ModelOpt"
                                                                        : "CompressedTensors";
                         });

struct Entry {
  std::string name;
  std::string dtype;
  Shape shape;
  int bytes;  // of an element
};

struct Nvfp4 : ::testing::Test {
  Result<Checkpoint> open(const std::vector<Entry>& entries, const Json& quantization = kPacked) {
    Json header = Json::object();
    std::size_t end = 0;
    for (const Entry& entry : entries) {
      const std::size_t begin = end;
      end += static_cast<std::size_t>(element_count(entry.shape) * entry.bytes);
      header[entry.name] = {
          {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {begin, end}}};
    }
    const std::string text = dump_json(header);
    std::string file(8, '\0');
    file[0] = static_cast<char>(text.size() % 256);
    file[1] = static_cast<char>(text.size() / 256);
    EXPECT_TRUE(
        write_file(folder.file("model.safetensors"), file + text + std::string(end, '\x38')).ok());
    Json config = {{"model_type", "llama"}};
    if (!quantization.is_null()) config["quantization_config"] = quantization;
    EXPECT_TRUE(write_file(folder.file("config.json"), dump_json(config)).ok());
    return open_checkpoint(folder.path());
  }
  void refuses(const std::vector<Entry>& entries, Code code, const std::string& part) {
    const auto opened = open(entries);
    ASSERT_FALSE(opened.ok()) << part;
    EXPECT_EQ(opened.status().code(), code) << opened.status().message();
    EXPECT_NE(opened.status().message().find(part), std::string::npos) << opened.status().message();
  }
  static inline const Json kPacked = {{"quant_method", "compressed-tensors"},
                                      {"format", "nvfp4-pack-quantized"}};
  const Entry packed{"m.weight_packed", "U8", {2, 16}, 1};
  const Entry scale{"m.weight_scale", "F8_E4M3", {2, 2}, 1};
  const Entry divisor{"m.weight_global_scale", "F32", {1}, 4};
  TemporaryFolder folder;
};

TEST_F(Nvfp4, RefusesTensorsThatDoNotFit) {
  ASSERT_TRUE(open({packed, scale, divisor}).ok());
  refuses({packed, divisor}, Code::kNotFound, "expected a tensor m.weight_scale with scales of");
  refuses({packed, scale}, Code::kNotFound, "expected a tensor m.weight_global_scale");
  // ModelOpt's name for the scale of the matrix is no divisor.
  refuses({packed, scale, {"m.weight_scale_2", "F32", {1}, 4}}, Code::kNotFound,
          "m.weight_global_scale");
  refuses({packed, {"m.weight_scale", "F8_E4M3", {2, 3}, 1}, divisor}, Code::kCorrupt,
          "got uint8 [2, 16] and F8_E4M3 [2, 3]");
  refuses({packed, {"m.weight_scale", "U8", {2, 2}, 1}, divisor}, Code::kCorrupt, "and uint8");
  refuses({{"m.weight_packed", "U8", {2, 12}, 1}, scale, divisor}, Code::kCorrupt, "[2, 12]");
  refuses({{"m.weight_packed", "U8", {16}, 1}, scale, divisor}, Code::kCorrupt, "got uint8 [16]");
  refuses({{"m.weight_packed", "I32", {2, 16}, 4}, scale, divisor}, Code::kCorrupt, "got int32");
  refuses({packed, scale, {"m.weight_global_scale", "F32", {2}, 4}}, Code::kCorrupt,
          "m.weight_global_scale to be one fp32 number");
  refuses({packed, scale, {"m.weight_global_scale", "BF16", {1}, 2}}, Code::kCorrupt, "got bf16");
  refuses(
      {packed, scale, divisor, {"m.weight", "U8", {2, 16}, 1}, {"m.weight_scale_2", "F32", {}, 4}},
      Code::kCorrupt, "got both");
}

TEST_F(Nvfp4, RefusesWhatItWouldReadWrongly) {
  refuses({packed, scale, divisor, {"n.weight", "F8_E4M3", {2, 2}, 1}}, Code::kUnsupported,
          "expected n.weight as NVFP4 or plain floats, got F8_E4M3");
  refuses({packed, scale, divisor, {"m.weight_zero_point", "F8_E4M3", {2, 2}, 1}},
          Code::kUnsupported, "m.weight_zero_point");
  refuses({packed, scale, divisor, {"m.pre_quant_scale", "BF16", {32}, 2}}, Code::kUnsupported,
          "expected NVFP4 with scales alone, got m.pre_quant_scale");
}

// Older versions of ModelOpt leave config.json as it was.
TEST_F(Nvfp4, IsToldByTheFileOfModelOpt) {
  const std::vector<Entry> tensors = {
      {"m.weight", "U8", {2, 16}, 1}, scale, {"m.weight_scale_2", "F32", {}, 4}};
  const auto told = [&](const std::string& text) {
    EXPECT_TRUE(write_file(folder.file("hf_quant_config.json"), text).ok());
    return open(tensors, Json());
  };
  const auto as_it_is = open(tensors, Json());
  ASSERT_TRUE(as_it_is.ok()) << as_it_is.status().message();
  EXPECT_EQ(as_it_is->weights->find("m.weight")->dtype, DType::kUInt8);
  const auto read = told(R"({"quantization": {"quant_algo": "NVFP4", "exclude_modules": []}})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->weights->find("m.weight")->storage(), "NVFP4");
  const auto other = told(R"({"quantization": {"quant_algo": "FP8"}})");
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->config.quantization(), "modelopt");
  const auto none = told(R"({"quantization": {"quant_algo": null}})");
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_EQ(none->config.quantization(), std::nullopt);
  for (const char* damaged : {"[]", "{}", R"({"quantization": 4})", "{"})
    EXPECT_EQ(told(damaged).status().code(), Code::kParseError) << damaged;
}

}  // namespace
}  // namespace anemone::checkpoint
