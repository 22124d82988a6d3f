// SPDX-License-Identifier: Apache-2.0
// Requests of llama.cpp's own API as values. The functions that parse them are pure. As with
// OpenAI's, fields that we do not know are ignored, and those that we know and cannot honour are
// refused.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_budget.h"
#include "engine/generation/text_request.h"
#include "serve/model_choice.h"
#include "serve/openai/request.h"

namespace anemone::serve::llamacpp {

inline constexpr std::size_t kMaxStops = 32;
inline constexpr std::int64_t kMaxProbabilities = 100;  // of each token

// POST /completion.
struct CompletionRequest : ModelChoice {
  std::vector<openai::Prompt> prompts;  // at least one, at most openai::kMaxPrompts
  engine::TextRequest text;
  bool is_stream = false;
  bool returns_tokens = false;
};
Result<CompletionRequest> parse_completion_request(std::string_view body,
                                                   WorkBudget* budget = nullptr);

// POST /tokenize.
struct TokenizeRequest : ModelChoice {
  std::string content;
  bool adds_special = false;
  bool parses_special = true;
  bool has_pieces = false;
};
Result<TokenizeRequest> parse_tokenize_request(std::string_view body, WorkBudget* budget = nullptr);

// POST /detokenize.
struct DetokenizeRequest : ModelChoice {
  std::vector<std::int32_t> tokens;
};
Result<DetokenizeRequest> parse_detokenize_request(std::string_view body,
                                                   WorkBudget* budget = nullptr);

}  // namespace anemone::serve::llamacpp
