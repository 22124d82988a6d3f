// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::serve::openai {

// The answer of /v1/embeddings as the text of its JSON. `total_tokens` are those of all inputs.
std::string embedding_answer_text(std::span<const std::vector<float>> embeddings,
                                  const std::string& model, std::int64_t total_tokens,
                                  bool is_base64);

// The most bytes that such an answer takes, with the vectors that it is made of.
std::size_t embedding_answer_bytes(std::size_t texts, std::size_t dimensions);

// The numbers as little-endian fp32 in base64 (RFC 4648, with padding).
std::string base64_of(std::span<const float> values);

}  // namespace anemone::serve::openai
