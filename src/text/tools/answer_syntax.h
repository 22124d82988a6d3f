// SPDX-License-Identifier: Apache-2.0
// How a family of models writes the parts of an answer: its reasoning, its text and its calls of
// tools. Nothing in a model's folder names the syntax; it is read off the chat template, which
// shows the model its own earlier calls, or tells it how to write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace anemone::text {

// Each syntax has the template that it was taken from.
enum class CallSyntax : std::uint8_t {
  kNone,
  // <tool_call>{"name": "f", "arguments": {...}}</tool_call> for each call. Hermes 2 Pro,
  // Qwen2.5-7B-Instruct, Qwen3-0.6B.
  kHermes,
  // <tool_call><function=f><parameter=a>value</parameter></function></tool_call> for each call.
  // Qwen3-Coder, Qwen3.5-4B.
  kQwenXml,
  // The answer is {"name": "f", "parameters": {...}}, perhaps after <|python_tag|>; further calls
  // follow a semicolon. Llama-3.1-8B-Instruct, Llama-3.2-3B-Instruct.
  kLlama,
  // [TOOL_CALLS][{"name": "f", "arguments": {...}}, ...]. Mistral-Nemo-Instruct-2407.
  kMistralList,
  // [TOOL_CALLS]f[CALL_ID]123456789[ARGS]{...} for each call; [CALL_ID] may be absent.
  // Mistral-Small-3.2-24B-Instruct-2506.
  kMistralNamed,
  // <|tool_call|>[{"name": "f", "arguments": {...}}, ...], where <|/tool_call|> may follow.
  // granite-3.3-2B-Instruct; the tokens <|tool_call|> and <|/tool_call|> of Phi-4-mini-instruct.
  kJsonList,
  // <|channel|>commentary to=functions.f <|constrain|>json<|message|>{...}<|call|>; the recipient
  // may stand before the channel. Reasoning is the channel analysis. gpt-oss-120b.
  kHarmony,
  // <|tool_call>call:f{a:<|"|>text<|"|>,b:1}<tool_call|> for each call. gemma-4-31B-it.
  kGemma,
  // <|tool_call_start|>[f(a="text", b=1)]<|tool_call_end|>. LFM2-8B-A1B, LFM2.5-8B-A1B, and
  // docs.liquid.ai on tool use, which also has a list of JSON objects inside the markers.
  kPython,
};

struct AnswerSyntax {
  CallSyntax calls = CallSyntax::kNone;
  // What the reasoning stands between, <think> and </think> for most; empty where a model gives
  // none. Harmony has channels instead.
  std::string reasoning_open = {};
  std::string reasoning_close = {};

  bool has_reasoning() const { return calls == CallSyntax::kHarmony || !reasoning_close.empty(); }
};

// The syntax of the models that this template belongs to. The tokenizer, which may be null, tells
// whether a model whose template does not mention <think> has tokens for it.
AnswerSyntax find_answer_syntax(std::string_view chat_template, const Tokenizer* tokenizer);

// Whether the template makes anything of the variable `tools`.
bool takes_tools(std::string_view chat_template);
// Whether it takes them only as a text, `tools`, in the system message (Phi-4-mini-instruct).
bool takes_tools_in_message(std::string_view chat_template);

// Whether a prompt that ends like this has begun the reasoning of the answer.
bool opens_reasoning(const AnswerSyntax& syntax, std::string_view prompt);

// The marker that a call begins with, and the one that ends it; empty where there is none.
std::string_view call_open(CallSyntax syntax);
std::string_view call_close(CallSyntax syntax);

// The markers of the syntax that are special tokens of the vocabulary: they have to be decoded as
// text for AnswerParser, and allowed in grammars. `with_calls` false: those of the reasoning alone.
std::vector<std::int32_t> marker_tokens(const AnswerSyntax& syntax, const Tokenizer& tokenizer,
                                        bool with_calls);

}  // namespace anemone::text
