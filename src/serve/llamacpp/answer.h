// SPDX-License-Identifier: Apache-2.0
// Answers of llama.cpp's own API. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/work_budget.h"
#include "engine/generation/generation.h"
#include "engine/sampling/logprobs.h"
#include "serve/openai/answer.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::serve::llamacpp {

// A piece of the answer to prompt `index` in a stream. `tokens` may be empty.
Json piece_json(std::size_t index, std::string_view text, std::span<const std::int32_t> tokens);

// A whole answer, or the last event of a stream, whose content is empty.
struct Completion {
  std::size_t index = 0;  // of its prompt
  std::string content;
  std::vector<std::int32_t> tokens;
  std::string model;
  bool has_tokens = false;  // they were asked for
};
Json completion_json(const Completion& completion, const engine::GenerateResult& result,
                     const engine::GenerateOptions& options);

// What the model thought of a token and its alternatives: {"id", "token", "bytes", "logprob",
// "top_logprobs": [{"id", "token", "bytes", "logprob"}, ...]}. `scored` is of the same token and
// the same alternatives.
Json probability_json(std::int32_t id, const engine::TokenLogprobs& logprobs,
                      const openai::ScoredToken& scored);
// The text of an answer or a piece, with `probabilities`, the texts of probability_json() with
// commas between them, as its "completion_probabilities"; none where they are empty.
std::string answer_text(const Json& answer, std::string_view probabilities);

// {"tokens": [id, ...]} or, with pieces, [{"id", "piece"}, ...]: a piece is a text, or a list of
// bytes where these are none. The budget pays for the pieces.
Result<Json> tokens_json(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                         bool has_pieces, WorkBudget& budget);

// The settings of a text, as /props and an answer show them.
Json settings_json(const engine::GenerateOptions& options);

}  // namespace anemone::serve::llamacpp
