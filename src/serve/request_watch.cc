// SPDX-License-Identifier: Apache-2.0
#include "serve/request_watch.h"

#include <chrono>
#include <optional>
#include <utility>

namespace anemone::serve {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What the choices of one request share. The thread of the engine's turns uses it.
struct Watch {
  std::shared_ptr<Responder> responder;
  ModelMetrics& metrics;
  AnswerNotes notes;
  Clock::time_point start = Clock::now();
  std::size_t open = 0;  // choices that have not ended
  RequestEnd end = RequestEnd::kStop;
};

// The tokens of one choice as they come. A piece may be one more than there are tokens, the last
// one, with the text that was held back: its time is no time of a token.
struct Pace {
  std::int64_t pieces = 0;
  Clock::time_point last;
  std::optional<double> unsure;  // the time before the last piece

  void piece(const Watch& watch) {
    const auto now = Clock::now();
    if (unsure) watch.metrics.next_token(*std::exchange(unsure, std::nullopt));
    if (pieces == 0)
      watch.metrics.first_token(std::chrono::duration<double>(now - watch.start).count());
    else
      unsure = std::chrono::duration<double>(now - last).count();
    ++pieces;
    last = now;
  }
};

RequestEnd end_of(const Result<engine::GenerateResult>& result) {
  if (!result.ok())
    return result.status().code() == Code::kCancelled ? RequestEnd::kAbort : RequestEnd::kError;
  switch (result->finish) {
    case engine::FinishReason::kLength:
      return RequestEnd::kLength;
    case engine::FinishReason::kCancelled:
      return RequestEnd::kAbort;
    default:
      return RequestEnd::kStop;
  }
}

void choice_ended(Watch& watch, const Pace& pace, bool is_first,
                  const Result<engine::GenerateResult>& result) {
  if (result.ok()) {
    const engine::Timing& timing = result->timing;
    if (pace.unsure && pace.pieces <= timing.new_tokens) watch.metrics.next_token(*pace.unsure);
    const std::int64_t prompt = is_first ? timing.prompt_tokens : 0;
    const std::int64_t cached = is_first ? timing.reused_tokens : 0;
    watch.metrics.text_ended(prompt, cached, timing.new_tokens);
    watch.notes.prompt_tokens += prompt;
    watch.notes.cached_tokens += cached;
    watch.notes.completion_tokens += timing.new_tokens;
  }
  // The answer is as bad as the worst of its texts.
  watch.end = std::max(watch.end, end_of(result));
  --watch.open;
  watch.responder->note(watch.notes);
  if (watch.open == 0) watch.metrics.request_ended(watch.end, seconds_since(watch.start));
}

}  // namespace

void watch_request(engine::Request& request, std::int64_t choices, const std::string& model,
                   const std::shared_ptr<Responder>& responder, ModelMetrics& metrics) {
  AnswerNotes notes;
  notes.model = model;
  const auto watch = std::make_shared<Watch>(Watch{responder, metrics, std::move(notes)});
  watch->open = request.choices.size();
  for (std::size_t i = 0; i < request.choices.size(); ++i) {
    engine::Choice& choice = request.choices[i];
    const auto pace = std::make_shared<Pace>();
    const bool is_first = i % static_cast<std::size_t>(choices) == 0;
    choice.options.on_piece = [watch, pace, inner = std::move(choice.options.on_piece)](
                                  const engine::TextPiece& piece) -> Status {
      pace->piece(*watch);
      return inner ? inner(piece) : Status();
    };
    // Before the inner one, which sends the answer.
    choice.on_end = [watch, pace, is_first,
                     inner = std::move(choice.on_end)](Result<engine::GenerateResult> result) {
      choice_ended(*watch, *pace, is_first, result);
      inner(std::move(result));
    };
  }
}

}  // namespace anemone::serve
