// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "text/utf8.h"

namespace anemone::serve::openai {
namespace {

bool is_chat(const AnswerHead& head) {
  return head.protocol == Protocol::kChat;
}

// The token as a text; part of a character as OpenAI writes it: "bytes:\\xc3".
std::string token_text(const std::string& bytes) {
  if (text::is_valid_utf8(bytes)) return bytes;
  std::string out = "bytes:";
  for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return out;
}

Json bytes_json(const std::string& bytes) {
  Json out = Json::array();
  for (const char byte : bytes) out.push_back(static_cast<unsigned char>(byte));
  return out;
}

// {"content": [{"token", "logprob", "bytes", "top_logprobs"}]}.
Json chat_logprobs(const ScoredTokens& tokens) {
  const auto entry = [](const std::string& bytes, double logprob) {
    return Json{{"token", token_text(bytes)}, {"logprob", logprob}, {"bytes", bytes_json(bytes)}};
  };
  Json content = Json::array();
  for (const ScoredToken& token : tokens) {
    Json item = entry(token.bytes, token.logprob.value_or(0));
    item["top_logprobs"] = Json::array();
    for (const auto& [bytes, logprob] : token.top)
      item["top_logprobs"].push_back(entry(bytes, logprob));
    content.push_back(std::move(item));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}: lists of one length.
Json text_logprobs(const ScoredTokens& tokens) {
  Json texts = Json::array(), logprobs = Json::array(), tops = Json::array(),
       offsets = Json::array();
  for (const ScoredToken& token : tokens) {
    texts.push_back(token_text(token.bytes));
    logprobs.push_back(token.logprob ? Json(*token.logprob) : Json(nullptr));
    Json top = token.logprob ? Json::object() : Json(nullptr);
    // Different tokens may have one text; the more likely one is shown.
    for (const auto& [bytes, logprob] : token.top)
      if (const std::string text = token_text(bytes); !top.contains(text)) top[text] = logprob;
    tops.push_back(std::move(top));
    offsets.push_back(token.offset);
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

Json logprobs_json(const AnswerHead& head, const std::optional<ScoredTokens>& tokens) {
  if (!tokens) return nullptr;
  return is_chat(head) ? chat_logprobs(*tokens) : text_logprobs(*tokens);
}

Json message_json(const AnswerHead& head, const Choice& choice) {
  // OpenAI's clients tell a call by its content, which is null.
  const bool has_content = !choice.text.empty() || choice.calls.empty();
  Json out = {{"role", "assistant"},
              {"content", has_content ? Json(choice.text) : Json(nullptr)},
              {"refusal", nullptr}};
  if (!choice.reasoning.empty()) out["reasoning_content"] = choice.reasoning;
  if (head.has_function_call) {
    if (!choice.calls.empty())
      out["function_call"] = {{"name", choice.calls.front().name},
                              {"arguments", choice.calls.front().arguments}};
    return out;
  }
  for (const ToolCall& call : choice.calls)
    out["tool_calls"].push_back(
        {{"id", call.id},
         {"type", "function"},
         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  return out;
}

// The first piece of a call has its id and name, the others more of its arguments.
Json function_delta_json(const ToolCall& call) {
  Json out = Json::object();
  if (!call.id.empty()) out["name"] = call.name;
  out["arguments"] = call.arguments;
  return out;
}

Json call_delta_json(const ToolCall& call) {
  Json out = {{"index", call.index}};
  if (!call.id.empty()) {
    out["id"] = call.id;
    out["type"] = "function";
  }
  out["function"] = function_delta_json(call);
  return out;
}

Json head_json(const AnswerHead& head, const char* object) {
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

// Beyond OpenAI, a choice in stages has the counts of their tokens.
void add_stages(const std::optional<engine::StageCounts>& stages, Json& choice) {
  if (stages) choice["structured_cot"] = engine::stage_counts_json(*stages);
}

}  // namespace

std::string_view wire_finish_reason(const AnswerHead& head, engine::FinishReason reason,
                                    bool has_calls) {
  if (reason == engine::FinishReason::kLength) return "length";
  if (!has_calls) return "stop";
  return head.has_function_call ? "function_call" : "tool_calls";
}

Json usage_json(const Usage& usage) {
  Json out = {{"prompt_tokens", usage.prompt_tokens},
              {"completion_tokens", usage.completion_tokens},
              {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
              {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
  if (usage.truncated_tokens > 0) out["truncated_tokens"] = usage.truncated_tokens;
  if (usage.accepted_tokens + usage.rejected_tokens > 0)
    out["completion_tokens_details"] = {{"accepted_prediction_tokens", usage.accepted_tokens},
                                        {"rejected_prediction_tokens", usage.rejected_tokens}};
  return out;
}

Json choice_json(const AnswerHead& head, const Choice& choice) {
  Json out = {{"index", choice.index}};
  if (is_chat(head))
    out["message"] = message_json(head, choice);
  else
    out["text"] = choice.text;
  out["logprobs"] = logprobs_json(head, choice.tokens);
  out["finish_reason"] = wire_finish_reason(head, choice.finish, !choice.calls.empty());
  add_stages(choice.stages, out);
  return out;
}

std::string answer_text(const AnswerHead& head, const std::vector<std::string>& choices,
                        const Usage& usage) {
  std::string out =
      dump_json(head_json(head, is_chat(head) ? "chat.completion" : "text_completion"));
  out.pop_back();  // the brace
  return out + fmt::format(R"(,"choices":[{}],"usage":{}}})", fmt::join(choices, ","),
                           dump_json(usage_json(usage)));
}

Json chunk_json(const AnswerHead& head, const Delta& delta, bool has_usage) {
  Json out = head_json(head, is_chat(head) ? "chat.completion.chunk" : "text_completion");
  Json item = {{"index", delta.index}};
  if (is_chat(head)) {
    Json& part = item["delta"] = Json::object();
    if (delta.is_first) part["role"] = "assistant";
    if (!delta.reasoning.empty()) part["reasoning_content"] = delta.reasoning;
    if (delta.call && head.has_function_call)
      part["function_call"] = function_delta_json(*delta.call);
    else if (delta.call)
      part["tool_calls"] = Json::array({call_delta_json(*delta.call)});
    // The last chunk of a choice has nothing at all.
    if (!delta.text.empty() || !(delta.finish || delta.call || !delta.reasoning.empty()))
      part["content"] = delta.text;
  } else {
    item["text"] = delta.text;
  }
  item["logprobs"] = logprobs_json(head, delta.tokens);
  item["finish_reason"] =
      delta.finish ? Json(wire_finish_reason(head, *delta.finish, delta.has_calls)) : Json(nullptr);
  add_stages(delta.stages, item);
  out["choices"] = Json::array({std::move(item)});
  if (has_usage) out["usage"] = nullptr;
  return out;
}

Json usage_chunk_json(const AnswerHead& head, const Usage& usage) {
  Json out = head_json(head, is_chat(head) ? "chat.completion.chunk" : "text_completion");
  out["choices"] = Json::array();
  out["usage"] = usage_json(usage);
  return out;
}

std::string event(const Json& data) {
  return event(std::string_view(dump_json(data)));
}

std::string event(std::string_view json) {
  return fmt::format("data: {}\n\n", json);
}

Json model_json(const std::string& name, std::int64_t created) {
  return {{"id", name}, {"object", "model"}, {"created", created}, {"owned_by", "anemone"}};
}

}  // namespace anemone::serve::openai
