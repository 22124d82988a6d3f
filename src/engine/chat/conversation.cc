// SPDX-License-Identifier: Apache-2.0
#include "engine/chat/conversation.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/escape.h"
#include "base/json_release.h"

namespace anemone::engine {
namespace {

Status check_can_chat(const Model& model) {
  if (model.tokenizer() == nullptr)
    return not_found("[{}] expected a model with a tokenizer, got one without",
                     model.manifest().name);
  if (!model.has_chat_template())
    return not_found("[{}] expected a model with a chat template, got one without",
                     model.manifest().name);
  return {};
}

Json message(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

}  // namespace

Result<std::vector<std::int32_t>> chat_prompt(const Model& model, Json messages, Json variables,
                                              WorkBudget* budget) {
  ANEMONE_ASSIGN_OR_RETURN(ChatPrompt prompt, make_chat_prompt(model, std::move(messages),
                                                               std::move(variables), budget));
  return std::move(prompt.ids);
}

Result<ChatPrompt> make_chat_prompt(const Model& model, Json messages, Json variables,
                                    WorkBudget* budget) {
  const JsonReleaser messages_releaser(messages), variables_releaser(variables);
  ANEMONE_RETURN_IF_ERROR(check_can_chat(model));
  ANEMONE_ASSIGN_OR_RETURN(const std::string text,
                           model.render_chat(std::move(messages), /*add_generation_prompt=*/true,
                                             std::move(variables), budget));
  if (budget != nullptr) ANEMONE_RETURN_IF_ERROR(budget->check());
  ChatPrompt out;
  out.is_in_reasoning = text::opens_reasoning(model.answer_syntax(), text);
  const std::string& close = model.answer_syntax().reasoning_close;
  const std::size_t last = text.find_last_not_of(" \r\n");
  out.is_behind_reasoning = !close.empty() && last != text.npos &&
                            std::string_view(text).substr(0, last + 1).ends_with(close);
  // The template writes a begin-of-text token itself where the model wants one.
  ANEMONE_ASSIGN_OR_RETURN(
      out.ids, model.tokenizer()->encode(
                   text, {.add_special = false, .parse_special = true, .budget = budget}));
  return out;
}

void put_tools_into_message(Json& messages, Json& variables) {
  Json* tools = json_member(variables, "tools");
  if (tools == nullptr || !tools->is_array() || !messages.is_array()) return;
  Json functions = Json::array();
  for (const Json& tool : *tools) {
    const Json* function = json_member(tool, "function");
    functions.push_back(function != nullptr ? *function : tool);
  }
  const bool has_system = !messages.empty() && messages.front().is_object() &&
                          messages.front().value("role", "") == "system";
  if (!has_system) messages.insert(messages.begin(), message("system", ""));
  messages.front()["tools"] = dump_json(functions);
}

Result<Conversation> Conversation::create(Engine& engine, std::shared_ptr<const Model> model) {
  ANEMONE_RETURN_IF_ERROR(check_can_chat(*model));
  return Conversation(engine, std::move(model));
}

Json Conversation::messages() const {
  Json out = Json::array();
  if (!system_.empty()) out.push_back(message("system", system_));
  for (const Json& turn : turns_) out.push_back(turn);
  return out;
}

Status Conversation::set_messages(const Json& messages) {
  constexpr std::string_view kSubject = "messages";
  if (!messages.is_array())
    return parse_error("[{}] expected a list, got {}", kSubject, messages.type_name());
  std::string system;
  Json turns = Json::array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const auto role, json_string(messages[i], "role", kSubject));
    ANEMONE_ASSIGN_OR_RETURN(auto content, json_string(messages[i], "content", kSubject));
    if (!role || !content)
      return parse_error("[{}] expected a role and a content in message {}", kSubject, i);
    if (i == 0 && *role == "system") {
      system = std::move(*content);
      continue;
    }
    const std::string_view expected = turns.size() % 2 == 0 ? "user" : "assistant";
    if (*role != expected)
      return parse_error("[{}] expected the role {} in message {}, got {}", kSubject, expected, i,
                         shortened(*role, 40));
    turns.push_back(message(*role, *content));
  }
  if (turns.size() % 2 != 0)
    return parse_error("[{}] expected an answer to the last message, got none", kSubject);
  system_ = std::move(system);
  turns_ = std::move(turns);
  return {};
}

std::string Conversation::take_last() {
  std::string user = turns_[turns_.size() - 2]["content"].get<std::string>();
  turns_.erase(turns_.end() - 2, turns_.end());
  return user;
}

void Conversation::drop_oldest() {
  turns_.erase(turns_.begin(), turns_.begin() + 2);
}

Result<std::vector<std::int32_t>> Conversation::prompt_of(std::string_view user) const {
  Json asked = messages();
  asked.push_back(message("user", user));
  return chat_prompt(*model_, std::move(asked));
}

Result<GenerateResult> Conversation::answer(std::string_view user, const GenerateOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(auto prompt, prompt_of(user));
  ANEMONE_ASSIGN_OR_RETURN(GenerateResult result,
                           generate(*engine_, model_, std::move(prompt), options));
  turns_.push_back(message("user", user));
  turns_.push_back(message("assistant", result.text));
  return result;
}

}  // namespace anemone::engine
