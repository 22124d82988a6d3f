// SPDX-License-Identifier: Apache-2.0
// Checkpoints with goldens, converted to GGUF here as converters do it, must give their goldens:
// names, keys and the order of rows of each architecture.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
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

using Names = std::vector<std::pair<std::string_view, std::string_view>>;

struct Conversion {
  const char* name;  // of the golden checkpoint
  const char* architecture;
  bool has_paired_rows = false;
  // Pairs of a transformers name and a GGUF name; they come before the usual ones.
  Names names = {};
  float norm_offset = 0;
  // What the format cannot say is changed in the checkpoint's configuration, whose packages then
  // stand for the golden.
  const char* changes = nullptr;
};

void PrintTo(const Conversion& conversion, std::ostream* out) {
  *out << conversion.name;
}

const Names kUsual = {
    {"model.embed_tokens.", "token_embd."},
    {"model.norm.", "output_norm."},
    {"lm_head.", "output."},
    {"model.layers.", "blk."},
    {".post_attention_layernorm.", ".ffn_norm."},
    {".input_layernorm.", ".attn_norm."},
    {".self_attn.q_norm.", ".attn_q_norm."},
    {".self_attn.k_norm.", ".attn_k_norm."},
    {".self_attn.q_proj.", ".attn_q."},
    {".self_attn.k_proj.", ".attn_k."},
    {".self_attn.v_proj.", ".attn_v."},
    {".self_attn.o_proj.", ".attn_output."},
    {".mlp.gate_proj.", ".ffn_gate."},
    {".mlp.up_proj.", ".ffn_up."},
    {".mlp.down_proj.", ".ffn_down."},
};
const Names kPhi3 = {{".self_attn.qkv_proj.", ".attn_qkv."}, {".mlp.gate_up_proj.", ".ffn_up."}};
const Names kHunyuan = {{".self_attn.query_layernorm.", ".attn_q_norm."},
                        {".self_attn.key_layernorm.", ".attn_k_norm."}};
const Names kGemma3 = {{".post_attention_layernorm.", ".post_attention_norm."},
                       {".pre_feedforward_layernorm.", ".ffn_norm."},
                       {".post_feedforward_layernorm.", ".post_ffw_norm."}};
const Names kOlmo2 = {{".post_attention_layernorm.", ".post_attention_norm."},
                      {".post_feedforward_layernorm.", ".post_ffw_norm."}};
const Names kLfm2 = {{"model.embedding_norm.", "token_embd_norm."},
                     {".operator_norm.", ".attn_norm."},
                     {".self_attn.q_layernorm.", ".attn_q_norm."},
                     {".self_attn.k_layernorm.", ".attn_k_norm."},
                     {".self_attn.out_proj.", ".attn_output."},
                     {".conv.conv.", ".shortconv.conv."},
                     {".conv.in_proj.", ".shortconv.in_proj."},
                     {".conv.out_proj.", ".shortconv.out_proj."},
                     {".feed_forward.w1.", ".ffn_gate."},
                     {".feed_forward.w3.", ".ffn_up."},
                     {".feed_forward.w2.", ".ffn_down."}};

const Names kQwen3Moe = {{".mlp.gate.", ".ffn_gate_inp."}};
const Names kLfm2Moe = [] {
  Names names = kLfm2;
  names.insert(names.begin(), {{".feed_forward.gate.", ".ffn_gate_inp."},
                               {".feed_forward.expert_bias", ".exp_probs_b.bias"}});
  return names;
}();

// "model.layers.3.self_attn.q_proj.weight" to "blk.3.attn_q.weight". A layer's own name is found
// once.
std::string gguf_name(std::string name, const Conversion& conversion) {
  for (const Names* names : {&conversion.names, &kUsual})
    for (const auto& [from, to] : *names)
      if (const std::size_t at = name.find(from); at != name.npos) {
        name.replace(at, from.size(), to);
        if (!from.starts_with("model.layers")) break;
      }
  return name;
}

void put_tensors(const checkpoint::Checkpoint& from, std::int64_t head_dim,
                 const Conversion& conversion, GgufBuilder& out) {
  for (const checkpoint::WeightRef* weight : from.weights->all()) {
    if (weight->name.find(".experts.") != weight->name.npos) continue;
    std::vector<float> values(static_cast<std::size_t>(element_count(weight->shape)));
    checkpoint::read_floats(*weight, 0, values);
    const std::string name = gguf_name(weight->name, conversion);
    if (name.find("_norm.") != name.npos)
      for (float& value : values) value += conversion.norm_offset;
    if (conversion.has_paired_rows &&
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
    if (name.find("shortconv.conv.weight") != name.npos) shape = {shape[0], shape[2]};
    out.f32_tensor(name, std::move(shape), values);
  }
}

// The matrices of all experts one after the other: `own` of each, or, where the checkpoint has them
// stacked, one share of the rows of `stack`.
struct Experts {
  const char* name;  // ffn_<name>_exps
  std::vector<const char*> own;
  const char* stack;
  std::int64_t share;  // of so many
  std::int64_t shares;
};
const Experts kExperts[] = {{"gate", {"gate_proj", "w1"}, "gate_up_proj", 0, 2},
                            {"up", {"up_proj", "w3"}, "gate_up_proj", 1, 2},
                            {"down", {"down_proj", "w2"}, "down_proj", 0, 1}};

void put_experts(const checkpoint::Checkpoint& from, const std::string& prefix,
                 const std::string& layer, GgufBuilder& out) {
  for (const Experts& experts : kExperts) {
    std::vector<float> values;
    std::vector<std::uint64_t> shape;
    const auto add = [&](const checkpoint::WeightRef& weight, std::int64_t row, std::int64_t rows) {
      const std::size_t begin = values.size();
      const std::int64_t columns = weight.shape.back();
      values.resize(begin + static_cast<std::size_t>(rows * columns));
      checkpoint::read_floats(weight, row * columns, std::span(values).subspan(begin));
      shape = {shape.empty() ? 1 : shape[0] + 1, static_cast<std::uint64_t>(rows),
               static_cast<std::uint64_t>(columns)};
    };
    for (const char* own : experts.own)
      for (int expert = 0;; ++expert) {
        const auto* weight =
            from.weights->find(fmt::format("{}experts.{}.{}.weight", prefix, expert, own));
        if (weight == nullptr) break;
        add(*weight, 0, weight->shape[0]);
      }
    if (const auto* stack = from.weights->find(prefix + "experts." + experts.stack))
      for (std::int64_t expert = 0; expert < stack->shape[0]; ++expert) {
        const std::int64_t rows = stack->shape[1] / experts.shares;
        add(*stack, expert * stack->shape[1] + experts.share * rows, rows);
      }
    if (!values.empty())
      out.f32_tensor("blk." + layer + ".ffn_" + experts.name + "_exps.weight", shape, values);
  }
}

// Keys of one architecture alone, and what the usual ones are where they differ.
struct Own {
  std::int64_t rotary = 0;
  std::vector<std::int32_t> kv_heads;
};

Own put_own_keys(const checkpoint::Checkpoint& from, std::int64_t head_dim, GgufBuilder& out) {
  const Json& config = from.config.json();
  const std::string type = from.config.model_type();
  Own own{.rotary = head_dim, .kv_heads = {config["num_key_value_heads"].get<std::int32_t>()}};
  const auto size = [&](const char* key) { return config[key].get<std::uint32_t>(); };
  const auto number = [&](const char* key) { return config[key].get<float>(); };
  if (type == "mistral") out.u32("llama.attention.sliding_window", size("sliding_window"));
  if (type == "granite") {
    out.f32("granite.embedding_scale", number("embedding_multiplier"));
    out.f32("granite.attention.scale", number("attention_multiplier"));
    out.f32("granite.residual_scale", number("residual_multiplier"));
    out.f32("granite.logit_scale", number("logits_scaling"));
  } else if (type == "gemma3_text") {
    out.u32("gemma3.attention.sliding_window", size("sliding_window"));
    out.f32("gemma3.rope.freq_base_swa",
            config.contains("rope_local_base_freq")
                ? number("rope_local_base_freq")
                : config["rope_parameters"]["sliding_attention"]["rope_theta"].get<float>());
    out.text("gemma3.rope.scaling.type", "linear");
    const Json& full = config.contains("rope_scaling")
                           ? config["rope_scaling"]
                           : config["rope_parameters"]["full_attention"];
    out.f32("gemma3.rope.scaling.factor", full["factor"].get<float>());
    if (config.value("final_logit_softcapping", Json()).is_number())
      out.f32("gemma3.final_logit_softcapping", number("final_logit_softcapping"));
  }
  if (type.ends_with("_moe")) {
    const std::string prefix = type == "lfm2_moe" ? "lfm2moe." : "qwen3moe.";
    const char* count = config.contains("num_experts") ? "num_experts" : "num_local_experts";
    out.u32(prefix + "expert_count", size(count));
    out.u32(prefix + "expert_used_count", size("num_experts_per_tok"));
    out.u32(prefix + "expert_feed_forward_length", size("moe_intermediate_size"));
    out.boolean(prefix + "expert_weights_norm", config.value("norm_topk_prob", true));
    if (type == "lfm2_moe") {
      out.u32("lfm2moe.leading_dense_block_count", size("num_dense_layers"));
      out.u32("lfm2moe.expert_gating_func", 2);
      out.f32("lfm2moe.expert_weights_scale", config.value("routed_scaling_factor", 1.0F));
    }
  }
  if (type.starts_with("lfm2")) {
    out.u32(type == "lfm2" ? "lfm2.shortconv.l_cache" : "lfm2moe.shortconv.l_cache",
            size("conv_L_cache"));
    const std::int32_t heads = own.kv_heads.front();
    own.kv_heads.clear();
    for (int i = 0; i < config["num_hidden_layers"].get<int>(); ++i)
      own.kv_heads.push_back(
          from.weights->find(fmt::format("model.layers.{}.conv.conv.weight", i)) ? 0 : heads);
  } else if (type == "phi3") {
    if (config.value("sliding_window", Json()).is_number())
      out.u32("phi3.attention.sliding_window", size("sliding_window"));
    const auto rope = from.config.rope(10000);
    EXPECT_TRUE(rope.ok());
    own.rotary = std::lround(static_cast<double>(head_dim) * rope->partial_rotary_factor);
    out.u32("phi3.rope.scaling.original_context_length", size("original_max_position_embeddings"));
    for (const std::string name : {"short", "long"})
      out.f32_tensor("rope_factors_" + name + ".weight",
                     {static_cast<std::uint64_t>(own.rotary / 2)},
                     (*rope->parameters)[name + "_factor"].get<std::vector<float>>());
  }
  return own;
}

GgufBuilder converted_to_gguf(const checkpoint::Checkpoint& from, const Conversion& conversion) {
  const Json& config = from.config.json();
  const std::string prefix = std::string(conversion.architecture) + ".";
  GgufBuilder out;
  out.text("general.architecture", conversion.architecture);
  constexpr std::pair<const char*, const char*> kSizes[] = {
      {"hidden_size", "embedding_length"},
      {"num_hidden_layers", "block_count"},
      {"max_position_embeddings", "context_length"},
      {"num_attention_heads", "attention.head_count"},
      {"vocab_size", "vocab_size"},
  };
  for (const auto& [key, name] : kSizes) out.u32(prefix + name, config[key].get<std::uint32_t>());
  const std::int64_t head_dim =
      config.contains("head_dim")
          ? config["head_dim"].get<std::int64_t>()
          : config["hidden_size"].get<std::int64_t>() / config["num_attention_heads"].get<int>();
  for (const char* name : {"attention.key_length", "attention.value_length"})
    out.u32(prefix + name, static_cast<std::uint32_t>(head_dim));
  const Own own = put_own_keys(from, head_dim, out);
  if (own.kv_heads.size() == 1)
    out.u32(prefix + "attention.head_count_kv", static_cast<std::uint32_t>(own.kv_heads[0]));
  else
    out.i32s(prefix + "attention.head_count_kv", own.kv_heads);
  out.u32(prefix + "rope.dimension_count", static_cast<std::uint32_t>(own.rotary));
  const char* eps = config.contains("norm_eps") ? "norm_eps" : "rms_norm_eps";
  out.f32(prefix + "attention.layer_norm_rms_epsilon", config[eps].get<float>());
  // The width that the tensors have, whatever the configuration makes of it.
  auto width = config.value("intermediate_size", 0U);
  for (const char* name :
       {"model.layers.0.mlp.down_proj.weight", "model.layers.0.feed_forward.w2.weight"})
    if (const checkpoint::WeightRef* down = from.weights->find(name))
      width = static_cast<std::uint32_t>(down->shape[1]);
  out.u32(prefix + "feed_forward_length", width);

  Json rope = config.value("rope_parameters", Json::object());
  if (rope.contains("full_attention")) rope = rope["full_attention"];
  double theta = rope.value("rope_theta", config.value("rope_theta", 10000.0));
  const Json scaling = config.value("rope_scaling", Json());
  if (scaling.is_object()) rope.update(scaling);
  if (rope.contains("alpha"))  // the base is stretched once and for all
    theta *= std::pow(rope["alpha"].get<double>(),
                      static_cast<double>(head_dim) / static_cast<double>(head_dim - 2));
  out.f32(prefix + "rope.freq_base", static_cast<float>(theta));
  if (rope.value("rope_type", "") == "yarn") {
    out.text(prefix + "rope.scaling.type", "yarn");
    out.f32(prefix + "rope.scaling.factor", rope["factor"].get<float>());
    out.u32(prefix + "rope.scaling.original_context_length",
            rope["original_max_position_embeddings"].get<std::uint32_t>());
  }
  put_tensors(from, head_dim, conversion, out);
  for (int layer = 0; layer < config["num_hidden_layers"].get<int>(); ++layer)
    for (const char* mlp : {"mlp", "feed_forward"})
      put_experts(from, fmt::format("model.layers.{}.{}.", layer, mlp), std::to_string(layer), out);
  return out;
}

class GgufArchitectures : public ::testing::TestWithParam<Conversion> {
 protected:
  Answer run(const std::string& path, const Golden& golden, const std::string& name) {
    auto model = compile_and_load(
        {GetParam().name, path}, folder_.file(name),
        {.precision = DType::kFp32, .recipe = {.quant = {.scheme = quant::Scheme::kNone}}});
    EXPECT_NE(model, nullptr);
    if (model == nullptr) return {};
    return run_greedily(std::move(model), golden.prompt, golden.continuation.size());
  }

  const TemporaryFolder folder_;
};

TEST_P(GgufArchitectures, GiveTheGoldenOfTheCheckpoint) {
  const std::vector<Checkpoint> all = checkpoints();
  const auto source = std::ranges::find(all, GetParam().name, &Checkpoint::name);
  ASSERT_NE(source, all.end());
  if (!is_present(*source)) GTEST_SKIP() << "absent: " << source->path;
  Golden golden = read_golden(*source);
  std::string path = source->path;
  if (GetParam().changes != nullptr) {
    path = folder_.file("changed");
    copy_changed(source->path, Json::parse(GetParam().changes), path);
    Answer answer = run(path, golden, "reference");
    golden.logits = std::move(answer.logits);
    golden.continuation = std::move(answer.continuation);
  }
  const auto from = checkpoint::open_checkpoint(path);
  ASSERT_TRUE(from.ok()) << from.status().message();
  converted_to_gguf(*from, GetParam()).write(folder_.file("model.gguf"));
  expect_golden(run(folder_.file("model.gguf"), golden, "artifact"), golden);
}

// Gemma's files say neither which layers slide nor how scores are scaled, but in every sixth and by
// the length of a head; OLMo's do not name the activation.
const char* const kGemma3Changes =
    R"({"sliding_window_pattern": 6, "_sliding_window_pattern": 6, "layer_types": null,
        "query_pre_attn_scalar": 24})";
const char* const kTinyGemma3Changes = R"({"layer_types": ["sliding_attention", "sliding_attention",
    "sliding_attention", "sliding_attention"], "query_pre_attn_scalar": 10})";

INSTANTIATE_TEST_SUITE_P(
    , GgufArchitectures,
    ::testing::Values(
        Conversion{"tiny_qwen3", "qwen3"}, Conversion{"tiny_mistral", "llama", true},
        Conversion{"tiny_phi3", "phi3", false, kPhi3},
        Conversion{"tiny_hunyuan_v1_dense", "hunyuan-dense", false, kHunyuan},
        Conversion{"tiny_gemma3_text", "gemma3", false, kGemma3, 1, kTinyGemma3Changes},
        Conversion{"tiny_lfm2", "lfm2", false, kLfm2},
        Conversion{"tiny_lfm2_moe", "lfm2moe", false, kLfm2Moe},
        Conversion{"tiny_qwen3_moe", "qwen3moe", false, kQwen3Moe},
        Conversion{"tiny_granite", "granite", true},
        Conversion{"tiny_olmo2", "olmo2", false, kOlmo2, 0, R"({"hidden_act": "silu"})"},
        Conversion{"shared_qwen2", "qwen2"}, Conversion{"shared_qwen3", "qwen3"},
        Conversion{"shared_mistral", "llama", true}, Conversion{"shared_smollm3", "smollm3", true},
        Conversion{"shared_phi4mini", "phi3", false, kPhi3},
        Conversion{"shared_hunyuan_v1_dense", "hunyuan-dense", false, kHunyuan},
        Conversion{"shared_gemma3", "gemma3", false, kGemma3, 1, kGemma3Changes},
        Conversion{"shared_lfm2", "lfm2", false, kLfm2},
        Conversion{"shared_lfm2_moe", "lfm2moe", false, kLfm2Moe},
        Conversion{"shared_qwen3_moe", "qwen3moe", false, kQwen3Moe}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace anemone::compiler::testing
