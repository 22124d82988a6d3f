// SPDX-License-Identifier: Apache-2.0
// Checkpoints with goldens, converted to GGUF here as converters do it, must give their goldens:
// names, keys and the order of rows of each architecture.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "tests/compiler/golden.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::GgufBuilder;
using anemone::testing::TemporaryFolder;

struct Conversion {
  const char* name;  // of the golden checkpoint
  const char* architecture;
  bool has_paired_rows;
};

void PrintTo(const Conversion& conversion, std::ostream* out) {
  *out << conversion.name;
}

// "model.layers.3.self_attn.q_proj.weight" to "blk.3.attn_q.weight".
std::string gguf_name(std::string name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"model.embed_tokens.", "token_embd."},
      {"model.norm.", "output_norm."},
      {"lm_head.", "output."},
      {"model.layers.", "blk."},
      {"post_attention_layernorm", "ffn_norm"},
      {"input_layernorm", "attn_norm"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
  };
  for (const auto& [from, to] : kNames)
    if (const std::size_t at = name.find(from); at != name.npos) name.replace(at, from.size(), to);
  return name;
}

void put_tensors(const checkpoint::Checkpoint& from, std::int64_t head_dim, bool has_paired_rows,
                 GgufBuilder& out) {
  for (const checkpoint::WeightRef* weight : from.weights->all()) {
    std::vector<float> values(static_cast<std::size_t>(element_count(weight->shape)));
    checkpoint::read_floats(*weight, 0, values);
    const std::string name = gguf_name(weight->name);
    if (has_paired_rows &&
        (name.find("attn_q.") != name.npos || name.find("attn_k.") != name.npos)) {
      const auto columns = values.size() / static_cast<std::size_t>(weight->shape[0]);
      const auto dim = static_cast<std::size_t>(head_dim);
      std::vector<float> paired(values.size());
      for (std::size_t row = 0; row < values.size() / columns; ++row) {
        const std::size_t in_head = row % dim;
        const std::size_t to = row - in_head + 2 * (in_head % (dim / 2)) + in_head / (dim / 2);
        std::copy_n(&values[row * columns], columns, &paired[to * columns]);
      }
      values = std::move(paired);
    }
    std::vector<std::uint64_t> shape(weight->shape.begin(), weight->shape.end());
    out.f32_tensor(name, std::move(shape), values);
  }
}

GgufBuilder converted_to_gguf(const checkpoint::Checkpoint& from, const Conversion& conversion) {
  const Json& config = from.config.json();
  const std::string prefix = std::string(conversion.architecture) + ".";
  GgufBuilder out;
  out.text("general.architecture", conversion.architecture);
  constexpr std::pair<const char*, const char*> kSizes[] = {
      {"hidden_size", "embedding_length"},
      {"num_hidden_layers", "block_count"},
      {"intermediate_size", "feed_forward_length"},
      {"max_position_embeddings", "context_length"},
      {"num_attention_heads", "attention.head_count"},
      {"num_key_value_heads", "attention.head_count_kv"},
      {"vocab_size", "vocab_size"},
  };
  for (const auto& [key, name] : kSizes) out.u32(prefix + name, config[key].get<std::uint32_t>());
  const std::int64_t head_dim =
      config.contains("head_dim")
          ? config["head_dim"].get<std::int64_t>()
          : config["hidden_size"].get<std::int64_t>() / config["num_attention_heads"].get<int>();
  for (const char* name :
       {"attention.key_length", "attention.value_length", "rope.dimension_count"})
    out.u32(prefix + name, static_cast<std::uint32_t>(head_dim));
  out.f32(prefix + "attention.layer_norm_rms_epsilon", config["rms_norm_eps"].get<float>());
  const auto rope = from.config.rope(10000);
  EXPECT_TRUE(rope.ok());
  out.f32(prefix + "rope.freq_base", static_cast<float>(rope->theta));
  if (rope->type == "yarn") {
    out.text(prefix + "rope.scaling.type", "yarn");
    out.f32(prefix + "rope.scaling.factor", rope->parameters["factor"].get<float>());
    out.u32(prefix + "rope.scaling.original_context_length",
            rope->parameters["original_max_position_embeddings"].get<std::uint32_t>());
  }
  if (from.config.model_type() == "mistral")
    out.u32(prefix + "attention.sliding_window", config["sliding_window"].get<std::uint32_t>());
  put_tensors(from, head_dim, conversion.has_paired_rows, out);
  return out;
}

class GgufArchitectures : public ::testing::TestWithParam<Conversion> {};

TEST_P(GgufArchitectures, GiveTheGoldenOfTheCheckpoint) {
  const std::vector<Checkpoint> all = checkpoints();
  const auto source = std::ranges::find(all, GetParam().name, &Checkpoint::name);
  ASSERT_NE(source, all.end());
  if (!is_present(*source)) GTEST_SKIP() << "absent: " << source->path;
  const auto from = checkpoint::open_checkpoint(source->path);
  ASSERT_TRUE(from.ok()) << from.status().message();
  const TemporaryFolder folder;
  converted_to_gguf(*from, GetParam()).write(folder.file("model.gguf"));
  const Golden golden = read_golden(*source);
  auto model = compile_and_load(
      {source->name, folder.file("model.gguf")}, folder.file("artifact"),
      {.precision = DType::kFp32, .recipe = {.quant = {.scheme = quant::Scheme::kNone}}});
  ASSERT_NE(model, nullptr);
  const Answer answer = run_greedily(std::move(model), golden.prompt, golden.continuation.size());
  ASSERT_EQ(answer.logits.size(), golden.logits.size());
  float worst = 0;
  for (std::size_t i = 0; i < answer.logits.size(); ++i)
    worst = std::max(worst, std::abs(answer.logits[i] - golden.logits[i]));
  EXPECT_LE(worst, 2e-3F);
  EXPECT_EQ(answer.continuation, golden.continuation);
}

INSTANTIATE_TEST_SUITE_P(, GgufArchitectures,
                         ::testing::Values(Conversion{"tiny_qwen3", "qwen3", false},
                                           Conversion{"tiny_mistral", "llama", true},
                                           Conversion{"shared_qwen2", "qwen2", false},
                                           Conversion{"shared_qwen3", "qwen3", false},
                                           Conversion{"shared_mistral", "llama", true},
                                           Conversion{"shared_smollm3", "smollm3", true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace anemone::compiler::testing
