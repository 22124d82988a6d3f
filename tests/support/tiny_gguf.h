// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/gguf_builder.h"

namespace anemone::testing {

// A Llama of one layer that compiles: hidden size 32, two heads of 16, one of keys and values, a
// matrix of each of two quantized types, and a tokenizer of three tokens. Values are small numbers
// without a meaning.
inline GgufBuilder tiny_gguf_metadata() {
  GgufBuilder builder;
  builder.text("general.architecture", "llama").text("general.name", "tiny");
  for (const auto& [key, value] :
       {std::pair{"context_length", 64U}, std::pair{"embedding_length", 32U},
        std::pair{"block_count", 1U}, std::pair{"feed_forward_length", 64U},
        std::pair{"attention.head_count", 2U}, std::pair{"attention.head_count_kv", 1U},
        std::pair{"rope.dimension_count", 16U}})
    builder.u32(std::string("llama.") + key, value);
  builder.f32("llama.attention.layer_norm_rms_epsilon", 1e-5F).f32("llama.rope.freq_base", 10000);
  builder.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "qwen2");
  builder.texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<end>"})
      .i32s("tokenizer.ggml.token_type", {1, 1, 1, 3})
      .texts("tokenizer.ggml.merges", {"a b"})
      .u32("tokenizer.ggml.eos_token_id", 3)
      .text("tokenizer.chat_template", "{{ messages[0].content }}");
  return builder;
}

// What the rows of the vocabulary are.
enum class TinyEmbedding { kFloats, kBytes, kNibbles };  // F32, Q8_0, Q4_0

inline GgufBuilder& add_tiny_gguf_tensors(GgufBuilder& builder,
                                          TinyEmbedding embedding = TinyEmbedding::kFloats) {
  const auto floats = [&](std::string_view name, std::uint64_t rows, std::uint64_t columns) {
    std::vector<float> values(rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5) * 0.05F;
    builder.f32_tensor(name, {rows, columns}, values);
  };
  // Q8_0: fp16 scale 2^-10, then 32 bytes.
  const auto bytes = [&](std::string_view name, std::uint64_t rows, std::uint64_t columns) {
    std::string blocks;
    for (std::uint64_t i = 0; i < rows * columns / 32; ++i) {
      blocks += std::string("\0\x14", 2);
      for (int j = 0; j < 32; ++j) blocks += static_cast<char>(j * 5 % 64 - 32);
    }
    builder.tensor(name, {rows, columns}, 8, blocks);
  };
  // Q4_0: fp16 scale 2^-6, then 16 bytes.
  const auto nibbles = [&](std::string_view name, std::uint64_t rows, std::uint64_t columns) {
    std::string blocks;
    for (std::uint64_t i = 0; i < rows * columns / 32; ++i) {
      blocks += std::string("\0\x24", 2);
      for (int j = 0; j < 16; ++j) blocks += static_cast<char>(j * 13 % 251);
    }
    builder.tensor(name, {rows, columns}, 2, blocks);
  };
  const std::vector<float> ones(32, 1.0F);
  if (embedding == TinyEmbedding::kFloats) floats("token_embd.weight", 4, 32);
  if (embedding == TinyEmbedding::kBytes) bytes("token_embd.weight", 4, 32);
  if (embedding == TinyEmbedding::kNibbles) nibbles("token_embd.weight", 4, 32);
  builder.f32_tensor("output_norm.weight", {32}, ones);
  builder.f32_tensor("blk.0.attn_norm.weight", {32}, ones);
  builder.f32_tensor("blk.0.ffn_norm.weight", {32}, ones);
  floats("blk.0.attn_q.weight", 32, 32);
  floats("blk.0.attn_k.weight", 16, 32);
  floats("blk.0.attn_v.weight", 16, 32);
  floats("blk.0.attn_output.weight", 32, 32);
  bytes("blk.0.ffn_gate.weight", 64, 32);
  bytes("blk.0.ffn_up.weight", 64, 32);
  nibbles("blk.0.ffn_down.weight", 32, 64);
  return builder;
}

inline std::string tiny_gguf() {
  GgufBuilder builder = tiny_gguf_metadata();
  return add_tiny_gguf_tensors(builder).bytes();
}

}  // namespace anemone::testing
