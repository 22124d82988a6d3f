// SPDX-License-Identifier: Apache-2.0
// The tiny bundle of make_onnx.py: what its graph is taken for, its weights, and damaged copies.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/onnx/decoder_graph.h"
#include "checkpoint/onnx/rope_table.h"
#include "checkpoint/safetensors.h"
#include "tests/support/shared_data.h"

namespace anemone::checkpoint {
namespace {

namespace fs = std::filesystem;
using anemone::testing::TemporaryFolder;

const std::string kNamedBundle =
    std::string(ANEMONE_SOURCE_DIR) + "/tests/checkpoint/data/onnx-named";
const std::string kBundle = std::string(ANEMONE_SOURCE_DIR) + "/tests/checkpoint/data/onnx";

std::vector<float> floats_of(const WeightRef& weight) {
  std::vector<float> out(static_cast<std::size_t>(element_count(weight.shape)));
  read_floats(weight, 0, out);
  return out;
}

class OnnxCopy : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"model.onnx", "model.onnx.data", "genai_config.json"})
      fs::copy_file(fs::path(kBundle) / name, folder_ / name);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::trunc) << text;
  }
  Status open() {
    const auto opened = open_checkpoint(folder_.string());
    if (!opened.ok()) return opened.status();
    for (const WeightRef* weight : opened->weights->all()) (void)floats_of(*weight);
    return {};
  }
  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

class OnnxBundle : public ::testing::TestWithParam<std::string> {};

TEST_P(OnnxBundle, WeightsAreWhatTheyMean) {
  const auto bundle = open_checkpoint(GetParam());
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  const auto meant = open_safetensors(GetParam() + "/meant.safetensors");
  ASSERT_TRUE(meant.ok());
  EXPECT_EQ(bundle->weights->all().size(), (*meant)->all().size());
  for (const WeightRef* expected : (*meant)->all()) {
    SCOPED_TRACE(expected->name);
    const WeightRef* weight = bundle->weights->find(expected->name);
    ASSERT_NE(weight, nullptr);
    EXPECT_EQ(weight->shape, expected->shape);
    const auto all = floats_of(*weight);
    EXPECT_EQ(all, floats_of(*expected));
    // Any part is the part of the whole.
    for (const std::size_t begin : {std::size_t{1}, all.size() / 2, all.size() - 3}) {
      std::vector<float> part(std::min<std::size_t>(all.size() - begin, 19));
      read_floats(*weight, static_cast<std::int64_t>(begin), part);
      EXPECT_TRUE(
          std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(begin)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, OnnxBundle, ::testing::Values(kBundle, kNamedBundle),
                         [](const auto& info) {
                           return info.param == kBundle ? "graph" : "names";
                         });

TEST_F(OnnxCopy, LinksDoNotLeadOut) {
  for (const char* name : {"model.onnx", "model.onnx.data", "genai_config.json"}) {
    fs::remove(folder_ / name);
    fs::create_symlink(fs::path(kBundle) / name, folder_ / name);
    const Status status = open();
    EXPECT_EQ(status.code(), Code::kCorrupt) << name;
    EXPECT_NE(status.message().find("its link leads out"), std::string::npos) << status.message();
    fs::remove(folder_ / name);
    fs::copy(fs::path(kBundle) / name, folder_ / name);
  }
  EXPECT_TRUE(open().ok());
}

// The head is the right side of a MatMul: it lies by columns.
TEST(Onnx, AMatrixThatLiesTransposedIsReadBySeveralRows) {
  const auto bundle = open_checkpoint(kBundle);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  const WeightRef* head = bundle->weights->find("lm_head.weight");
  const WeightRef* embedding = bundle->weights->find("model.embed_tokens.weight");
  ASSERT_TRUE(head != nullptr && embedding != nullptr);
  EXPECT_GT(head->decoder->rows_at_once(), 1);
  EXPECT_EQ(embedding->decoder->rows_at_once(), 1);
  const std::vector<float> all = floats_of(*head);
  // Ranges that begin and end in any column of any of the first rows.
  const std::size_t width = static_cast<std::size_t>(head->shape[1]);
  for (std::size_t begin = 0; begin < width + 2; ++begin)
    for (std::size_t size = 0; size < 2 * width + 2; ++size) {
      std::vector<float> part(size);
      read_floats(*head, static_cast<std::int64_t>(begin), part);
      ASSERT_TRUE(
          std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(begin)))
          << size << " from " << begin;
    }
}

TEST(OnnxNames, StandForAGraphThatIsNotKnown) {
  const auto bundle = open_checkpoint(kNamedBundle);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  ASSERT_EQ(bundle->notes.size(), 1U);
  EXPECT_NE(bundle->notes[0].find("names"), std::string::npos) << bundle->notes[0];
  const Json& config = bundle->config.json();
  EXPECT_EQ(config["model_type"], "qwen3");
  EXPECT_EQ(config["num_attention_heads"], 2);
  EXPECT_EQ(config["num_key_value_heads"], 1);
  EXPECT_EQ(config["head_dim"], 16);
  EXPECT_EQ(config["intermediate_size"], 48);
  EXPECT_EQ(config["rms_norm_eps"], static_cast<double>(1e-5F));
  EXPECT_EQ(config["tie_word_embeddings"], true);
  EXPECT_NEAR(config["rope_theta"].get<double>(), 5000, 0.5);
}

// What is said is what is wrong with the graph, where the names do not help either.
TEST(OnnxNames, AreAllWanted) {
  const auto model = read_file(kNamedBundle + "/model.onnx");
  const auto genai = read_file(kNamedBundle + "/genai_config.json");
  ASSERT_TRUE(model.ok() && genai.ok());
  const auto open_with = [](std::string graph, std::string config, const std::string& from,
                            const std::string& to) {
    const TemporaryFolder folder;
    for (std::string* text : {&graph, &config})
      for (std::size_t at = text->find(from); at != text->npos; at = text->find(from, at + 1))
        text->replace(at, from.size(), to);
    EXPECT_TRUE(write_file(folder.file("model.onnx"), graph).ok());
    EXPECT_TRUE(write_file(folder.file("genai_config.json"), config).ok());
    return open_checkpoint(folder.path()).status();
  };
  EXPECT_TRUE(open_with(*model, *genai, "unchanged", "").ok());
  for (const char* name :
       {"model.layers.1.mlp.up_proj.matmul.back", "layers.0.self_attn.o_proj", "model.norm",
        "layers.1.input_layernorm", "sin_cached", "num_hidden_layers", "head_size"}) {
    std::string other = name;
    other.back() = 'X';
    const Status status = open_with(*model, *genai, name, other);
    EXPECT_EQ(status.code(), Code::kUnsupported) << name;
    EXPECT_NE(status.message().find("GroupQueryAttention"), std::string::npos) << status.message();
  }
  // Sizes that do not fit each other are.
  EXPECT_EQ(open_with(*model, *genai, "\"head_size\": 16", "\"head_size\": 8").code(),
            Code::kCorrupt);
  EXPECT_EQ(open_with(*model, *genai, "\"hidden_size\": 32", "\"hidden_size\": 64").code(),
            Code::kCorrupt);
}

// Where all projections of an input are one matrix, its rows are those of all.
TEST(OnnxNames, OfOneMatrixNeedTheRowsOfAll) {
  const auto model = read_file(kNamedBundle + "/model.onnx");
  const auto genai = read_file(kNamedBundle + "/genai_config.json");
  ASSERT_TRUE(model.ok() && genai.ok());
  const TemporaryFolder folder;
  std::string config = *genai;
  const std::string heads = "\"num_attention_heads\": 2";
  config.replace(config.find(heads), heads.size(), "\"num_attention_heads\": 4");
  ASSERT_TRUE(write_file(folder.file("model.onnx"), *model).ok());
  ASSERT_TRUE(write_file(folder.file("genai_config.json"), config).ok());
  const Status status = open_checkpoint(folder.path()).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("expected 96 rows in model.layers.0.self_attn.qkv_proj, got 64"),
            std::string::npos)
      << status.message();
}

TEST(Onnx, TwoBitsAreKeptAsFour) {
  const auto bundle = open_checkpoint(kBundle);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  const WeightRef* weight = bundle->weights->find("model.layers.1.mlp.up_proj.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->storage(), "int2 blocks");
  EXPECT_EQ(weight->quantized_bits(), 2);
  ASSERT_TRUE(weight->decoder->quantized_form().has_value());
  EXPECT_EQ(weight->decoder->quantized_form()->bits, 4);
  std::vector<std::int8_t> quants(32);
  std::vector<float> scales(2);
  for (std::int64_t row = 0; row < weight->shape[0]; ++row) {
    weight->decoder->read_quants(*weight, row, quants, scales);
    for (const std::int8_t quant : quants) EXPECT_TRUE(quant >= -2 && quant <= 1) << int{quant};
  }
}

TEST(Onnx, IntegersWithScalesAreKept) {
  const auto bundle = open_checkpoint(kBundle);
  ASSERT_TRUE(bundle.ok());
  const auto form_of = [&](const char* name) {
    return bundle->weights->find(name)->decoder->quantized_form();
  };
  // One whose last block is cut has no group.
  EXPECT_FALSE(form_of("model.layers.0.mlp.down_proj.weight").has_value());
  EXPECT_TRUE(form_of("model.layers.0.self_attn.q_proj.weight")->has_minimums) << "zero points";
  EXPECT_FALSE(form_of("model.layers.0.mlp.up_proj.weight")->has_minimums);
  for (const char* name :
       {"model.layers.0.self_attn.q_proj.weight", "model.layers.1.self_attn.k_proj.weight",
        "model.layers.0.mlp.up_proj.weight", "model.embed_tokens.weight"}) {
    SCOPED_TRACE(name);
    const WeightRef& weight = *bundle->weights->find(name);
    const auto form = form_of(name);
    ASSERT_TRUE(form.has_value());
    EXPECT_TRUE(form->has_half_scales);
    const auto columns = static_cast<std::size_t>(weight.shape[1]);
    const auto group = static_cast<std::size_t>(form->group);
    std::vector<std::int8_t> quants(columns);
    std::vector<float> scales(columns / group);
    weight.decoder->read_quants(weight, 3, quants, scales);
    std::vector<float> minimums(scales.size());
    if (form->has_minimums) weight.decoder->read_minimums(weight, 3, minimums);
    std::vector<float> row(columns);
    read_floats(weight, static_cast<std::int64_t>(3 * columns), row);
    // Scales of fp16 times small integers are exact, with and without a zero point.
    for (std::size_t i = 0; i < columns; ++i) {
      const float scale = scales[i / group];
      EXPECT_EQ(row[i], static_cast<float>(quants[i]) * scale + minimums[i / group]) << i;
    }
  }
}

TEST(Onnx, ConfigurationComesFromTheGraph) {
  const auto bundle = open_checkpoint(kBundle);
  ASSERT_TRUE(bundle.ok());
  const Json& config = bundle->config.json();
  EXPECT_EQ(bundle->config.model_type(), "qwen3");
  EXPECT_EQ(config["hidden_size"], 32);
  EXPECT_EQ(config["intermediate_size"], 48);
  EXPECT_EQ(config["num_hidden_layers"], 2);
  EXPECT_EQ(config["num_attention_heads"], 2);
  EXPECT_EQ(config["num_key_value_heads"], 1);
  EXPECT_EQ(config["head_dim"], 16);
  EXPECT_EQ(config["rope_theta"], 5000.0);
  EXPECT_EQ(config["tie_word_embeddings"], false);
  EXPECT_EQ(config["max_position_embeddings"], 32);
  EXPECT_FLOAT_EQ(config["rms_norm_eps"].get<float>(), 1e-5F);
  EXPECT_EQ((*bundle->generation)["eos_token_id"], Json::array({2, 3}));
  EXPECT_EQ((*bundle->generation)["top_k"], 20);
}

onnx::Constant table(const std::vector<float>& values, std::int64_t columns) {
  onnx::Constant out;
  out.shape = {static_cast<std::int64_t>(values.size()) / columns, columns};
  out.bytes = std::as_bytes(std::span(values));
  return out;
}

TEST(Onnx, RotaryTablesOfAnyFrequencies) {
  const std::vector<double> frequencies = {1, 0.3, 0.02, 0.0007};
  std::vector<float> cos;
  std::vector<float> sin;
  for (int p = 0; p < 600; ++p)
    for (const double f : frequencies) {
      cos.push_back(static_cast<float>(std::cos(p * f)));
      sin.push_back(static_cast<float>(std::sin(p * f)));
    }
  const auto settings = onnx::rope_settings(table(cos, 4), table(sin, 4), "x");
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ((*settings)["rope_scaling"]["rope_type"], "divided");
  for (std::size_t j = 0; j < 4; ++j) {
    const double plain = std::pow(10000, -static_cast<double>(j) / 4);
    const double divisor = (*settings)["rope_scaling"]["divisors"][j];
    // The table's fp32 tells an angle of position 512 to 2^-24 or so.
    EXPECT_NEAR(plain / divisor / frequencies[j], 1, 1e-6 / frequencies[j]);
  }
  cos[100] = -cos[100] + 0.5F;
  EXPECT_FALSE(onnx::rope_settings(table(cos, 4), table(sin, 4), "x").ok());
}

TEST_F(OnnxCopy, DamagedModelsAreRefused) {
  ASSERT_TRUE(open().ok());
  const auto whole = read_file((folder_ / "model.onnx").string());
  ASSERT_TRUE(whole.ok());
  for (std::size_t size = 0; size < whole->size(); size += 61) {
    write("model.onnx", whole->substr(0, size));
    EXPECT_FALSE(open().ok()) << size;
  }
  int accepted = 0;  // a name or a number may change without harm
  for (std::size_t at = 0; at < whole->size(); at += 37) {
    std::string text = *whole;
    text[at] = static_cast<char>(text[at] ^ (1 << at % 8));
    write("model.onnx", text);
    accepted += open().ok() ? 1 : 0;
  }
  EXPECT_LT(accepted, static_cast<int>(whole->size() / 37));
}

TEST_F(OnnxCopy, DataFilesAreChecked) {
  const auto data = read_file((folder_ / "model.onnx.data").string());
  write("model.onnx.data", data->substr(0, data->size() - 1));
  EXPECT_EQ(open().code(), Code::kCorrupt);
  fs::remove(folder_ / "model.onnx.data");
  EXPECT_EQ(open().code(), Code::kIo);
  write("model.onnx.data", *data);
  const auto model = read_file((folder_ / "model.onnx").string());
  for (const char* place : {"../../x.onnx.da", "/etc/passwd.dat"}) {
    std::string text = *model;
    const std::string name = "model.onnx.data";
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
      text.replace(at, name.size(), place);
    write("model.onnx", text);
    EXPECT_EQ(open().code(), Code::kCorrupt) << place;
  }
}

TEST_F(OnnxCopy, OtherGraphsAreRefused) {
  const auto model = read_file((folder_ / "model.onnx").string());
  for (const auto& [from, to] :
       {std::pair("Sigmoid", "Softmax"), std::pair("MatMulNBits", "MatMulABits"),
        std::pair("do_rotary", "do_robary"),
        std::pair("GroupQueryAttention", "GroupQueryAttentiom"),
        // In layer 1 nodes of their own rotate.
        std::pair("RotaryEmbedding", "RotaryEmbeddinG"),
        std::pair("position_ids", "position_idS")}) {
    std::string text = *model;
    const std::string name = from;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
      text.replace(at, name.size(), to);
    write("model.onnx", text);
    EXPECT_EQ(open().code(), Code::kUnsupported) << from;
  }
  // Pairs of neighbours in place of halves.
  std::string interleaved = *model;
  constexpr std::string_view kAttribute = "interleaved\x18";
  const std::size_t at = interleaved.find(kAttribute);
  ASSERT_NE(at, std::string::npos);
  interleaved[at + kAttribute.size()] = 1;
  write("model.onnx", interleaved);
  EXPECT_EQ(open().code(), Code::kUnsupported);
  write("model.onnx", *model);
  for (const char* config :
       {"{}", "[]", "{\"model\":{\"decoder\":{\"filename\":\"../model.onnx\"}}}",
        "{\"model\":{\"decoder\":{\"filename\":7}}}", "{\"model\":1}"}) {
    write("genai_config.json", config);
    EXPECT_FALSE(open().ok()) << config;
  }
}

}  // namespace
}  // namespace anemone::checkpoint
