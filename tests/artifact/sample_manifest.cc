// SPDX-License-Identifier: Apache-2.0
#include "tests/artifact/sample_manifest.h"

#include <nlohmann/json.hpp>
#include <string>

namespace anemone::artifact::testing {

Manifest sample_manifest() {
  Manifest m;
  m.producer = "anemone 0.1.0";
  m.model_type = "qwen2";
  m.name = "sample";
  m.precision = "fp16";
  m.quantization = "int8";
  m.target = "ios18";
  m.vocab_size = 1000;
  m.hidden_size = 64;
  m.layers = 5;
  m.context = 256;
  m.max_position = 32768;
  m.eos_ids = {2, 7};
  m.bos_id = 1;
  m.generation = Json{{"do_sample", true}, {"temperature", 0.7}, {"top_k", 20}};
  m.embedding = {DType::kFp16,
                 1000,
                 64,
                 {{"embedding.bin", 0, 600}, {"head_1.mlpackage/weights.bin", 128, 400}}};
  m.ropes = {{"default", {1.0F, 0.1F, 1e-6F, 3.1622776e-3F}, 1.0F},
             {"local", {1.0F}, 1.3465736F, 100, {0.5F}}};
  m.functions = {{"decode", 1}, {"prefill", 64}, {"decode_128", 1, 128}};
  m.form.layout = HiddenLayout::kTokensInWidth;
  m.layer_embedding = {DType::kFp16, 1000, 60, {{"layer_embedding.bin", 0, 1000}}};
  const std::vector<Port> ports = {{"hidden", PortRole::kHidden, "", 0},
                                   {"cos", PortRole::kRopeCos, "default", 0},
                                   {"sin", PortRole::kRopeSin, "default", 0},
                                   {"mask", PortRole::kAttentionMask, "", 0},
                                   {"mask_128", PortRole::kAttentionMask, "", 128},
                                   {"write", PortRole::kCacheWriteMask, "", 0},
                                   {"own", PortRole::kLayerEmbedding}};
  std::vector<Port> behind_experts = ports;
  behind_experts.push_back({"experts", PortRole::kExperts});
  m.shards = {{"layers_00_02.mlpackage",
               {0, 4, 0, 3},
               ports,
               "hidden_out",
               {{"k_0", "", DType::kFp16, {1, 2, 256, 16}}},
               24,
               Experts{"x",
                       "routing",
                       6,
                       2,
                       {1, 8},
                       {{"experts_0.mlpackage", 0, 4}, {"experts_1.mlpackage", 4, 6}}}},
              {"layers_03_04.mlpackage",
               {3, 5, 3},
               behind_experts,
               "hidden_out",
               {{"k_3", "k_3_out", DType::kFp32, {1, 2, 256, 16}}}}};
  m.heads = {{"head_0.mlpackage", 0, 512, "hidden", "logits"},
             {"head_1.mlpackage", 512, 1000, "hidden", "logits"}};
  m.embed = Embed{"embed.mlpackage", "hidden", "normed"};
  m.verification = Verification{.producer = "anemone 0.1.0",
                                .against = "sample",
                                .text = "built-in",
                                .ids_sha256 = std::string(64, 'b'),
                                .agreement = {.tokens = 384,
                                              .cosine_mean = 0.9995,
                                              .cosine_median = 0.9997,
                                              .cosine_min = 0.98,
                                              .top1 = 0.97,
                                              .top1_near = 0.99,
                                              .perplexity = 12.25,
                                              .reference_perplexity = 12.1},
                                .limits = {},
                                .passed = true};
  m.files = {{"embedding.bin", 128000, std::string(64, 'a')},
             {"head_0.mlpackage/Manifest.json", 12, std::string(64, '0')}};
  return m;
}

Manifest sample_with_quantized_rows() {
  Manifest m = sample_manifest();
  m.form.embedding = EmbeddingForm::kStored;
  m.embedding.parts = {
      {"head_0.mlpackage/weights.bin", 129, 500, Quantization{DType::kInt4, 1, 32, 20'000}},
      {"head_1.mlpackage/weights.bin", 128, 300,
       Quantization{DType::kInt8, 300, 32, 0, {0.5F, 0.001F}}},
      {"head_1.mlpackage/weights.bin", 40'000, 200, Quantization{DType::kUInt6, 10, 64, 60'000}}};
  m.layer_embedding->parts.front().quantization = Quantization{DType::kInt8, 1, 12, 60'000};
  return m;
}

Manifest sample_with_head_inside() {
  Manifest m = sample_manifest();
  const Shard& last = m.shards.back();
  m.heads = {{last.package, 0, 512, last.output, "logits_0"},
             {last.package, 512, 1000, last.output, "logits_1"}};
  return m;
}

}  // namespace anemone::artifact::testing
