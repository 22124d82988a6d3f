// SPDX-License-Identifier: Apache-2.0
#include "serve/prompt_check.h"

#include <fmt/format.h>
#include <string>
#include <utility>

#include "base/error.h"
#include "engine/chat/conversation.h"

namespace anemone::serve {

std::optional<openai::ApiError> check_prompt(const engine::Model& model,
                                             std::span<const std::int32_t> ids, const char* field) {
  const auto refuse = [&](std::string message, std::string code) {
    openai::ApiError error;
    error.message = std::move(message);
    error.param = field;
    error.code = std::move(code);
    return error;
  };
  if (ids.empty()) return refuse(fmt::format("[{}] expected at least one token", field), "");
  if (static_cast<std::int64_t>(ids.size()) > model.context())
    return refuse(fmt::format("[{}] expected at most {} tokens (the model's context), got {}",
                              field, model.context(), ids.size()),
                  "context_length_exceeded");
  for (const std::int32_t id : ids)
    if (const Status status = model.check_id(id); !status.ok()) return refuse(status.message(), "");
  return std::nullopt;
}

openai::ApiError prompt_error(const Status& status, const char* field) {
  openai::ApiError error = openai::api_error(status);
  const bool is_input = status.code() == Code::kNotFound || error.status == 400;
  if (!is_input) return error;
  error = {};
  error.message = status.message();
  error.param = field;
  return error;
}

Status place_tools(const engine::Model& model, openai::ChatRequest& request) {
  const std::string* chat_template = model.tool_template_text();
  if (request.tools == nullptr || chat_template == nullptr) return {};
  if (!text::takes_tools(*chat_template))
    return unsupported(
        "[tools] expected a model whose chat template takes tools, got one whose template does "
        "not");
  if (text::takes_tools_in_message(*chat_template))
    engine::put_tools_into_message(request.messages, request.variables);
  return {};
}

Result<std::vector<std::int32_t>> prompt_ids(const engine::Model& model, openai::Prompt& prompt,
                                             WorkBudget& budget) {
  if (auto* ids = std::get_if<std::vector<std::int32_t>>(&prompt)) {
    ANEMONE_RETURN_IF_ERROR(budget.check());
    return std::move(*ids);
  }
  if (model.tokenizer() == nullptr)
    return unsupported("[model] expected a model with a tokenizer, got one without");
  ANEMONE_ASSIGN_OR_RETURN(auto ids,
                           model.tokenizer()->encode(std::get<std::string>(prompt),
                                                     {.add_special = true, .budget = &budget}));
  ANEMONE_RETURN_IF_ERROR(budget.check());
  return ids;
}

}  // namespace anemone::serve
