// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/model_loop.h"

#include <algorithm>
#include <utility>

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

}  // namespace

bool ModelLoop::Text::is_paused() const {
  return choice.options.is_paused && choice.options.is_paused();
}

ModelLoop::ModelLoop(std::shared_ptr<const Model> model, SequencePool& pool)
    : model_(std::move(model)),
      pool_(pool),
      runner_(model_),
      short_runner_(model_),
      labels_(model_) {}

void ModelLoop::add(std::shared_ptr<RequestTicket> ticket, Choice&& choice) {
  step_items_.reserve(texts_.size() + 1);
  step_texts_.reserve(texts_.size() + 1);
  texts_.push_back(std::make_unique<Text>());
  texts_.back()->ticket = std::move(ticket);
  texts_.back()->choice = std::move(choice);
}

void ModelLoop::add(std::shared_ptr<RequestTicket> ticket, LabelRequest&& request) {
  labels_.add(std::move(ticket), std::move(request));
}

std::uint64_t ModelLoop::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& text : texts_)
    if (text->sequence != nullptr) bytes += text->sequence->bytes();
  return bytes;
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
  did_anything = labels_.turn() || did_anything;
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
      Status status = guarded([&] { return begin(*text, others_bytes); });
      if (!status.ok()) end(*text, std::move(status));
    }
  }
}

Status ModelLoop::begin(Text& text, std::uint64_t others_bytes) {
  const Choice& choice = text.choice;
  const bool wants_logits = static_cast<bool>(choice.options.on_prompt_logits);
  ANEMONE_RETURN_IF_ERROR(model_->check_prompt(choice.prompt, wants_logits));
  // A prompt whose logits are wanted is run from its first token on.
  const auto prompt = wants_logits ? std::span(choice.prompt).first(1) : std::span(choice.prompt);
  std::vector<Sequence*> running;
  std::int64_t coming = 0;  // of prompts that are being read
  for (const auto& other : texts_) {
    if (other->sequence == nullptr || other->has_ended) continue;
    running.push_back(other->sequence.get());
    if (!other->has_prediction && other->sequence->can_be_truncated())
      coming = std::max(coming, common_prefix(prompt.first(prompt.size() - 1), other->ids));
  }
  if (coming >= kLeastWait && coming >= pool_.reusable(*model_, prompt, running) + kLeastWait)
    return {};

  ANEMONE_ASSIGN_OR_RETURN(auto generation,
                           Generation::create(model_, choice.prompt, choice.options));
  text.start = Clock::now();
  ANEMONE_ASSIGN_OR_RETURN(auto sequence,
                           pool_.take(model_, prompt, running, others_bytes + bytes()));
  text.ids = choice.prompt;
  text.sequence = std::move(sequence);
  text.reused = text.sequence->position();
  text.generation = std::move(generation);
  return {};
}

bool ModelLoop::is_decoding(Text& text, bool is_solo) const {
  if (text.has_ended || text.is_in_step || text.generation == nullptr || text.is_solo != is_solo ||
      text.wants_prompt_logits() || text.is_paused())
    return false;
  text.sequence->prepare(static_cast<std::int64_t>(text.ids.size()));
  return text.rest().size() == 1;
}

void ModelLoop::run(StepRunner& runner, std::span<StepItem> items) {
  const Status status = guarded([&]() -> Status {
    runner.step(items);
    return {};
  });
  if (status.ok()) return;
  for (StepItem& item : items) item.status = status;
}

bool ModelLoop::decode(StepRunner& runner) {
  step_items_.clear();
  step_texts_.clear();
  for (const auto& text : texts_) {
    if (!is_decoding(*text, /*is_solo=*/false)) continue;
    step_items_.push_back({text->sequence.get(), text->rest()});
    step_texts_.push_back(text.get());
  }
  bool did_anything = !step_items_.empty();
  if (did_anything) run(runner, step_items_);
  for (std::size_t i = 0; i < step_items_.size(); ++i)
    take(*step_texts_[i], step_items_[i], step_items_.size() > 1);
  for (const auto& text : texts_) {
    if (!is_decoding(*text, /*is_solo=*/true)) continue;
    StepItem item{text->sequence.get(), text->rest()};
    run(runner, {&item, 1});
    take(*text, item, false);
    did_anything = true;
  }
  return did_anything;
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
  read_chunk(*text, runner_, StepItem::kMaxTokens, &meanwhile);
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

void ModelLoop::read_chunk(Text& text, StepRunner& runner, std::int64_t max_tokens,
                           const std::function<void()>* meanwhile) {
  StepItem item{text.sequence.get(), text.rest(), max_tokens};
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

void ModelLoop::take(Text& text, StepItem& item, bool was_shared) {
  if (!item.status.ok()) {
    // Nobody knows whose fault a step of several texts is: each runs again alone.
    if (was_shared && item.status.code() != Code::kCorrupt && !text.rest().empty()) {
      text.is_solo = true;
      return;
    }
    return end(text, std::move(item.status));
  }
  const auto& options = text.choice.options;
  Status status = guarded([&]() -> Status {
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
  if (!status.ok()) return end(text, std::move(status));
  if (text.generation->is_done()) finish(text);
}

void ModelLoop::finish(Text& text) {
  Result<GenerateResult> result =
      guarded([&] { return Result<GenerateResult>(text.generation->finish()); });
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
  tell(text.choice.on_end, std::move(result));
}

void ModelLoop::remove_ended() {
  std::erase_if(texts_, [](const std::unique_ptr<Text>& text) { return text->has_ended; });
}

}  // namespace anemone::engine
