// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "serve/openai/generation_fields.h"
#include "serve/openai/prompts.h"

namespace anemone::serve::openai {
Result<CompletionRequest> parse_completion_request(std::string_view body, WorkBudget* budget) {
  return read_body<CompletionRequest>(body, budget, [](JsonFields& fields, CompletionRequest& out) {
    out.generation = read_generation(fields, /*least_tokens=*/0);
    out.generation.top_logprobs = fields.integer("logprobs", 0, kMaxTopLogprobs);
    out.is_echo = fields.boolean("echo").value_or(false);
    if (const auto suffix = fields.string("suffix"); suffix && !suffix->empty())
      fields.fail(unsupported("[suffix] is not supported by this server"));
    const auto best_of = fields.integer("best_of", 1, kMaxChoices);
    if (best_of && *best_of != out.generation.choices)
      fields.fail(unsupported("[best_of] expected the value of n, {}, got {}",
                              out.generation.choices, *best_of));
    out.prompts = read_prompts(fields, "prompt", kMaxPrompts);
    if (out.prompts.size() * static_cast<std::size_t>(out.generation.choices) > kMaxTexts)
      fields.fail(invalid_argument(
          "[n] expected at most {} choices for all prompts together, got {} for each of {}",
          kMaxTexts, out.generation.choices, out.prompts.size()));
  });
}

}  // namespace anemone::serve::openai
