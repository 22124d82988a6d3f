// SPDX-License-Identifier: Apache-2.0
#include "engine/generation/generator.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/check.h"
#include "base/error.h"
#include "engine/generation/repeat_stop.h"
#include "text/stream/stop_strings.h"
#include "text/stream/text_streamer.h"

namespace anemone::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Turns ids into the text that may be shown: decodes them, then cuts at stop strings.
class TextSink {
 public:
  TextSink(std::shared_ptr<const text::Tokenizer> tokenizer, const GenerateOptions& options,
           GenerateResult& result)
      : options_(options), result_(result) {
    if (tokenizer == nullptr) return;
    streamer_.emplace(std::move(tokenizer),
                      text::StreamOptions{.skip_special = true, .cancel = options.cancel});
    stops_.emplace(options.stop);
  }

  // An end-of-text token gives no text, whatever the tokenizer would make of it.
  Status push_end(std::int32_t id) { return emit(id, "", /*is_token=*/true); }

  // Whether a stop string ended the text.
  Result<bool> push(std::int32_t id) {
    std::string text;
    bool stopped = false;
    if (streamer_.has_value()) {
      ANEMONE_ASSIGN_OR_RETURN(const std::string piece, streamer_->push(id));
      auto outcome = stops_->push(piece);
      text = std::move(outcome.text);
      stopped = outcome.stop.has_value();
      if (stopped) result_.stop = *outcome.stop;
    }
    ANEMONE_RETURN_IF_ERROR(emit(id, text, /*is_token=*/true));
    return stopped;
  }

  Status finish() {
    if (!streamer_.has_value() || result_.ids.empty()) return {};
    auto last = streamer_->finish();
    // A text that is cancelled loses what the decoder still held back.
    if (!last.ok() && last.status().code() != Code::kCancelled) return last.status();
    // What the streamer still held may complete a stop string.
    auto outcome = stops_->push(last.ok() ? *last : std::string());
    std::string text = std::move(outcome.text);
    if (outcome.stop.has_value()) {
      result_.stop = *outcome.stop;
      result_.finish = FinishReason::kStop;
    } else {
      text += stops_->finish();
    }
    return emit(result_.ids.back(), text, /*is_token=*/false);
  }

 private:
  Status emit(std::int32_t id, const std::string& text, bool is_token) {
    result_.text += text;
    if (!options_.on_piece || (!is_token && text.empty())) return {};
    const bool has_logprobs = is_token && !result_.logprobs.empty();
    return options_.on_piece({id, text, has_logprobs ? &result_.logprobs.back() : nullptr});
  }

  const GenerateOptions& options_;
  GenerateResult& result_;
  std::optional<text::TextStreamer> streamer_;
  std::optional<text::StopStrings> stops_;
};

bool is_cancelled(const GenerateOptions& options) {
  return options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed);
}

// A model without logits can only say which token is most likely.
Status check_greedy(const Model& model, const GenerateOptions& options) {
  if (!model.manifest().is_greedy()) return {};
  const bool is_plain = options.sampling.is_greedy() && options.sampling.processors.is_off() &&
                        !options.top_logprobs && !options.on_prompt_logits;
  if (is_plain) return {};
  return unsupported(
      "[{}] expected greedy decoding without penalties, biases or log-probabilities, since the "
      "model was compiled with --argmax",
      model.manifest().name);
}

// The row may be one that pads the vocabulary: it gives no text.
Result<std::int32_t> next_token(const Session& session, Sampler& sampler) {
  if (session.argmax()) return *session.argmax();
  return sampler.sample(session.logits());
}

Status check_options(const GenerateOptions& options, bool has_text) {
  if (options.max_new_tokens < GenerateOptions::kUntilFull)
    return invalid_argument("[max_new_tokens] expected a number >= 0, got {}",
                            options.max_new_tokens);
  if (options.stop_repeat_ngram < 0)
    return invalid_argument("[stop_repeat_ngram] expected a number >= 0, got {}",
                            options.stop_repeat_ngram);
  if (options.top_logprobs && *options.top_logprobs < 0)
    return invalid_argument("[top_logprobs] expected a number >= 0, got {}", *options.top_logprobs);
  const bool has_stop =
      std::ranges::any_of(options.stop, [](const std::string& stop) { return !stop.empty(); });
  if (has_stop && !has_text)
    return invalid_argument("[stop] expected no stop strings for a model without a tokenizer");
  return {};
}

// Picks and runs tokens until something ends the text.
Status decode_loop(Session& session, Sampler& sampler, const GenerateOptions& options,
                   TextSink& sink, GenerateResult& result) {
  const auto limit = options.max_new_tokens;
  RepeatStop repeat(options.stop_repeat_ngram);
  while (true) {
    if (limit >= 0 && static_cast<std::int64_t>(result.ids.size()) >= limit) {
      result.finish = FinishReason::kLength;
      return {};
    }
    if (is_cancelled(options)) {
      result.finish = FinishReason::kCancelled;
      return {};
    }
    if (!result.ids.empty()) {
      if (session.position() >= session.model().context()) {
        result.finish = FinishReason::kLength;
        return {};
      }
      ANEMONE_RETURN_IF_ERROR(session.decode(result.ids.back()).status());
      ++result.timing.decode_steps;
    }
    ANEMONE_ASSIGN_OR_RETURN(const std::int32_t id, next_token(session, sampler));
    result.ids.push_back(id);
    if (options.top_logprobs)
      result.logprobs.push_back(sampler.logprobs(session.logits(), id, *options.top_logprobs));
    const bool ended = !options.ignore_eos && session.model().is_eos(id);
    bool stopped = ended;
    if (ended) {
      ANEMONE_RETURN_IF_ERROR(sink.push_end(id));
    } else {
      ANEMONE_ASSIGN_OR_RETURN(stopped, sink.push(id));
    }
    if (stopped) {
      result.finish = FinishReason::kStop;
      return {};
    }
    if (repeat.push(id)) {
      result.finish = FinishReason::kRepeat;
      return {};
    }
  }
}

}  // namespace

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kRepeat:
      return "repeat";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  ANEMONE_CHECK(false);
  return {};
}

double Timing::prefill_tok_s() const {
  return prefill_s > 0 ? static_cast<double>(prompt_tokens - reused_tokens) / prefill_s : 0;
}

double Timing::decode_tok_s() const {
  return decode_s > 0 && decode_steps > 0 ? static_cast<double>(decode_steps) / decode_s : 0;
}

Result<GenerateResult> generate(Session& session, std::span<const std::int32_t> prompt,
                                const GenerateOptions& options) {
  const Model& model = session.model();
  const auto tokenizer = options.as_text ? model.tokenizer() : nullptr;
  ANEMONE_RETURN_IF_ERROR(check_options(options, tokenizer != nullptr));
  ANEMONE_RETURN_IF_ERROR(check_greedy(model, options));
  ANEMONE_ASSIGN_OR_RETURN(
      Sampler sampler, Sampler::create(options.sampling,
                                       tokenizer != nullptr ? tokenizer->vocab_size() : 0, prompt));

  GenerateResult result;
  result.timing.prompt_tokens = static_cast<std::int64_t>(prompt.size());
  const auto prefill_start = Clock::now();
  const auto kept = session.prefill_to(prompt, {.on_logits = options.on_prompt_logits,
                                                .on_progress = options.on_prefill_progress,
                                                .cancel = options.cancel});
  result.timing.prefill_s = seconds_since(prefill_start);
  if (!kept.ok()) {
    if (kept.status().code() != Code::kCancelled) return kept.status();
    result.finish = FinishReason::kCancelled;
    return result;
  }
  result.timing.reused_tokens = *kept;

  TextSink sink(tokenizer, options, result);
  const auto decode_start = Clock::now();
  const Status decoded = decode_loop(session, sampler, options, sink, result);
  if (decoded.code() == Code::kCancelled)
    result.finish = FinishReason::kCancelled;
  else if (!decoded.ok())
    return decoded;
  result.timing.decode_s = seconds_since(decode_start);
  result.timing.new_tokens = static_cast<std::int64_t>(result.ids.size());
  // Nothing may follow a stop string, held back or not.
  if (result.stop.empty()) ANEMONE_RETURN_IF_ERROR(sink.finish());
  return result;
}

}  // namespace anemone::engine
