// SPDX-License-Identifier: Apache-2.0
// The pre-tokenizers that BPE vocabularies of GGUF files name, as their tokenizer.json has them.
#include <algorithm>

#include "checkpoint/gguf/gguf_tokenizer.h"

namespace anemone::checkpoint::gguf {
namespace {

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Words by case, with contractions at their end.
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Numbers, runs of Chinese and Japanese, the rest (also DeepSeek V3).
constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kHanAndKana = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr std::string_view kHunyuan =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr PreTokenizer kPreTokenizers[] = {
    {.name = "gpt-2"},
    {.name = "olmo"},
    {.name = "refact", .has_single_digits = true},
    {.name = "smollm", .has_single_digits = true},
    {.name = "llama-bpe", .patterns = {kLlama3}, .ignore_merges = true, .adds_bos = true},
    {.name = "llama3", .patterns = {kLlama3}, .ignore_merges = true, .adds_bos = true},
    {.name = "lfm2", .patterns = {kLlama3}, .ignore_merges = true, .adds_bos = true},
    {.name = "smaug-bpe", .patterns = {kLlama3}},
    {.name = "dbrx", .patterns = {kLlama3}},
    {.name = "qwen2", .patterns = {kQwen2}, .is_nfc = true},
    {.name = "gpt-4o", .patterns = {kGpt4o}},
    {.name = "hunyuan-dense", .patterns = {kThreeDigits, kHanAndKana, kHunyuan}},
    {.name = "deepseek-v3", .patterns = {kThreeDigits, kHanAndKana, kHunyuan}},
    {.name = "tekken", .patterns = {kTekken}, .ignore_merges = true, .adds_bos = true},
};

}  // namespace

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  const auto it = std::ranges::find(kPreTokenizers, name, &PreTokenizer::name);
  return it == std::end(kPreTokenizers) ? nullptr : &*it;
}

}  // namespace anemone::checkpoint::gguf
