// SPDX-License-Identifier: Apache-2.0
#include "serve/llamacpp/completion_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "serve/openai/answer.h"
#include "serve/openai/response.h"

namespace anemone::serve::llamacpp {
namespace {

// The most memory that a byte of text takes, as a value and, escaped, as the text of its JSON.
constexpr std::size_t kBytesPerByte = 8;
constexpr std::size_t kBytesPerToken = 32;

}  // namespace

CompletionJob::CompletionJob(CompletionPlan plan, std::shared_ptr<Responder> responder,
                             HeaderList headers)
    : plan_(std::move(plan)),
      responder_(std::move(responder)),
      headers_(std::move(headers)),
      room_(responder_, "use \"stream\", or ask for fewer \"n_probs\"") {
  plan_.options.cancel = cancel_.get();
  plan_.options.collects_logprobs = false;  // they are kept here, as the answer has them
  for (std::size_t i = 0; i < plan_.prompts.size(); ++i) {
    Text& text = *texts_.emplace_back(std::make_unique<Text>(*plan_.model->tokenizer(), *cancel_));
    text.completion.index = i;
    text.completion.model = plan_.name;
    text.completion.has_tokens = plan_.returns_tokens;
  }
}

Status CompletionJob::hold_plan() {
  std::size_t bytes = 0;
  for (const auto& prompt : plan_.prompts)
    bytes += sizeof(Text) + prompt.size() * sizeof(std::int32_t);
  return charge(bytes);
}

Status CompletionJob::charge(std::size_t bytes) {
  Status status = room_.charge(bytes);
  if (!status.ok()) cancel();
  return status;
}

Status CompletionJob::charge(Text& text, std::size_t bytes) {
  ANEMONE_RETURN_IF_ERROR(charge(bytes));
  text.charged += bytes;
  return {};
}

void CompletionJob::discharge(Text& text) {
  room_.discharge(std::exchange(text.charged, std::size_t{0}));
}

engine::Request CompletionJob::request() {
  engine::Request request;
  request.model = plan_.model;
  for (std::size_t i = 0; i < texts_.size(); ++i) request.choices.push_back(make_choice(i));
  open_ = texts_.size();
  return request;
}

engine::Choice CompletionJob::make_choice(std::size_t index) {
  engine::Choice choice;
  choice.prompt = plan_.prompts[index];
  choice.options = plan_.options;
  // The callbacks hold the job; on_end is called last.
  const auto self = shared_from_this();
  Text& text = *texts_[index];
  choice.options.on_prefill_progress = [self](std::int64_t /*done*/, std::int64_t /*total*/) {
    self->begin();
  };
  choice.options.on_piece = [self, &text](const engine::TextPiece& piece) {
    return self->take(text, piece);
  };
  if (plan_.is_stream)
    choice.options.is_paused = [responder = responder_] { return responder->is_backed_up(); };
  choice.on_end = [self, &text](const Result<engine::GenerateResult>& result) {
    self->end(text, result);
  };
  return choice;
}

void CompletionJob::begin() {
  if (!plan_.is_stream || has_ended_ || std::exchange(has_begun_, true)) return;
  responder_->begin_stream({200, openai::stream_headers(headers_), ""});
}

Status CompletionJob::take(Text& text, const engine::TextPiece& piece) {
  begin();
  if (piece.logprobs != nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(const openai::ScoredToken scored,
                             text.scorer.score(piece.id, piece.logprobs));
    const std::string entry = dump_json(probability_json(piece.id, *piece.logprobs, scored));
    // Twice, since they are copied into the answer.
    ANEMONE_RETURN_IF_ERROR(charge(text, 2 * entry.size()));
    text.probabilities += (text.probabilities.empty() ? "" : ",") + entry;
  }
  if (plan_.is_stream) return send(text, piece);
  ANEMONE_RETURN_IF_ERROR(charge(text, kBytesPerByte * piece.text.size() + kBytesPerToken));
  text.completion.content += piece.text;
  return {};
}

Status CompletionJob::send(Text& text, const engine::TextPiece& piece) {
  // A token may give no text of its own: half a character, or the beginning of a stop string.
  if (piece.is_token) text.waiting_ids.push_back(piece.id);
  if (piece.text.empty()) return {};
  const Json json = piece_json(text.completion.index, piece.text, text.waiting_ids);
  const bool is_sent =
      responder_->write(openai::event(std::string_view(answer_text(json, text.probabilities))));
  text.waiting_ids.clear();
  text.probabilities.clear();
  discharge(text);
  if (is_sent) return {};
  cancel();
  return room_.overdraw();
}

void CompletionJob::end(Text& text, const Result<engine::GenerateResult>& result) {
  --open_;
  if (has_ended_) return;
  if (!room_.status().ok()) return fail(room_.status());
  if (!result.ok()) return fail(result.status());
  if (result->finish == engine::FinishReason::kCancelled)
    return fail(cancelled("[request] was cancelled before its answer was complete"));
  begin();
  if (const Status status = finish(text, *result); !status.ok()) return fail(status);
  if (open_ == 0) complete();
}

// Ends the answer to one prompt.
Status CompletionJob::finish(Text& text, const engine::GenerateResult& result) {
  if (plan_.is_stream) {
    // complete() sends that of the last text with the end.
    text.answer = openai::event(completion_json(text.completion, result, plan_.options));
    if (open_ == 0 || responder_->write(std::exchange(text.answer, {}))) return {};
    return room_.overdraw();
  }
  if (text.completion.has_tokens) text.completion.tokens = result.ids;
  std::string answer =
      answer_text(completion_json(text.completion, result, plan_.options), text.probabilities);
  text.completion = {};
  text.probabilities = {};
  discharge(text);
  // Twice, since complete() copies all of them into one answer.
  ANEMONE_RETURN_IF_ERROR(charge(text, 2 * answer.size()));
  text.answer = std::move(answer);
  return {};
}

void CompletionJob::complete() {
  has_ended_ = true;
  std::vector<std::string> answers;
  for (const auto& text : texts_) answers.push_back(std::move(text->answer));
  if (plan_.is_stream) return responder_->end(fmt::format("{}", fmt::join(answers, "")));
  std::string body = answers.size() == 1 ? std::move(answers.front())
                                         : fmt::format("[{}]", fmt::join(answers, ","));
  responder_->respond(openai::json_text_response(std::move(body), headers_));
}

void CompletionJob::fail(const Status& status) {
  has_ended_ = true;
  cancel();
  const openai::ApiError error = openai::api_error(status);
  if (!has_begun_) return responder_->respond(openai::error_response(error, headers_));
  responder_->end(openai::event(openai::to_json(error)));
}

}  // namespace anemone::serve::llamacpp
