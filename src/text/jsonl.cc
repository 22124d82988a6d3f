// SPDX-License-Identifier: Apache-2.0
#include "text/jsonl.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "text/text_work.h"

namespace anemone::text {
namespace {

constexpr std::string_view kSubject = "request";
constexpr std::size_t kAnswerBytes = 32;  // of memory for an id in the answer

Json error_answer(const Status& status) {
  return Json{{"error", status.message()}};
}

Result<Json> tokenize(const Tokenizer& tokenizer, const Json& request) {
  if (!request.is_object())
    return invalid_argument("[{}] expected an object, got {}", kSubject, request.type_name());
  ANEMONE_ASSIGN_OR_RETURN(const auto text, json_string(request, "text", kSubject));
  ANEMONE_ASSIGN_OR_RETURN(const auto add_special, json_bool(request, "add_special", kSubject));
  ANEMONE_ASSIGN_OR_RETURN(const auto parse_special, json_bool(request, "parse_special", kSubject));
  if (!text) return invalid_argument("[{}] expected text, got none", kSubject);
  WorkBudget work("text", text_limits(text->size()));
  const EncodeOptions options{add_special.value_or(false), parse_special.value_or(true), &work};
  ANEMONE_ASSIGN_OR_RETURN(const auto ids, tokenizer.encode(*text, options));
  ANEMONE_RETURN_IF_ERROR(work.take(ids.size() * kAnswerBytes));
  ANEMONE_ASSIGN_OR_RETURN(std::string decoded, tokenizer.decode(ids, false, &work));
  return Json{{"ids", ids}, {"text", std::move(decoded)}};
}

Result<Json> render(const ChatTemplate& chat_template, const Json& request) {
  if (!request.is_object())
    return invalid_argument("[{}] expected an object, got {}", kSubject, request.type_name());
  const Json* messages = json_member(request, "messages");
  if (messages == nullptr || !messages->is_array())
    return invalid_argument("[{}] expected a list of messages", kSubject);
  const Json* tools = json_member(request, "tools");
  const Json* kwargs = json_member(request, "kwargs");
  if (kwargs != nullptr && !kwargs->is_object())
    return invalid_argument("[{}] expected kwargs to be an object, got {}", kSubject,
                            kwargs->type_name());
  ANEMONE_ASSIGN_OR_RETURN(const auto prompt,
                           json_bool(request, "add_generation_prompt", kSubject));
  ANEMONE_ASSIGN_OR_RETURN(const auto now, json_string(request, "now", kSubject));
  Json context = kwargs != nullptr ? *kwargs : Json::object();
  context["messages"] = *messages;
  context["tools"] = tools != nullptr ? *tools : Json();
  context["add_generation_prompt"] = prompt.value_or(false);
  RenderOptions options;
  if (now) {
    ANEMONE_ASSIGN_OR_RETURN(options.now, jinja::parse_civil_time(*now));
  }
  ANEMONE_ASSIGN_OR_RETURN(std::string text, chat_template.render(context, options));
  return Json{{"text", std::move(text)}};
}

}  // namespace

Json tokenize_line(const Tokenizer& tokenizer, const Json& request) {
  auto answer = tokenize(tokenizer, request);
  return answer.ok() ? std::move(*answer) : error_answer(answer.status());
}

Json render_line(const ChatTemplate& chat_template, const Json& request) {
  auto answer = render(chat_template, request);
  return answer.ok() ? std::move(*answer) : error_answer(answer.status());
}

}  // namespace anemone::text
