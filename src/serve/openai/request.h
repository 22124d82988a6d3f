// SPDX-License-Identifier: Apache-2.0
// Requests of the OpenAI API as values. The functions that parse them are pure: they know no model
// and no socket.
// Fields that we do not know are ignored, as clients expect; fields that we know and cannot honour
// are refused when leaving them out would change the answer (kUnsupported).
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/json_release.h"
#include "base/work_budget.h"
#include "engine/chat/truncation.h"
#include "engine/constraint/answer_form.h"
#include "engine/embedding/pooling.h"
#include "engine/generation/text_request.h"
#include "serve/model_choice.h"
#include "text/tools/tool_set.h"

namespace anemone::serve::openai {

// A request for more is refused: one small request must not mean hours of work.
inline constexpr std::int64_t kMaxChoices = 16;
inline constexpr std::size_t kMaxPrompts = 64;
inline constexpr std::size_t kMaxTexts = 128;    // choices of all prompts
inline constexpr std::size_t kMaxInputs = 2048;  // texts to embed or to label, as at OpenAI
inline constexpr std::int64_t kMaxTopLogprobs = 20;
inline constexpr std::size_t kMaxTools = 128;
inline constexpr std::size_t kMaxToolNameBytes = 128;
inline constexpr std::size_t kMaxStops = 4;
inline constexpr std::size_t kMaxStopBytes = 1024;  // of each: they are looked for at every token

// What both protocols ask for.
struct Generation : engine::TextRequest, ModelChoice {
  std::int64_t choices = 1;  // "n"
  bool is_stream = false;
  bool has_stream_usage = false;
  engine::Truncation truncation = engine::Truncation::kError;
};

// Move-only: its documents may be large.
struct ChatRequest {
  ChatRequest() = default;
  ChatRequest(ChatRequest&&) = default;
  ChatRequest& operator=(ChatRequest&&) = delete;
  ~ChatRequest() {
    release_json(messages);
    release_json(variables);
  }

  Generation generation;
  Json messages;                    // as the chat template takes them: contents are text or null
  Json variables = Json::object();  // more for the template: "tools" and chat_template_kwargs
  // The functions of the request, and those of them that an answer that has to follow a grammar may
  // call; null unless `calls` allows some.
  std::shared_ptr<const text::ToolSet> tools;
  std::shared_ptr<const text::ToolSet> callable;
  engine::AnswerForm::Calls calls = engine::AnswerForm::Calls::kNone;
  bool is_parallel = true;  // false: at most one call
  // The functions came as "functions", which "tools" replaced at OpenAI: the answer has its call as
  // "function_call".
  bool has_functions = false;
};

// A text, or token ids.
using Prompt = std::variant<std::string, std::vector<std::int32_t>>;

struct CompletionRequest {
  Generation generation;
  std::vector<Prompt> prompts;
  bool is_echo = false;  // the answer begins with the prompt
};

// The vectors of texts; the request of /v1/embeddings.
struct EmbeddingRequest : ModelChoice {
  std::vector<Prompt> inputs;
  std::optional<std::int64_t> dimensions;  // of the vectors, cut to the first ones
  std::optional<engine::Pooling> pooling;
  bool is_base64 = false;  // little-endian fp32 in base64 instead of numbers
};

// The labels of the tokens of texts; the request of /v1/classify.
struct ClassifyRequest : ModelChoice {
  std::vector<Prompt> inputs;
};

// The request of /models/load and /models/unload.
using ModelRequest = ModelChoice;

// The messages of a chat as its template takes them: parts of text are joined, the role developer
// is system, the arguments of tool calls are objects. A "function_call" becomes a tool call, and a
// message of the role "function" that of a tool. `messages` may be null; otherwise it is moved
// from. The budget (or null) pays for the arguments, which are JSON in a text.
Result<Json> read_messages(Json* messages, WorkBudget* budget);

// `body` is the text of the request, whose budget may be null.
Result<ChatRequest> parse_chat_request(std::string_view body, WorkBudget* budget = nullptr);
Result<CompletionRequest> parse_completion_request(std::string_view body,
                                                   WorkBudget* budget = nullptr);
Result<EmbeddingRequest> parse_embedding_request(std::string_view body,
                                                 WorkBudget* budget = nullptr);
Result<ClassifyRequest> parse_classify_request(std::string_view body, WorkBudget* budget = nullptr);
Result<ModelRequest> parse_model_request(std::string_view body, WorkBudget* budget = nullptr);

}  // namespace anemone::serve::openai
