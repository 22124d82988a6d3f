// SPDX-License-Identifier: Apache-2.0
#include "serve/llamacpp/completion_job.h"

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
      room_(responder_, "use \"stream\"") {
  plan_.options.cancel = cancel_.get();
  completion_.model = plan_.name;
  completion_.has_tokens = plan_.returns_tokens;
}

Status CompletionJob::hold_plan() {
  return charge(plan_.prompt.size() * sizeof(std::int32_t));
}

Status CompletionJob::charge(std::size_t bytes) {
  Status status = room_.charge(bytes);
  if (!status.ok()) cancel();
  return status;
}

engine::Request CompletionJob::request() {
  engine::Request request;
  request.model = plan_.model;
  engine::Choice& choice = request.choices.emplace_back();
  choice.prompt = plan_.prompt;
  choice.options = plan_.options;
  // The callbacks hold the job; on_end is called last.
  const auto self = shared_from_this();
  choice.options.on_prefill_progress = [self](std::int64_t /*done*/, std::int64_t /*total*/) {
    self->begin();
  };
  choice.options.on_piece = [self](const engine::TextPiece& piece) { return self->take(piece); };
  if (plan_.is_stream)
    choice.options.is_paused = [responder = responder_] { return responder->is_backed_up(); };
  choice.on_end = [self](const Result<engine::GenerateResult>& result) { self->end(result); };
  return request;
}

void CompletionJob::begin() {
  if (!plan_.is_stream || std::exchange(has_begun_, true)) return;
  responder_->begin_stream({200, openai::stream_headers(headers_), ""});
}

Status CompletionJob::take(const engine::TextPiece& piece) {
  begin();
  if (!plan_.is_stream) {
    ANEMONE_RETURN_IF_ERROR(charge(kBytesPerByte * piece.text.size() + kBytesPerToken));
    completion_.content += piece.text;
    return {};
  }
  // A token may give no text of its own: half a character, or the beginning of a stop string.
  if (piece.is_token) waiting_ids_.push_back(piece.id);
  if (piece.text.empty()) return {};
  const bool is_sent = responder_->write(openai::event(piece_json(piece.text, waiting_ids_)));
  waiting_ids_.clear();
  if (is_sent) return {};
  cancel();
  return room_.overdraw();
}

void CompletionJob::end(const Result<engine::GenerateResult>& result) {
  if (!room_.status().ok()) return fail(room_.status());
  if (!result.ok()) return fail(result.status());
  if (result->finish == engine::FinishReason::kCancelled)
    return fail(cancelled("[request] was cancelled before its answer was complete"));
  begin();
  if (completion_.has_tokens && !plan_.is_stream) completion_.tokens = result->ids;
  const Json answer = completion_json(completion_, *result, plan_.options);
  if (plan_.is_stream) return responder_->end(openai::event(answer));
  responder_->respond(openai::json_response(answer, headers_));
}

void CompletionJob::fail(const Status& status) {
  const openai::ApiError error = openai::api_error(status);
  if (!has_begun_) return responder_->respond(openai::error_response(error, headers_));
  responder_->end(openai::event(openai::to_json(error)));
}

}  // namespace anemone::serve::llamacpp
