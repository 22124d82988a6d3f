// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_release.h"
#include "serve/openai/generation_fields.h"

namespace anemone::serve::openai {
namespace {

// A text, token ids, or a list of either.
void read_prompts(JsonFields& fields, CompletionRequest& request) {
  const Json* prompt = fields.member("prompt");
  const auto refuse = [&](const std::string& got) {
    fields.fail(
        invalid_argument("[prompt] expected a text, token ids, or a list of at most {} of "
                         "either, got {}",
                         kMaxPrompts, got));
  };
  if (prompt == nullptr) return refuse("none");
  if (prompt->is_string()) {
    request.prompts.emplace_back(prompt->get<std::string>());
    return;
  }
  if (!prompt->is_array() || prompt->empty())
    return refuse(prompt->is_array() ? "an empty list" : describe_json(*prompt));
  if (prompt->front().is_number()) {
    auto ids = ids_of(*prompt);
    if (!ids) return refuse("a list with something else in it");
    request.prompts.emplace_back(*std::move(ids));
    return;
  }
  if (prompt->size() > kMaxPrompts) return refuse(std::to_string(prompt->size()));
  for (const Json& item : *prompt) {
    if (item.is_string()) {
      request.prompts.emplace_back(item.get<std::string>());
      continue;
    }
    auto ids = ids_of(item);
    if (!ids || ids->empty()) return refuse("a list with something else in it");
    request.prompts.emplace_back(*std::move(ids));
  }
}

}  // namespace

Result<CompletionRequest> parse_completion_request(std::string_view body, WorkBudget* budget) {
  ANEMONE_ASSIGN_OR_RETURN(Json json, parse_json(body, "body", JsonLimits{.budget = budget}));
  const JsonReleaser releaser(json);
  JsonFields fields(json);
  CompletionRequest out;
  out.generation = read_generation(fields, /*least_tokens=*/0);
  out.generation.top_logprobs = fields.integer("logprobs", 0, kMaxTopLogprobs);
  out.is_echo = fields.boolean("echo").value_or(false);
  if (const auto suffix = fields.string("suffix"); suffix && !suffix->empty())
    fields.fail(unsupported("[suffix] is not supported by this server"));
  const auto best_of = fields.integer("best_of", 1, kMaxChoices);
  if (best_of && *best_of != out.generation.choices)
    fields.fail(unsupported("[best_of] expected the value of n, {}, got {}", out.generation.choices,
                            *best_of));
  read_prompts(fields, out);
  if (out.prompts.size() * static_cast<std::size_t>(out.generation.choices) > kMaxTexts)
    fields.fail(invalid_argument(
        "[n] expected at most {} choices for all prompts together, got {} for each of {}",
        kMaxTexts, out.generation.choices, out.prompts.size()));
  ANEMONE_RETURN_IF_ERROR(fields.status());
  return out;
}

}  // namespace anemone::serve::openai
