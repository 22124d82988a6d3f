// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/embedding_answer.h"

#include <bit>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace anemone::serve::openai {
namespace {

// "-1.2345678e-38" and a comma.
constexpr std::size_t kNumberBytes = 16;

}  // namespace

std::string base64_of(std::span<const float> values) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((values.size() * sizeof(float) + 2) / 3 * 4);
  std::uint32_t bits = 0;  // up to three bytes
  int count = 0;
  const auto put = [&](int digits) {
    for (int i = 0; i < 4; ++i) out += i < digits ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
    bits = 0;
    count = 0;
  };
  for (const float value : values) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    for (int byte = 0; byte < 4; ++byte) {
      bits |= (word >> (8 * byte) & 0xff) << (16 - 8 * count);
      if (++count == 3) put(4);
    }
  }
  if (count > 0) put(count + 1);
  return out;
}

std::size_t embedding_answer_bytes(std::size_t texts, std::size_t dimensions) {
  constexpr std::size_t kPerText = 200;
  return texts * (kPerText + dimensions * (kNumberBytes + sizeof(float)));
}

std::string embedding_answer_text(std::span<const std::vector<float>> embeddings,
                                  const std::string& model, std::int64_t total_tokens,
                                  bool is_base64) {
  std::string out = R"({"object":"list","data":[)";
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    out += fmt::format(R"({}{{"object":"embedding","index":{},"embedding":)", i == 0 ? "" : ",", i);
    if (is_base64)
      out += '"' + base64_of(embeddings[i]) + '"';
    else
      fmt::format_to(std::back_inserter(out), "[{}]", fmt::join(embeddings[i], ","));
    out += '}';
  }
  out += fmt::format(R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
                     dump_json(Json(model)), total_tokens, total_tokens);
  return out;
}

}  // namespace anemone::serve::openai
