// SPDX-License-Identifier: Apache-2.0
// Answers of the OpenAI API: results to JSON, whole or in chunks. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/generation/generation.h"

namespace anemone::serve::openai {

enum class Protocol { kChat, kText };

// What all parts of one answer share.
struct AnswerHead {
  Protocol protocol = Protocol::kChat;
  std::string id;            // "chatcmpl-..." or "cmpl-..."
  std::int64_t created = 0;  // seconds since 1970
  std::string model;
  // The one call of an answer is its "function_call", as clients of the time before tools expect.
  bool has_function_call = false;
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of them, not run again
  std::int64_t completion_tokens = 0;
  std::int64_t truncated_tokens =
      0;  // that were left out of the prompts; said where there are some
  // Tokens that were proposed: those that became part of a text, and the others.
  std::int64_t accepted_tokens = 0;
  std::int64_t rejected_tokens = 0;
};

// A token and how likely the model found it. Token texts are bytes: a token may be part of a
// character.
struct ScoredToken {
  std::string bytes;
  std::optional<double> logprob;  // nullopt: the first of a prompt has none
  std::vector<std::pair<std::string, double>> top;
  std::int64_t offset = 0;  // characters of the text before it
};
using ScoredTokens = std::vector<ScoredToken>;

// A call of a function, or in a stream a piece of one.
struct ToolCall {
  std::size_t index = 0;
  std::string id;         // of a piece that is not the first: empty
  std::string name;       // the same
  std::string arguments;  // the text of a JSON object
};

// One of the n texts.
struct Choice {
  std::int64_t index = 0;
  std::string text;
  std::string reasoning;
  std::vector<ToolCall> calls;
  std::optional<ScoredTokens> tokens;  // when log-probabilities were asked for
  engine::FinishReason finish = engine::FinishReason::kStop;
  std::optional<engine::StageCounts> stages;  // of an answer in stages
};

// A piece of one of the texts in a stream.
struct Delta {
  std::int64_t index = 0;
  bool is_first = false;
  std::string text;
  std::string reasoning;
  std::optional<ToolCall> call;
  std::optional<ScoredTokens> tokens;
  std::optional<engine::FinishReason> finish;  // of the last piece
  bool has_calls = false;                      // the same: there were some before
  std::optional<engine::StageCounts> stages;   // the same: of an answer in stages
};

// "stop", "length", or where the answer `has_calls` "tool_calls" or "function_call".
std::string_view wire_finish_reason(const AnswerHead& head, engine::FinishReason reason,
                                    bool has_calls);

Json usage_json(const Usage& usage);
Json choice_json(const AnswerHead& head, const Choice& choice);
// The whole answer as the text of its JSON. Its choices come as the texts of theirs, which take far
// less memory than values do.
std::string answer_text(const AnswerHead& head, const std::vector<std::string>& choices,
                        const Usage& usage);
// `has_usage`: the client asked for it, so that each chunk has the key (null here).
Json chunk_json(const AnswerHead& head, const Delta& delta, bool has_usage);
// The one after the last choice, with nothing but the usage.
Json usage_chunk_json(const AnswerHead& head, const Usage& usage);

// A server-sent event; kStreamEnd is the last one.
std::string event(const Json& data);
std::string event(std::string_view json);  // of the text of such data
inline constexpr const char* kStreamEnd = "data: [DONE]\n\n";

Json model_json(const std::string& name, std::int64_t created);

}  // namespace anemone::serve::openai
