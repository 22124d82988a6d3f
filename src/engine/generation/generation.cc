// SPDX-License-Identifier: Apache-2.0
#include "engine/generation/generation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace anemone::engine {
namespace {

// A model without logits can only say which token is most likely.
Status check_greedy(const Model& model, const GenerateOptions& options) {
  if (!model.manifest().is_greedy()) return {};
  const bool is_plain = options.sampling.is_greedy() && options.sampling.processors.is_off() &&
                        !options.top_logprobs && !options.constraint && !options.on_prompt_logits;
  if (is_plain) return {};
  return unsupported(
      "[{}] expected greedy decoding without penalties, biases, log-probabilities or a response "
      "format, since the model was compiled with --argmax",
      model.manifest().name);
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
  return decode_s > 0 && decode_steps > 0
             ? static_cast<double>(decode_steps + accepted_tokens) / decode_s
             : 0;
}

Result<std::unique_ptr<Generation>> Generation::create(std::shared_ptr<const Model> model,
                                                       std::span<const std::int32_t> prompt,
                                                       GenerateOptions options) {
  const auto tokenizer = options.as_text ? model->tokenizer() : nullptr;
  ANEMONE_RETURN_IF_ERROR(check_options(options, tokenizer != nullptr));
  ANEMONE_RETURN_IF_ERROR(check_greedy(*model, options));
  ANEMONE_ASSIGN_OR_RETURN(
      Sampler sampler, Sampler::create(options.sampling,
                                       tokenizer != nullptr ? tokenizer->vocab_size() : 0, prompt));
  return std::unique_ptr<Generation>(
      new Generation(std::move(model), prompt.size(), std::move(sampler), std::move(options)));
}

Generation::Generation(std::shared_ptr<const Model> model, std::size_t prompt_tokens,
                       Sampler sampler, GenerateOptions options)
    : model_(std::move(model)),
      prompt_tokens_(prompt_tokens),
      options_(std::move(options)),
      sampler_(std::move(sampler)),
      constraint_(options_.constraint),
      repeat_(options_.stop_repeat_ngram) {
  result_.timing.prompt_tokens = static_cast<std::int64_t>(prompt_tokens);
  if (!options_.as_text || model_->tokenizer() == nullptr) return;
  streamer_.emplace(model_->tokenizer(), text::StreamOptions{.skip_special = true,
                                                             .kept_special = options_.kept_special,
                                                             .cancel = options_.cancel});
  stops_.emplace(options_.stop);
}

void Generation::end(FinishReason reason) {
  result_.finish = reason;
  is_done_ = true;
}

Status Generation::accept(const Prediction& prediction) {
  ANEMONE_CHECK(!is_done_);
  const auto limit = options_.max_new_tokens;
  const auto is_full = [&] {
    return limit >= 0 && static_cast<std::int64_t>(result_.ids.size()) >= limit;
  };
  if (is_full()) {
    end(FinishReason::kLength);
    return {};
  }
  // The token may be one of the rows that pad the vocabulary: it gives no text.
  std::int32_t id = 0;
  if (prediction.argmax) {
    id = *prediction.argmax;
  } else {
    ANEMONE_ASSIGN_OR_RETURN(id, pick(*prediction.row));
  }
  const Status taken = take(id, prediction);
  if (taken.code() == Code::kCancelled)
    end(FinishReason::kCancelled);
  else
    ANEMONE_RETURN_IF_ERROR(taken);
  if (is_done_) return {};
  // All tokens but the last have run.
  const std::size_t position = prompt_tokens_ + result_.ids.size() - 1;
  if (is_full() || static_cast<std::int64_t>(position) >= model_->context())
    end(FinishReason::kLength);
  return {};
}

Result<std::int32_t> Generation::pick(const LogitRow& row) {
  if (!constraint_) return sampler_.sample(row);
  ANEMONE_ASSIGN_OR_RETURN(const auto mask, constraint_->mask());
  // No bias or penalty can keep a token out that has to come: the text could not go on.
  if (const auto forced = mask->only()) {
    sampler_.take(*forced);
    ANEMONE_RETURN_IF_ERROR(constraint_->accept(*forced));
    return *forced;
  }
  constrained_.assign(row.logits().begin(), row.logits().end());
  mask->apply(constrained_);
  ANEMONE_ASSIGN_OR_RETURN(const std::int32_t id, sampler_.sample(constrained_));
  ANEMONE_RETURN_IF_ERROR(constraint_->accept(id));
  return id;
}

Status Generation::take(std::int32_t id, const Prediction& prediction) {
  result_.ids.push_back(id);
  if (!options_.collects_logprobs) result_.logprobs.clear();
  if (options_.top_logprobs)
    result_.logprobs.push_back(
        sampler_.logprobs(prediction.row->logits(), id, *options_.top_logprobs));
  if (!options_.ignore_eos && model_->is_eos(id)) {
    end(FinishReason::kStop);
    // It gives no text, whatever the tokenizer would make of it.
    return emit(id, "", /*is_token=*/true);
  }
  ANEMONE_RETURN_IF_ERROR(push_text(id));
  if (!is_done_ && constraint_ && constraint_->has_ended()) end(FinishReason::kStop);
  if (!is_done_ && options_.is_complete && options_.is_complete()) end(FinishReason::kStop);
  if (!is_done_ && repeat_.push(id)) end(FinishReason::kRepeat);
  return {};
}

Status Generation::push_text(std::int32_t id) {
  std::string text;
  if (streamer_.has_value()) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string piece, streamer_->push(id));
    auto outcome = stops_->push(piece);
    text = std::move(outcome.text);
    if (outcome.stop.has_value()) {
      result_.stop = *outcome.stop;
      end(FinishReason::kStop);
    }
  }
  return emit(id, text, /*is_token=*/true);
}

Status Generation::finish_text() {
  // Nothing may follow a stop string, held back or not.
  if (!streamer_.has_value() || result_.ids.empty() || !result_.stop.empty()) return {};
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

Status Generation::emit(std::int32_t id, const std::string& text, bool is_token) {
  result_.text += text;
  if (!options_.on_piece || (!is_token && text.empty())) return {};
  const bool has_logprobs = is_token && !result_.logprobs.empty();
  return options_.on_piece({id, text, has_logprobs ? &result_.logprobs.back() : nullptr, is_token});
}

Result<GenerateResult> Generation::finish() {
  ANEMONE_CHECK(is_done_);
  result_.timing.new_tokens = static_cast<std::int64_t>(result_.ids.size());
  if (constraint_ && constraint_->stages() != nullptr) result_.stages = *constraint_->stages();
  ANEMONE_RETURN_IF_ERROR(finish_text());
  if (!options_.collects_logprobs) result_.logprobs.clear();
  return std::move(result_);
}

}  // namespace anemone::engine
