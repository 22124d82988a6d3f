// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/model_loop.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace anemone::engine {
namespace {

// A prompt of so many tokens is short: it is read while a chunk of another one is.
constexpr std::int64_t kShortPrompt = 64;
// A text waits for another one's prompt rather than read so many tokens itself.
constexpr std::int64_t kLeastWait = 32;

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

Status not_enough_memory() {
  return out_of_memory("[request] there is not enough memory to answer it");
}

// What `action` throws, as a status: a text that fails must not end the others.
template <typename Action>
Status guarded(const Action& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return not_enough_memory();
  } catch (const std::exception& error) {
    return internal_error("[request] failed: {}", error.what());
  } catch (...) {
    return internal_error("[request] failed");
  }
}

}  // namespace

GenerateResult cancelled_result(const Choice& choice) {
  GenerateResult result;
  result.finish = FinishReason::kCancelled;
  result.timing.prompt_tokens = static_cast<std::int64_t>(choice.prompt.size());
  return result;
}

bool ModelLoop::Text::is_paused() const {
  return choice.options.is_paused && choice.options.is_paused();
}

ModelLoop::ModelLoop(std::shared_ptr<const Model> model, SequencePool& pool)
    : model_(std::move(model)), pool_(pool), runner_(model_), short_runner_(model_) {}

void ModelLoop::add(std::shared_ptr<RequestTicket> ticket, Choice choice) {
  auto text = std::make_unique<Text>();
  text->ticket = std::move(ticket);
  text->choice = std::move(choice);
  texts_.push_back(std::move(text));
}

std::uint64_t ModelLoop::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& text : texts_)
    if (text->sequence != nullptr) bytes += text->sequence->bytes();
  return bytes;
}

std::uint64_t reserved_bytes(const Model& model, const Choice& choice) {
  const auto prompt = static_cast<std::int64_t>(choice.prompt.size());
  const std::int64_t limit = choice.options.max_new_tokens;
  const std::int64_t room = std::max<std::int64_t>(0, model.context() - prompt);
  return Sequence::cache_bytes(model, prompt + (limit < 0 ? room : std::min(limit, room)));
}

std::uint64_t ModelLoop::reserved() const {
  std::uint64_t bytes = 0;
  for (const auto& text : texts_)
    if (!text->has_ended) bytes += reserved_bytes(*model_, text->choice);
  return bytes;
}

bool ModelLoop::turn(std::uint64_t others_bytes, const std::function<void()>& meanwhile) {
  begin_and_end(others_bytes);
  bool did_anything = decode(runner_);
  did_anything = read_prompt(meanwhile) || did_anything;
  did_anything = run_labels() || did_anything;
  remove_ended();
  return did_anything;
}

bool ModelLoop::turn_meanwhile(std::uint64_t others_bytes) {
  begin_and_end(others_bytes);
  bool did_anything = decode(short_runner_);
  did_anything = read_short_prompts(short_runner_) || did_anything;
  remove_ended();
  return did_anything;
}

void ModelLoop::begin_and_end(std::uint64_t others_bytes) {
  for (const auto& text : texts_) {
    if (text->has_ended || text->is_in_step) continue;
    if (text->ticket->is_cancelled()) {
      if (text->generation != nullptr) {
        text->generation->end(FinishReason::kCancelled);
        finish(*text);
      } else {
        end(*text, cancelled_result(text->choice));
      }
    } else if (text->generation == nullptr) {
      const Status status = guarded([&]() -> Status {
        begin(*text, others_bytes);
        return {};
      });
      if (!status.ok()) end(*text, status);
    }
  }
}

Status ModelLoop::check_prompt(const Choice& choice) const {
  if (choice.prompt.empty())
    return invalid_argument("[prompt] expected at least one token, got none");
  for (const std::int32_t id : choice.prompt) ANEMONE_RETURN_IF_ERROR(model_->check_id(id));
  if (static_cast<std::int64_t>(choice.prompt.size()) > model_->context())
    return invalid_argument("[prompt] expected at most {} tokens (the context), got {}",
                            model_->context(), choice.prompt.size());
  if (choice.options.on_prompt_logits && model_->manifest().is_greedy())
    return unsupported("[{}] expected a model with logits, got one compiled with --argmax",
                       model_->manifest().name);
  return {};
}

bool ModelLoop::begin(Text& text, std::uint64_t others_bytes) {
  if (Status status = check_prompt(text.choice); !status.ok()) {
    end(text, std::move(status));
    return true;
  }
  // A prompt whose logits are wanted is run from its first token on.
  const auto prompt = text.choice.options.on_prompt_logits ? std::span(text.choice.prompt).first(1)
                                                           : std::span(text.choice.prompt);
  std::vector<Sequence*> running;
  std::int64_t present = pool_.reusable(*model_, prompt);
  std::int64_t coming = 0;  // of prompts that are being read
  for (const auto& other : texts_) {
    if (other->sequence == nullptr || other->has_ended) continue;
    running.push_back(other->sequence.get());
    present = std::max(present, other->sequence->reusable(prompt));
    if (!other->has_prediction && other->sequence->can_be_cut())
      coming = std::max(coming, common_prefix(prompt.first(prompt.size() - 1), other->ids));
  }
  if (coming >= present + kLeastWait) return false;

  auto generation = Generation::create(model_, text.choice.prompt, text.choice.options);
  if (!generation.ok()) {
    end(text, generation.status());
    return true;
  }
  text.start = Clock::now();
  auto sequence = pool_.take(model_, prompt, running, others_bytes + bytes());
  if (!sequence.ok()) {
    end(text, sequence.status());
    return true;
  }
  text.sequence = *std::move(sequence);
  text.ids = text.choice.prompt;
  text.reused = text.sequence->position();
  text.generation = *std::move(generation);
  return true;
}

bool ModelLoop::decode(StepRunner& runner) {
  std::vector<StepItem> shared;
  std::vector<Text*> texts;
  std::vector<Text*> solo;
  for (const auto& text : texts_) {
    if (text->has_ended || text->is_in_step || text->generation == nullptr ||
        text->wants_prompt_logits() || text->is_paused())
      continue;
    text->sequence->prepare(static_cast<std::int64_t>(text->ids.size()));
    if (text->rest().size() != 1) continue;
    if (text->is_solo) {
      solo.push_back(text.get());
      continue;
    }
    shared.push_back({text->sequence.get(), text->rest()});
    texts.push_back(text.get());
  }
  const auto run = [&](std::span<StepItem> items) {
    const Status status = guarded([&]() -> Status {
      runner.step(items);
      return {};
    });
    if (status.ok()) return;
    for (StepItem& item : items) item.status = status;
  };
  if (!shared.empty()) run(shared);
  for (std::size_t i = 0; i < shared.size(); ++i) take(*texts[i], shared[i], shared.size() > 1);
  for (Text* text : solo) {
    StepItem item{text->sequence.get(), text->rest()};
    run({&item, 1});
    take(*text, item, false);
  }
  return !texts.empty() || !solo.empty();
}

// Whether the text has more than one token to run, or all that it has for their logits.
bool ModelLoop::is_reading(Text& text) {
  if (text.has_ended || text.is_in_step || text.generation == nullptr) return false;
  text.sequence->prepare(static_cast<std::int64_t>(text.ids.size()));
  return text.rest().size() > 1 || text.wants_prompt_logits();
}

// Every other chunk is one of the oldest prompt, so that it goes on; the others are of the prompt
// that is nearest to its end, so that short ones need not wait for long ones.
ModelLoop::Text* ModelLoop::next_prompt() {
  Text* oldest = nullptr;
  Text* shortest = nullptr;
  for (const auto& text : texts_) {
    if (!is_reading(*text)) continue;
    if (oldest == nullptr) oldest = text.get();
    if (shortest == nullptr || text->rest().size() < shortest->rest().size()) shortest = text.get();
  }
  was_oldest_ = !was_oldest_;
  return was_oldest_ ? oldest : shortest;
}

bool ModelLoop::read_prompt(const std::function<void()>& meanwhile) {
  Text* const text = next_prompt();
  if (text == nullptr) return false;
  read_chunk(*text, runner_, StepItem::kMostTokens, &meanwhile);
  return true;
}

bool ModelLoop::read_short_prompts(StepRunner& runner) {
  for (const auto& text : texts_) {
    if (!is_reading(*text) || text->rest().size() > kShortPrompt) continue;
    read_chunk(*text, runner, kShortPrompt, nullptr);
    return true;
  }
  return false;
}

void ModelLoop::read_chunk(Text& text, StepRunner& runner, std::int64_t most_tokens,
                           const std::function<void()>* meanwhile) {
  StepItem item{text.sequence.get(), text.rest(), most_tokens};
  if (text.wants_prompt_logits()) item.on_logits = &text.choice.options.on_prompt_logits;
  text.is_in_step = true;
  const Status status = guarded([&]() -> Status {
    runner.step({&item, 1}, meanwhile);
    // Prompts are what texts have in common.
    return item.status.ok() && !text.has_prediction ? text.sequence->take_snapshot() : Status();
  });
  text.is_in_step = false;
  if (!status.ok()) item.status = status;
  take(text, item, false);
}

void ModelLoop::take(Text& text, const StepItem& item, bool was_shared) {
  if (!item.status.ok()) {
    // Nobody knows whose fault a step of several texts is: each runs again alone.
    if (was_shared && item.status.code() != Code::kCorrupt && !text.rest().empty()) {
      text.is_solo = true;
      return;
    }
    return end(text, item.status);
  }
  const auto& options = text.choice.options;
  const Status status = guarded([&]() -> Status {
    if (!text.has_prediction && options.on_prefill_progress)
      options.on_prefill_progress(text.sequence->position() - text.reused,
                                  static_cast<std::int64_t>(text.ids.size()) - text.reused);
    if (!text.rest().empty()) return {};
    if (text.has_prediction) {
      ++text.decode_steps;
    } else {
      text.first = Clock::now();
      text.has_prediction = true;
    }
    if (text.ticket->is_cancelled()) {
      text.generation->end(FinishReason::kCancelled);
      return {};
    }
    ANEMONE_RETURN_IF_ERROR(text.generation->accept(text.sequence->prediction()));
    if (!text.generation->is_done()) text.ids.push_back(text.generation->pending());
    return {};
  });
  if (!status.ok()) return end(text, status);
  if (text.generation->is_done()) finish(text);
}

void ModelLoop::finish(Text& text) {
  Result<GenerateResult> result = internal_error("[request] failed");
  const Status status = guarded([&]() -> Status {
    result = text.generation->finish();
    return {};
  });
  if (!status.ok()) result = status;
  if (result.ok()) {
    const auto now = Clock::now();
    Timing& timing = result->timing;
    timing.reused_tokens = text.reused;
    timing.prefill_s = seconds_between(text.start, text.has_prediction ? text.first : now);
    timing.decode_steps = text.decode_steps;
    timing.decode_s = text.has_prediction ? seconds_between(text.first, now) : 0;
  }
  end(text, std::move(result));
}

void ModelLoop::end(Text& text, Result<GenerateResult> result) {
  if (text.has_ended) return;
  text.has_ended = true;
  // Kept, as a flag that is set later cancels nothing any more.
  if (text.ticket->is_cancelled()) text.ticket->was_cancelled = true;
  --text.ticket->open;
  // Before its client hears of it, who may go on with the text.
  if (text.sequence != nullptr) {
    const Status parked = guarded([&]() -> Status {
      pool_.park(std::move(text.sequence));
      return {};
    });
    if (!parked.ok()) text.sequence.reset();
  }
  const Status told = guarded([&]() -> Status {
    text.choice.on_end(std::move(result));
    return {};
  });
  // Whoever cannot take the end for want of memory frees what it has when it goes away.
  static_cast<void>(told);
}

void ModelLoop::remove_ended() {
  std::erase_if(texts_, [](const std::unique_ptr<Text>& text) { return text->has_ended; });
}

void ModelLoop::add(std::shared_ptr<RequestTicket> ticket, LabelRequest request) {
  labels_.push_back({std::move(ticket), std::move(request), nullptr});
}

bool ModelLoop::run_labels() {
  if (labels_.empty()) return false;
  LabelText& text = labels_.front();
  Status status = guarded([&]() -> Status {
    if (text.ticket->is_cancelled()) {
      text.ticket->was_cancelled = true;
      return cancelled("[text] was cancelled");
    }
    if (classifier_ == nullptr) {
      ANEMONE_ASSIGN_OR_RETURN(classifier_, Classifier::create(model_));
    }
    if (text.labelling == nullptr) {
      ANEMONE_ASSIGN_OR_RETURN(auto labelling, classifier_->start(text.request.ids));
      text.labelling = std::make_unique<Labelling>(std::move(labelling));
    }
    ANEMONE_RETURN_IF_ERROR(classifier_->run_window(*text.labelling));
    if (text.request.on_progress)
      text.request.on_progress(text.labelling->done,
                               static_cast<std::int64_t>(text.labelling->ids.size()));
    return {};
  });
  if (!status.ok())
    end_labels(text, std::move(status));
  else if (text.labelling->is_done())
    end_labels(text, std::move(text.labelling->logits));
  return true;
}

void ModelLoop::end_labels(LabelText& text, Result<std::vector<float>> result) {
  --text.ticket->open;
  const Status told = guarded([&]() -> Status {
    text.request.on_end(std::move(result));
    return {};
  });
  static_cast<void>(told);  // as of end()
  labels_.pop_front();
}

}  // namespace anemone::engine
