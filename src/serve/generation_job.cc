// SPDX-License-Identifier: Apache-2.0
#include "serve/generation_job.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <utility>

#include "base/error.h"
#include "serve/openai/api_handler.h"
#include "serve/openai/error.h"
#include "serve/openai/response.h"
#include "serve/token_scorer.h"

namespace anemone::serve {
namespace {

std::int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; });
}

// The most memory that a token with its log-probabilities takes, as a JSON value and as its text
// together. In chats each entry is an object of three members, one of them a list of bytes.
std::size_t cost_of(const openai::ScoredToken& token, openai::Protocol protocol) {
  const bool is_chat = protocol == openai::Protocol::kChat;
  const std::size_t per_entry = is_chat ? 640 : 240;
  const std::size_t per_byte = is_chat ? 64 : 16;
  std::size_t cost = per_entry + per_byte * token.bytes.size();
  for (const auto& [bytes, logprob] : token.top) cost += per_entry + per_byte * bytes.size();
  return cost;
}

// The most memory that a text takes, as a JSON value and, escaped, as the text of that value.
std::size_t cost_of(std::string_view text) {
  return 4 * text.size();
}

// Mistral's templates take ids of 9 letters and digits alone.
std::string new_call_id(text::CallSyntax syntax) {
  std::random_device device;
  const bool is_short =
      syntax == text::CallSyntax::kMistralList || syntax == text::CallSyntax::kMistralNamed;
  if (is_short) return fmt::format("{:09x}", device() | std::uint64_t{device() & 15} << 32);
  return fmt::format("call_{:08x}{:08x}{:08x}", device(), device(), device());
}

}  // namespace

// One choice on its way to the client: collected, or sent piece by piece. The job outlives it.
class GenerationJob::Writer {
 public:
  Writer(GenerationJob& job, const GenerationPlan::Prompt& prompt, std::int64_t index)
      : job_(job), prompt_(prompt), scorer_(*job.plan_.model->tokenizer(), *job.cancel_) {
    choice_.index = index;
    if (job.plan_.options.top_logprobs) choice_.tokens.emplace();
    if (job.plan_.parts) parser_.emplace(*job.plan_.parts);
  }

  // Takes the logits that stand after a position of the prompt.
  Status score_prompt(std::int64_t position, std::span<const float> logits) {
    if (position == 0) {
      ANEMONE_ASSIGN_OR_RETURN(openai::ScoredToken first,
                               scorer_.score(prompt_.ids.front(), nullptr));
      scores_.push_back(std::move(first));
    }
    const auto next = static_cast<std::size_t>(position) + 1;
    if (next >= prompt_.ids.size()) return {};
    const std::int32_t id = prompt_.ids[next];
    // The most likely tokens are picked among the tokenizer's entries. Only a prompt with an id
    // beyond them, of a padding row, needs all logits.
    const auto columns = static_cast<std::size_t>(std::min<std::int64_t>(
        job_.plan_.model->tokenizer()->vocab_size(), job_.plan_.model->vocab_size()));
    const auto known = static_cast<std::size_t>(id) < columns ? logits.first(columns) : logits;
    const auto logprobs = engine::token_logprobs(known, id, *job_.plan_.options.top_logprobs);
    ANEMONE_ASSIGN_OR_RETURN(openai::ScoredToken token, scorer_.score(id, &logprobs));
    scores_.push_back(std::move(token));
    const std::size_t cost = cost_of(scores_.back(), job_.plan_.head.protocol);
    scores_cost_ += cost;
    return job_.charge(cost);
  }

  // The beginning, once the prompt has been read: the role, and what is echoed.
  void begin() {
    if (std::exchange(has_begun_, true)) return;
    job_.begin();
    // put() charges for what is kept, and a stream keeps nothing.
    if (!job_.plan_.is_stream) job_.room_.discharge(scores_cost_);
    for (openai::ScoredToken& token : scores_) {
      token.offset = characters_;
      characters_ += count_characters(token.bytes);
    }
    characters_ = count_characters(prompt_.echo);
    const bool is_chat = job_.plan_.head.protocol == openai::Protocol::kChat;
    if (is_chat || !prompt_.echo.empty()) put(prompt_.echo, std::move(scores_), /*is_first=*/true);
    if (job_.plan_.is_stream) job_.room_.discharge(scores_cost_);
  }

  Status piece(const engine::TextPiece& piece) {
    begin();
    openai::ScoredTokens tokens;
    // The token that ends the text is not given out.
    const bool is_end = !job_.plan_.options.ignore_eos && job_.plan_.model->is_eos(piece.id);
    if (piece.logprobs != nullptr && !is_end) {
      ANEMONE_ASSIGN_OR_RETURN(openai::ScoredToken token, scorer_.score(piece.id, piece.logprobs));
      tokens.push_back(std::move(token));
      tokens.back().offset = characters_;
    }
    characters_ += count_characters(piece.text);
    if (parser_) {
      put(parser_->push(piece.text), std::move(tokens));
    } else if (!piece.text.empty() || !tokens.empty()) {
      put(std::string(piece.text), std::move(tokens), /*is_first=*/false);
    }
    return {};
  }

  // A call was made, and it is the only one that the client wants.
  bool has_call() const { return parser_ && parser_->calls() > 0 && !parser_->is_call_open(); }

  void end(const engine::GenerateResult& result) {
    begin();
    if (parser_) {
      std::vector<text::AnswerEvent> events = parser_->finish();
      // Such an answer has no content: the text is the markup of a call that was cut before its
      // name.
      if (job_.plan_.is_only_calls)
        std::erase_if(events, [](const text::AnswerEvent& event) {
          return event.kind == text::AnswerEvent::Kind::kContent;
        });
      put(events, {});
    }
    choice_.finish = result.finish;
    choice_.stages = result.stages;
    if (!job_.plan_.is_stream) {
      std::string text = dump_json(openai::choice_json(job_.plan_.head, choice_));
      const auto index = static_cast<std::size_t>(choice_.index);
      choice_ = {};
      job_.room_.discharge(std::exchange(charged_, std::size_t{0}));
      // Twice, since complete() copies all choices into one answer at the end.
      if (job_.charge(2 * text.size()).ok()) job_.choices_[index] = std::move(text);
      return;
    }
    openai::Delta delta;
    delta.index = choice_.index;
    delta.finish = choice_.finish;
    delta.stages = choice_.stages;
    delta.has_calls = parser_ && parser_->calls() > 0;
    send(delta);
  }

 private:
  // Tokens belong to the piece that made their text certain, whatever it is a part of.
  void put(const std::vector<text::AnswerEvent>& events, openai::ScoredTokens tokens) {
    for (const text::AnswerEvent& event : events) {
      // Some syntaxes give several calls at once, before the text can end.
      if (job_.plan_.is_single_call && event.call > 0) continue;
      openai::Delta delta;
      switch (event.kind) {
        case text::AnswerEvent::Kind::kContent:
          delta.text = event.text;
          break;
        case text::AnswerEvent::Kind::kReasoning:
          delta.reasoning = event.text;
          break;
        case text::AnswerEvent::Kind::kCallBegin:
          delta.call = {event.call, new_call_id(job_.plan_.parts->syntax.calls), event.text, ""};
          break;
        case text::AnswerEvent::Kind::kArguments:
          delta.call = {event.call, "", "", event.text};
          break;
        case text::AnswerEvent::Kind::kCallEnd:
          continue;
      }
      delta.tokens = std::exchange(tokens, {});
      put(std::move(delta));
    }
    if (!tokens.empty()) put("", std::move(tokens), /*is_first=*/false);
  }

  void put(std::string text, openai::ScoredTokens tokens, bool is_first) {
    openai::Delta delta;
    delta.is_first = is_first;
    delta.text = std::move(text);
    delta.tokens = std::move(tokens);
    put(std::move(delta));
  }

  void put(openai::Delta delta) {
    if (!job_.room_.status().ok()) return;
    if (!job_.plan_.is_stream) return keep(std::move(delta));
    delta.index = choice_.index;
    if (!choice_.tokens || delta.tokens->empty()) delta.tokens.reset();
    send(delta);
  }

  // Adds a piece to the answer that goes out as a whole.
  void keep(openai::Delta delta) {
    std::size_t cost = cost_of(delta.text) + cost_of(delta.reasoning);
    if (delta.call)
      cost += sizeof(*delta.call) + cost_of(delta.call->name) + cost_of(delta.call->arguments);
    for (const openai::ScoredToken& token : *delta.tokens)
      cost += cost_of(token, job_.plan_.head.protocol);
    if (!job_.charge(cost).ok()) return;
    charged_ += cost;
    choice_.text += delta.text;
    choice_.reasoning += delta.reasoning;
    if (delta.call && !delta.call->id.empty())
      choice_.calls.push_back(*std::move(delta.call));
    else if (delta.call)
      choice_.calls.back().arguments += delta.call->arguments;
    if (choice_.tokens) std::ranges::move(*delta.tokens, std::back_inserter(*choice_.tokens));
  }

  void send(const openai::Delta& delta) {
    if (!job_.room_.status().ok()) return;
    if (!job_.responder_->write(
            openai::event(openai::chunk_json(job_.plan_.head, delta, job_.plan_.has_stream_usage))))
      job_.overdraw();
  }

  GenerationJob& job_;
  const GenerationPlan::Prompt& prompt_;
  TokenScorer scorer_;
  openai::Choice choice_;
  std::optional<text::AnswerParser> parser_;
  bool has_begun_ = false;
  openai::ScoredTokens scores_;  // of the prompt, until the text begins
  std::size_t scores_cost_ = 0;  // charged for them
  std::int64_t characters_ = 0;  // of the text so far
  std::size_t charged_ = 0;      // for this choice
};

GenerationJob::GenerationJob(GenerationPlan plan, std::shared_ptr<Responder> responder,
                             HeaderList headers)
    : plan_(std::move(plan)),
      responder_(std::move(responder)),
      headers_(std::move(headers)),
      room_(responder_, "use \"stream\", or ask for fewer \"logprobs\"") {
  plan_.options.cancel = cancel_.get();
  plan_.options.collects_logprobs = false;  // the writers count and keep them
  usage_.truncated_tokens = plan_.truncated_tokens;
}

Status GenerationJob::hold_plan() {
  std::size_t bytes = 0;
  for (const GenerationPlan::Prompt& prompt : plan_.prompts)
    bytes += sizeof(prompt) + prompt.ids.size() * sizeof(std::int32_t) + prompt.echo.size();
  if (plan_.parts && plan_.parts->tools != nullptr) bytes += plan_.parts->tools->byte_size();
  return charge(bytes);
}

Status GenerationJob::charge(std::size_t bytes) {
  Status status = room_.charge(bytes);
  if (!status.ok()) cancel();
  return status;
}

void GenerationJob::overdraw() {
  (void)room_.overdraw();  // which choice_ended() finds
  cancel();
}

engine::Request GenerationJob::request() {
  engine::Request request;
  request.model = plan_.model;
  std::int64_t index = 0;
  for (std::size_t prompt = 0; prompt < plan_.prompts.size(); ++prompt)
    for (std::int64_t number = 0; number < plan_.choices; ++number, ++index)
      request.choices.push_back(make_choice(prompt, number, index));
  open_ = request.choices.size();
  choices_.resize(open_);
  return request;
}

engine::Choice GenerationJob::make_choice(std::size_t prompt, std::int64_t number,
                                          std::int64_t index) {
  const GenerationPlan::Prompt& asked = plan_.prompts[prompt];
  const auto writer = std::make_shared<Writer>(*this, asked, index);
  engine::Choice choice{asked.ids, plan_.options, {}};
  choice.options.sampling.seed += static_cast<std::uint64_t>(number);
  if (plan_.is_echo && plan_.options.top_logprobs)
    choice.options.on_prompt_logits = [writer](std::int64_t position,
                                               std::span<const float> logits) {
      return writer->score_prompt(position, logits);
    };
  else
    choice.options.on_prefill_progress = [writer](std::int64_t /*done*/, std::int64_t /*total*/) {
      writer->begin();
    };
  if (plan_.is_stream)
    choice.options.is_paused = [responder = responder_] { return responder->is_backed_up(); };
  choice.options.on_piece = [writer](const engine::TextPiece& piece) {
    return writer->piece(piece);
  };
  if (plan_.is_single_call) choice.options.is_complete = [writer] { return writer->has_call(); };
  // What holds the job, and is called last.
  choice.on_end = [self = shared_from_this(), writer,
                   number](const Result<engine::GenerateResult>& result) {
    self->choice_ended(*writer, number == 0, result);
  };
  return choice;
}

void GenerationJob::choice_ended(Writer& writer, bool is_first,
                                 const Result<engine::GenerateResult>& result) {
  --open_;
  if (has_ended_) return;
  if (!room_.status().ok()) return fail(room_.status());
  if (!result.ok()) return fail(result.status());
  if (result->finish == engine::FinishReason::kCancelled)
    return fail(cancelled("[request] was cancelled before its answer was complete"));
  writer.end(*result);
  if (!room_.status().ok()) return fail(room_.status());
  // The prompt counts once, however many choices it has.
  if (is_first) {
    usage_.prompt_tokens += result->timing.prompt_tokens;
    usage_.cached_tokens += result->timing.reused_tokens;
  }
  usage_.completion_tokens += result->timing.new_tokens;
  usage_.accepted_tokens += result->timing.accepted_tokens;
  usage_.rejected_tokens += result->timing.proposed_tokens - result->timing.accepted_tokens;
  if (open_ == 0) complete();
}

void GenerationJob::begin() {
  if (!plan_.is_stream || has_begun_ || has_ended_) return;
  responder_->begin_stream({200, openai::stream_headers(headers_), ""});
  has_begun_ = true;
}

void GenerationJob::complete() {
  has_ended_ = true;
  if (plan_.is_stream) {
    std::string last;
    if (plan_.has_stream_usage) last = openai::event(openai::usage_chunk_json(plan_.head, usage_));
    return responder_->end(last + openai::kStreamEnd);
  }
  std::string text = openai::answer_text(plan_.head, choices_, usage_);
  choices_ = {};
  responder_->respond(openai::json_text_response(std::move(text), headers_));
}

// The first choice that fails is the answer, and the others end.
void GenerationJob::fail(const Status& status) {
  has_ended_ = true;
  cancel();
  const openai::ApiError error = openai::api_error(status);
  if (!has_begun_) return responder_->respond(openai::error_response(error, headers_));
  responder_->end(openai::event(openai::to_json(error)));
}

}  // namespace anemone::serve
