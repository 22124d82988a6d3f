// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "serve/openai/generation_fields.h"
#include "serve/openai/tools.h"

namespace anemone::serve::openai {
namespace {

constexpr std::array kRoles = {"system", "developer", "user", "assistant", "tool", "function"};

// What reading one message or part costs, in the units of WorkBudget (about a nanosecond).
constexpr std::size_t kUnitsPerItem = 200;

// Where a value stands in the request. Its text, "messages[3].content", is made only for an error.
struct Place {
  std::size_t message;
  std::string inside(std::string_view rest) const {
    return fmt::format("messages[{}]{}", message, rest);
  }
};

Status pay(WorkBudget* budget, std::size_t units) {
  return budget == nullptr ? Status() : budget->spend(units);
}

// Joins the texts of [{"type": "text", "text": "..."}, ...] into one string.
Result<Json> join_parts(const Json& parts, const Place& place, WorkBudget* budget) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ANEMONE_RETURN_IF_ERROR(pay(budget, kUnitsPerItem));
    const auto at = [&] { return place.inside(fmt::format(".content[{}]", i)); };
    const Json* type = json_member(parts[i], "type");
    if (type == nullptr || !type->is_string())
      return invalid_argument("[{}] expected an object with a \"type\", got {}", at(),
                              describe_json(parts[i]));
    if (*type != "text" && *type != "refusal")
      return unsupported(
          "[{}] expected a part of type \"text\", got {}: this server takes text only", at(),
          describe_json(*type));
    const Json* part = json_member(parts[i], *type == "text" ? "text" : "refusal");
    if (part == nullptr || !part->is_string())
      return invalid_argument("[{}] expected a string with the text of the part, got {}", at(),
                              part == nullptr ? "none" : describe_json(*part));
    text += part->get_ref<const std::string&>();
  }
  return Json(std::move(text));
}

// Parses the arguments of each call: a request has them as a string of JSON, chat templates expect
// an object.
Status read_tool_calls(Json& calls, const Place& place, WorkBudget* budget) {
  if (!calls.is_array())
    return invalid_argument("[{}] expected a list, got {}", place.inside(".tool_calls"),
                            describe_json(calls));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ANEMONE_RETURN_IF_ERROR(pay(budget, kUnitsPerItem));
    Json* function = json_member(calls[i], "function");
    const Json* name = function == nullptr ? nullptr : json_member(*function, "name");
    if (name == nullptr || !name->is_string())
      return invalid_argument(
          "[{}] expected an object with \"function\": {{\"name\": \"...\"}}, got {}",
          place.inside(fmt::format(".tool_calls[{}]", i)), describe_json(calls[i]));
    Json* arguments = json_member(*function, "arguments");
    if (arguments == nullptr || !arguments->is_string()) continue;
    auto parsed = parse_json(arguments->get_ref<const std::string&>(), "arguments",
                             JsonLimits{.budget = budget});
    // Arguments that are not JSON stay a string, but a budget that is used up ends the request.
    if (budget != nullptr) ANEMONE_RETURN_IF_ERROR(budget->check());
    if (!parsed.ok()) continue;
    const JsonReleaser releaser(*parsed);
    if (parsed->is_object()) *arguments = *std::move(parsed);
  }
  return {};
}

// The reasoning of an earlier answer: templates look for it as reasoning_content or as thinking.
// gpt-oss's refuses the latter beside both content and calls, and never shows it without calls.
void name_reasoning(Json& message) {
  const Json* reasoning = json_member(message, "reasoning_content");
  if (reasoning == nullptr || !reasoning->is_string() || message.contains("thinking")) return;
  const Json* content = json_member(message, "content");
  const bool has_content = content != nullptr && *content != "";
  if (has_content && json_member(message, "tool_calls") != nullptr) return;
  append_member(message, "thinking", Json(*reasoning));
}

// The id of the call that message `index` makes: nine letters and digits, as Mistral's templates
// demand.
std::string call_id(std::size_t index) {
  return fmt::format("call{:05d}", index % 100000);
}

// Makes a list of one tool call of the "function_call" of an earlier answer.
Status wrap_function_call(Json& message, const Place& place) {
  Json* call = json_member(message, "function_call");
  if (call == nullptr) return {};
  if (json_member(message, "tool_calls") != nullptr)
    return invalid_argument("[{}] cannot be combined with \"tool_calls\"",
                            place.inside(".function_call"));
  const Json* name = json_member(*call, "name");
  if (name == nullptr || !name->is_string())
    return invalid_argument("[{}] expected an object with a \"name\", got {}",
                            place.inside(".function_call"), describe_json(*call));
  Json tool = {{"id", call_id(place.message)}, {"type", "function"}};
  append_member(tool, "function", std::move(*call));
  message.erase("function_call");
  message.erase("tool_calls");  // null, if it is there
  Json calls = Json::array();
  calls.push_back(std::move(tool));
  append_member(message, "tool_calls", std::move(calls));
  return {};
}

// Makes a message of a tool of the result of a function; `answered` is the message with the call.
Status wrap_function_result(Json& message, const Place& place, std::size_t answered) {
  const Json* name = json_member(message, "name");
  if (name == nullptr || !name->is_string())
    return invalid_argument("[{}] expected the name of a function, got {}", place.inside(".name"),
                            name == nullptr ? "none" : describe_json(*name));
  message["role"] = "tool";
  if (json_member(message, "content") == nullptr) set_member(message, "content", "");
  set_member(message, "tool_call_id", call_id(answered));
  return {};
}

// `last_call` is the message with the last "function_call" before this one, or 0; becomes this one
// where it has one.
Status read_message(Json& message, std::size_t index, std::size_t& last_call, WorkBudget* budget) {
  const Place place = {index};
  if (!message.is_object())
    return invalid_argument("[{}] expected an object, got {}", place.inside(""),
                            describe_json(message));
  ANEMONE_RETURN_IF_ERROR(pay(budget, kUnitsPerItem + message.size()));
  Json* role = json_member(message, "role");
  const bool is_role =
      role != nullptr && role->is_string() &&
      std::ranges::any_of(kRoles, [&](const char* known) { return *role == known; });
  if (!is_role)
    return invalid_argument("[{}] expected one of {}, got {}", place.inside(".role"),
                            fmt::join(kRoles, ", "),
                            role == nullptr ? "none" : describe_json(*role));
  const bool is_assistant = *role == "assistant";
  // "developer" is the newer name of the role that chat templates call "system".
  if (*role == "developer") *role = "system";
  if (*role == "function") {
    ANEMONE_RETURN_IF_ERROR(wrap_function_result(message, place, last_call));
  } else if (is_assistant && json_member(message, "function_call") != nullptr) {
    ANEMONE_RETURN_IF_ERROR(wrap_function_call(message, place));
    last_call = index;
  }
  Json* calls = json_member(message, "tool_calls");
  if (calls != nullptr) ANEMONE_RETURN_IF_ERROR(read_tool_calls(*calls, place, budget));
  if (is_assistant) name_reasoning(message);
  Json* content = json_member(message, "content");
  if (content == nullptr) {
    if (!is_assistant)
      return invalid_argument("[{}] expected a string, got none", place.inside(".content"));
    // Templates look for markers in the text, which none of their tests of null would survive.
    message["content"] = "";
  } else if (content->is_array()) {
    ANEMONE_ASSIGN_OR_RETURN(Json text, join_parts(*content, place, budget));
    release_json(*content);
    *content = std::move(text);
  } else if (!content->is_string()) {
    return invalid_argument("[{}] expected a string or a list of parts, got {}",
                            place.inside(".content"), describe_json(*content));
  }
  return {};
}

void read_logprobs(JsonFields& fields, Generation& generation) {
  const bool is_on = fields.boolean("logprobs").value_or(false);
  const auto top = fields.integer("top_logprobs", 0, kMaxTopLogprobs);
  if (is_on)
    generation.top_logprobs = top.value_or(0);
  else if (top.value_or(0) > 0)
    fields.fail(invalid_argument("[top_logprobs] works only together with \"logprobs\": true"));
}

}  // namespace

Result<Json> read_messages(Json* messages, WorkBudget* budget) {
  if (messages == nullptr || !messages->is_array() || messages->empty())
    return invalid_argument("[messages] expected a list of at least one message, got {}",
                            messages == nullptr    ? "none"
                            : messages->is_array() ? "an empty one"
                                                   : describe_json(*messages));
  std::size_t last_call = 0;
  for (std::size_t i = 0; i < messages->size(); ++i)
    ANEMONE_RETURN_IF_ERROR(read_message((*messages)[i], i, last_call, budget));
  return std::move(*messages);
}

Result<ChatRequest> parse_chat_request(std::string_view body, WorkBudget* budget) {
  return read_body<ChatRequest>(body, budget, [budget](JsonFields& fields, ChatRequest& out) {
    out.generation = read_generation(fields, /*least_tokens=*/1);
    read_logprobs(fields, out.generation);
    if (auto messages = read_messages(fields.member("messages"), budget); messages.ok())
      out.messages = *std::move(messages);
    else
      fields.fail(messages.status());
    if (Json* more = fields.member("chat_template_kwargs")) {
      if (more->is_object())
        out.variables = std::move(*more);
      else
        fields.fail(invalid_argument("[chat_template_kwargs] expected an object, got {}",
                                     describe_json(*more)));
    }
    read_reasoning_options(fields, out.variables);
    read_tools(fields, out, budget);
  });
}

}  // namespace anemone::serve::openai
