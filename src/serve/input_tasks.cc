// SPDX-License-Identifier: Apache-2.0
#include "serve/input_tasks.h"

#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "engine/labels/label_spans.h"
#include "serve/answer_room.h"
#include "serve/openai/embedding_answer.h"
#include "serve/openai/response.h"
#include "text/text_work.h"

namespace anemone::serve {
namespace {

using Clock = std::chrono::steady_clock;

// Memory of the answer for one token: its id, label and score, and its piece; and that of a span,
// as a value of five members and as its text, where each token may be one.
constexpr std::size_t kBytesPerToken = 200;
constexpr std::size_t kBytesPerSpan = 700;
// Memory for one byte of an input: the input, its pieces together, the texts of the spans, and
// those once more as the text of JSON, which escapes a byte by up to six.
constexpr std::size_t kBytesPerTextByte = 9;

Status hold(const InputTask& task, std::size_t bytes) {
  for (const auto& ids : task.inputs) bytes += ids.size() * sizeof(std::int32_t);
  if (task.responder->hold(bytes)) return {};
  return no_room_for_answer("send fewer inputs at a time");
}

// Sends the answer, and tells the metrics and the log of it.
void finish(const InputTask& task, std::int64_t tokens, Clock::time_point start,
            Result<std::string> body) {
  const bool is_cancelled = !body.ok() && body.status().code() == Code::kCancelled;
  task.metrics->request_ended(body.ok()      ? RequestEnd::kStop
                              : is_cancelled ? RequestEnd::kAbort
                                             : RequestEnd::kError,
                              std::chrono::duration<double>(Clock::now() - start).count());
  AnswerNotes notes;
  notes.model = task.name;
  if (body.ok()) {
    notes.prompt_tokens = tokens;
    task.metrics->inputs_read(tokens);
  }
  task.responder->note(std::move(notes));
  if (!body.ok())
    return task.responder->respond(
        openai::error_response(openai::api_error(body.status()), task.headers));
  task.responder->respond(openai::json_text_response(*std::move(body), task.headers));
}

template <typename EngineRequest>
std::optional<openai::ApiError> submit(engine::Engine& engine, EngineRequest request,
                                       const std::shared_ptr<Responder>& responder) {
  const Status status =
      submit_for(responder, engine, std::move(request), std::make_shared<std::atomic<bool>>(false));
  if (!status.ok()) return openai::api_error(status);
  return std::nullopt;
}

Result<std::string> labels_text(const InputTask& task, const std::vector<std::string>& texts,
                                const engine::LabelRequest::Logits& logits, std::int64_t tokens) {
  const auto& inputs = task.inputs;
  const std::vector<std::string>& names = task.model->manifest().labels;
  const text::Tokenizer* tokenizer = task.model->tokenizer().get();
  WorkBudget work("answer", text::kAnswerLimits);
  Json data = Json::array();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto scored = engine::score_labels(logits[i], names.size());
    std::vector<std::string> pieces(scored.size());
    Json labels = Json::array(), scores = Json::array();
    for (std::size_t t = 0; t < scored.size(); ++t) {
      labels.push_back(names[scored[t].label]);
      scores.push_back(scored[t].score);
      if (tokenizer == nullptr || tokenizer->is_special(inputs[i][t])) continue;
      ANEMONE_ASSIGN_OR_RETURN(pieces[t], tokenizer->token_bytes(inputs[i][t], work));
    }
    const auto spans = engine::spans_of(scored, names);
    data.push_back({{"object", "classification"},
                    {"index", i},
                    {"spans", engine::spans_json(spans, {texts[i], pieces})},
                    {"ids", inputs[i]},
                    {"labels", std::move(labels)},
                    {"scores", std::move(scores)}});
  }
  return dump_json({{"object", "list"},
                    {"model", task.name},
                    {"data", std::move(data)},
                    {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
}

}  // namespace

std::int64_t InputTask::tokens() const {
  std::int64_t count = 0;
  for (const auto& ids : inputs) count += std::ssize(ids);
  return count;
}

std::optional<openai::ApiError> start_embedding(engine::Engine& engine, InputTask task,
                                                const EmbeddingForm& form) {
  if (const Status status = hold(
          task,
          openai::embedding_answer_bytes(
              task.inputs.size(), static_cast<std::size_t>(task.model->manifest().hidden_size)));
      !status.ok())
    return openai::api_error(status);
  const std::int64_t tokens = task.tokens();
  engine::EmbedRequest request;
  request.model = task.model;
  request.pooling = form.pooling;
  request.texts = std::move(task.inputs);
  const auto responder = task.responder;
  request.on_end = [task = std::move(task), form, tokens,
                    start = Clock::now()](Result<engine::EmbedRequest::Embeddings> result) {
    if (!result.ok()) return finish(task, tokens, start, result.status());
    for (std::vector<float>& embedding : *result)
      if (form.dimensions < embedding.size()) engine::shorten_embedding(embedding, form.dimensions);
    finish(task, tokens, start,
           openai::embedding_answer_text(*result, task.name, tokens, form.is_base64));
  };
  return submit(engine, std::move(request), responder);
}

std::optional<openai::ApiError> start_labelling(engine::Engine& engine, InputTask task,
                                                std::vector<std::string> texts) {
  const std::int64_t tokens = task.tokens();
  const std::size_t per_token =
      kBytesPerToken + kBytesPerSpan + task.model->manifest().labels.size() * sizeof(float);
  std::size_t bytes = static_cast<std::size_t>(tokens) * per_token;
  for (const std::string& text : texts) bytes += text.size() * kBytesPerTextByte;
  if (const Status status = hold(task, bytes); !status.ok()) return openai::api_error(status);
  engine::LabelRequest request;
  request.model = task.model;
  request.texts = task.inputs;
  const auto responder = task.responder;
  request.on_end = [task = std::move(task), texts = std::move(texts), tokens,
                    start = Clock::now()](const Result<engine::LabelRequest::Logits>& result) {
    if (!result.ok()) return finish(task, tokens, start, result.status());
    finish(task, tokens, start, labels_text(task, texts, *result, tokens));
  };
  return submit(engine, std::move(request), responder);
}

}  // namespace anemone::serve
