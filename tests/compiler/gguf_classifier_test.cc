// SPDX-License-Identifier: Apache-2.0
// The privacy filter as a GGUF file, in the layout of privacy-filter.cpp: what a checkpoint gives,
// the file made from it gives.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "engine/loop/engine.h"
#include "tests/compiler/golden.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::GgufBuilder;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

constexpr const char* kArchitecture = "openai-privacy-filter";

std::string key(std::string_view name) {
  return fmt::format("{}.{}", kArchitecture, name);
}

std::vector<float> floats_of(const checkpoint::WeightRef& weight) {
  std::vector<float> values(static_cast<std::size_t>(element_count(weight.shape)));
  checkpoint::read_floats(weight, 0, values);
  return values;
}

// Columns [first, first + count) of each of `matrices` matrices [rows, columns], transposed.
std::vector<float> transposed(const std::vector<float>& values, std::size_t matrices,
                              std::size_t rows, std::size_t columns, std::size_t first,
                              std::size_t count) {
  std::vector<float> out;
  for (std::size_t m = 0; m < matrices; ++m)
    for (std::size_t c = first; c < first + count; ++c)
      for (std::size_t r = 0; r < rows; ++r) out.push_back(values[(m * rows + r) * columns + c]);
  return out;
}

void put_keys(const Json& config, bool is_causal, GgufBuilder& out) {
  out.text("general.architecture", kArchitecture);
  constexpr std::pair<const char*, const char*> kSizes[] = {
      {"hidden_size", "embedding_length"},
      {"num_hidden_layers", "block_count"},
      {"max_position_embeddings", "context_length"},
      {"num_attention_heads", "attention.head_count"},
      {"num_key_value_heads", "attention.head_count_kv"},
      {"head_dim", "attention.key_length"},
      {"head_dim", "attention.value_length"},
      {"head_dim", "rope.dimension_count"},
      {"intermediate_size", "feed_forward_length"},
      {"intermediate_size", "expert_feed_forward_length"},
      {"num_local_experts", "expert_count"},
      {"num_experts_per_tok", "expert_used_count"},
      {"sliding_window", "attention.sliding_window"},
      {"vocab_size", "vocab_size"},
  };
  for (const auto& [from, to] : kSizes) out.u32(key(to), config[from].get<std::uint32_t>());
  out.f32(key("attention.layer_norm_rms_epsilon"), config["rms_norm_eps"].get<float>());
  const Json& rope = config["rope_parameters"];
  out.f32(key("rope.freq_base"), rope["rope_theta"].get<float>());
  out.text(key("rope.scaling.type"), "yarn");
  out.f32(key("rope.scaling.factor"), rope["factor"].get<float>());
  out.u32(key("rope.scaling.original_context_length"),
          rope["original_max_position_embeddings"].get<std::uint32_t>());
  out.boolean(key("rope.scaling.yarn_truncate"), rope["truncate"].get<bool>());
  out.boolean(key("attention.causal"), is_causal);
  out.u32(key("pooling_type"), 5);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < config["id2label"].size(); ++i)
    labels.push_back(config["id2label"][std::to_string(i)].get<std::string>());
  out.u32(key("embedding_length_out"), static_cast<std::uint32_t>(labels.size()));
  out.texts(key("classifier.output_labels"), labels);
}

// Gate and up lie one after the other in the columns of a stack, whose matrices are [in, out].
void put_experts(const checkpoint::WeightRef& weight, const std::string& layer, GgufBuilder& out) {
  const std::vector<float> values = floats_of(weight);
  const auto size = [&](std::size_t axis) { return static_cast<std::size_t>(weight.shape[axis]); };
  const bool is_bias = weight.name.ends_with("_bias");
  const bool is_down = weight.name.find(".down_proj") != weight.name.npos;
  const std::size_t matrices = size(0);
  const std::size_t rows = is_bias ? 1 : size(1);
  const std::size_t columns = weight.shape.empty() ? 0 : size(weight.shape.size() - 1);
  const std::size_t width = is_down ? columns : columns / 2;
  const std::vector<const char*> names = is_down ? std::vector{"down"} : std::vector{"gate", "up"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::uint64_t> shape = {matrices, width};
    if (!is_bias) shape.push_back(rows);
    out.f32_tensor(
        fmt::format("blk.{}.ffn_{}_exps.{}", layer, names[i], is_bias ? "bias" : "weight"),
        std::move(shape), transposed(values, matrices, rows, columns, i * width, width));
  }
}

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"score.", "cls.output."},
    {"input_layernorm.", "attn_norm."},
    {"post_attention_layernorm.", "post_attention_norm."},
    {"self_attn.q_proj.", "attn_q."},
    {"self_attn.k_proj.", "attn_k."},
    {"self_attn.v_proj.", "attn_v."},
    {"self_attn.o_proj.", "attn_output."},
    {"self_attn.sinks", "attn_sinks.weight"},
    {"mlp.router.", "ffn_gate_inp."},
};

void put_tensors(const checkpoint::Checkpoint& from, GgufBuilder& out) {
  for (const checkpoint::WeightRef* weight : from.weights->all()) {
    std::string name = weight->name;
    std::string layer;
    if (const std::string prefix = "model.layers."; name.starts_with(prefix)) {
      layer = name.substr(prefix.size(), name.find('.', prefix.size()) - prefix.size());
      name.replace(0, prefix.size(), "blk.");
    }
    if (name.find(".experts.") != name.npos) {
      put_experts(*weight, layer, out);
      continue;
    }
    for (const auto& [theirs, ours] : kNames)
      if (const std::size_t at = name.find(theirs); at != name.npos)
        name.replace(at, theirs.size(), ours);
    out.f32_tensor(name, {weight->shape.begin(), weight->shape.end()}, floats_of(*weight));
  }
}

struct GgufClassifier : ::testing::Test {
  void write_gguf(const std::string& checkpoint, bool is_causal) {
    const auto from = checkpoint::open_checkpoint(checkpoint);
    ASSERT_TRUE(from.ok()) << from.status().message();
    GgufBuilder out;
    put_keys(from->config.json(), is_causal, out);
    put_tensors(*from, out);
    out.write(file);
  }

  std::vector<float> classify(const std::string& path, std::span<const std::int32_t> ids,
                              std::vector<std::string>& labels) {
    const auto model = compile_and_load({"classifier", path}, folder.file("artifact"),
                                        {.precision = DType::kFp32,
                                         .recipe = {.quant = {.scheme = quant::Scheme::kNone}},
                                         .context = static_cast<std::int64_t>(ids.size())});
    EXPECT_NE(model, nullptr);
    if (model == nullptr) return {};
    labels = model->manifest().labels;
    engine::Engine engine({});
    auto logits = engine::classify(engine, model, {ids.begin(), ids.end()}, {});
    EXPECT_TRUE(logits.ok()) << logits.status().message();
    return logits.ok() ? *logits : std::vector<float>{};
  }

  const std::string tiny = source_path("tests/compiler/data/tiny/openai_privacy_filter");
  const TemporaryFolder folder;
  const std::string file = folder.file("model.gguf");
};

// The layout does not say where an activation is cut: 7, as the class has it. The tiny checkpoint,
// which cuts sooner, is told the same.
TEST_F(GgufClassifier, GivesTheLogitsAndLabelsOfTheCheckpoint) {
  const auto golden = checkpoint::SafetensorsFile::open(tiny + "/golden.safetensors");
  ASSERT_TRUE(golden.ok());
  const checkpoint::WeightRef* given = (*golden)->find("input_ids");
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < given->view().size(); ++i)
    ids.push_back(static_cast<std::int32_t>(element_as_int(given->view(), i)));

  const std::string changed = folder.file("changed");
  copy_changed(tiny, {{"swiglu_limit", 7}}, changed);
  write_gguf(changed, false);

  std::vector<std::string> wanted_labels;
  std::vector<std::string> labels;
  const std::vector<float> wanted = classify(changed, ids, wanted_labels);
  const std::vector<float> got = classify(file, ids, labels);
  EXPECT_EQ(labels, wanted_labels);
  ASSERT_EQ(got.size(), wanted.size());
  ASSERT_FALSE(got.empty());
  // The floats and the order of sums are the same; the file has its base and factor as fp32.
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5F) << i;
}

TEST_F(GgufClassifier, RefusesOneThatAttendsBackAlone) {
  write_gguf(tiny, true);
  const auto opened = checkpoint::open_checkpoint(file);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), Code::kUnsupported);
  EXPECT_NE(opened.status().message().find("attention.causal"), std::string::npos);
}

}  // namespace
}  // namespace anemone::compiler::testing
