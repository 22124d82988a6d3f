// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/model_loop.h"

#include <algorithm>
#include <utility>

namespace anemone::engine {
namespace {

// A prompt of so many tokens is short: reading it costs hardly more than reading the weights, so it
// is read together with others, and while a chunk of a long one is.
constexpr std::int64_t kShortPrompt = 64;
// A text waits for another one's prompt rather than read so many tokens itself.
constexpr std::int64_t kLeastWait = 32;

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

ModelLoop::ModelLoop(std::shared_ptr<const Model> model, SequencePool& pool,
                     const SpeculationOptions& speculation, StepObserver* observer)
    : model_(std::move(model)),
      pool_(pool),
      observer_(observer),
      steps_(model_, observer),
      chunks_(model_, observer),
      speculator_(speculation, *model_),
      labels_(model_),
      embeds_(model_) {
  // A prompt has two tokens to read, at least.
  chunks_.reserve(StepItem::kMaxTokens / 2);
}

void ModelLoop::Steps::add(Text& text, std::int64_t max_tokens) {
  items.push_back({text.sequence.get(), text.rest(), max_tokens});
  if (text.wants_prompt_logits()) items.back().on_logits = &text.choice.options.on_prompt_logits;
  texts.push_back(&text);
}

void ModelLoop::add(std::shared_ptr<RequestTicket> ticket, Choice&& choice) {
  steps_.reserve(texts_.size() + 1);
  texts_.push_back(std::make_unique<Text>());
  texts_.back()->ticket = std::move(ticket);
  texts_.back()->choice = std::move(choice);
}

void ModelLoop::add(std::shared_ptr<RequestTicket> ticket, LabelRequest&& request) {
  labels_.add(std::move(ticket), std::move(request));
}

void ModelLoop::add(std::shared_ptr<RequestTicket> ticket, EmbedRequest&& request) {
  embeds_.add(std::move(ticket), std::move(request));
}

std::uint64_t ModelLoop::bytes() const {
  std::uint64_t bytes = embeds_.bytes();
  for (const auto& text : texts_) {
    if (text->sequence != nullptr) bytes += text->sequence->bytes();
    if (text->speculation != nullptr) bytes += text->speculation->proposer->bytes();
  }
  return bytes;
}

std::uint64_t ModelLoop::reserved() const {
  std::uint64_t bytes = embeds_.texts() * Sequence::cache_bytes(*model_, model_->context());
  for (const auto& text : texts_)
    if (!text->has_ended) bytes += reserved_bytes(*model_, text->choice, speculator_.options());
  return bytes;
}

bool ModelLoop::turn(std::uint64_t others_bytes, const std::function<void()>& meanwhile) {
  begin_and_end(others_bytes);
  bool did_anything = decode();
  did_anything = read_prompts(meanwhile) || did_anything;
  did_anything = labels_.turn() || did_anything;
  did_anything = embeds_.turn(meanwhile) || did_anything;
  remove_ended();
  return did_anything;
}

bool ModelLoop::turn_meanwhile(std::uint64_t others_bytes) {
  begin_and_end(others_bytes);
  bool did_anything = decode();
  did_anything = read_short_prompts() || did_anything;
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

std::int64_t ModelLoop::coming(std::span<const std::int32_t> prompt, const Text& other) const {
  if (other.sequence->can_be_truncated())
    return common_prefix(prompt.first(prompt.size() - 1), other.ids);
  // There is a snapshot at the end of the prompt, with the prediction.
  const auto length = common_prefix(prompt, other.choice.prompt);
  return length == std::ssize(other.choice.prompt) ? length : 0;
}

Status ModelLoop::begin(Text& text, std::uint64_t others_bytes) {
  const Choice& choice = text.choice;
  const bool wants_logits = static_cast<bool>(choice.options.on_prompt_logits);
  ANEMONE_RETURN_IF_ERROR(model_->check_prompt(choice.prompt, wants_logits));
  // A prompt whose logits are wanted is run from its first token on.
  const auto prompt = std::span(choice.prompt).first(wants_logits ? 0 : choice.prompt.size());
  std::vector<Sequence*> running;
  std::int64_t most = 0;  // that a prompt which is being read will have
  for (const auto& other : texts_) {
    if (other->sequence == nullptr || other->has_ended) continue;
    running.push_back(other->sequence.get());
    if (!other->has_prediction && !prompt.empty()) most = std::max(most, coming(prompt, *other));
  }
  if (most >= kLeastWait && most >= pool_.reusable(*model_, prompt, running) + kLeastWait)
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
  if (auto speculation = speculator_.make(); speculation.ok())
    text.speculation = *std::move(speculation);
  // Where another text had the whole prompt, what the model says after it is there, too.
  if (text.rest().empty()) take(text, {}, false);
  return {};
}

bool ModelLoop::is_decoding(Text& text, bool is_solo) const {
  if (text.has_ended || text.is_in_step || text.generation == nullptr || text.is_solo != is_solo ||
      text.wants_prompt_logits() || text.is_paused())
    return false;
  text.sequence->prepare(static_cast<std::int64_t>(text.ids.size()));
  return text.rest().size() == 1;
}

void ModelLoop::run(Steps& steps, const std::function<void()>* meanwhile) {
  for (Text* text : steps.texts) text->is_in_step = true;
  const auto start = Clock::now();
  const Status status = guarded([&]() -> Status {
    steps.runner.step(steps.items, meanwhile);
    return {};
  });
  steps.seconds = status.ok() ? seconds_between(start, Clock::now()) : 0;
  steps.tokens = 0;
  for (const StepItem& item : steps.items) steps.tokens += item.done;
  for (Text* text : steps.texts) text->is_in_step = false;
  for (std::size_t i = 0; i < steps.items.size(); ++i)
    take(*steps.texts[i], status.ok() ? std::move(steps.items[i].status) : status,
         steps.items.size() > 1);
  steps.items.clear();
  steps.texts.clear();
}

bool ModelLoop::decode() {
  for (const auto& text : texts_)
    if (is_decoding(*text, /*is_solo=*/false)) steps_.add(*text);
  bool did_anything = run_speculating();
  for (const auto& text : texts_) {
    if (!is_decoding(*text, /*is_solo=*/true)) continue;
    steps_.add(*text);
    did_anything = run_speculating() || did_anything;
  }
  return did_anything;
}

bool ModelLoop::run_speculating() {
  if (steps_.items.empty()) return false;
  // The last token of a prompt that is read alone goes with the texts that decode.
  const bool is_prompt = std::ranges::none_of(steps_.texts, &Text::has_prediction);
  ObservedStep step(observer_, is_prompt);
  speculator_.begin(std::ssize(steps_.items));
  for (std::size_t i = 0; i < steps_.items.size(); ++i) propose(*steps_.texts[i], steps_.items[i]);
  run(steps_);
  step.set_tokens(steps_.tokens);
  if (steps_.seconds > 0) speculator_.end(steps_.seconds);
  return true;
}

std::int64_t ModelLoop::most_proposed(const Text& text) const {
  const auto length = std::ssize(text.ids);
  std::int64_t most = std::min(Proposer::kMostTokens, model_->context() - length);
  const std::int64_t limit = text.choice.options.max_new_tokens;
  // The step makes one token more than it accepts.
  if (limit >= 0) most = std::min(most, limit - (length - std::ssize(text.choice.prompt)) - 1);
  while (most > 0 && !model_->manifest().has_same_ropes(length, length + most)) --most;
  return most;
}

void ModelLoop::propose(Text& text, StepItem& item) {
  // A prompt of one token is not a text that decodes yet.
  if (text.speculation == nullptr || !text.has_prediction) return;
  const ObservedPhase phase(observer_, StepPhase::kProposals);
  const Status status = guarded([&]() -> Status {
    Speculation& speculation = *text.speculation;
    speculation.tokens.clear();
    if (const auto most = most_proposed(text); most > 0)
      ANEMONE_RETURN_IF_ERROR(speculator_.propose(speculation, text.ids, most));
    if (speculation.tokens.empty()) return {};
    text.verified.assign(1, text.ids.back());
    text.verified.insert(text.verified.end(), speculation.tokens.begin(), speculation.tokens.end());
    return {};
  });
  if (!status.ok()) {
    text.speculation.reset();
    text.verified.clear();
  }
  if (text.verified.empty()) return;
  item.ids = text.verified;
  item.predictions = std::ssize(text.verified);
}

bool ModelLoop::is_reading(Text& text) const {
  if (text.has_ended || text.is_in_step || text.generation == nullptr) return false;
  text.sequence->prepare(static_cast<std::int64_t>(text.ids.size()));
  return text.rest().size() > 1 || text.wants_prompt_logits();
}

bool ModelLoop::is_short(const Text& text) const {
  return std::ssize(text.rest()) <= kShortPrompt && !text.is_solo && !text.wants_prompt_logits();
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

bool ModelLoop::read_prompts(const std::function<void()>& meanwhile) {
  Text* const text = next_prompt();
  if (text == nullptr) return false;
  if (is_short(*text))
    add_short_prompts(chunks_, StepItem::kMaxTokens);
  else
    chunks_.add(*text);
  return read(chunks_, &meanwhile);
}

bool ModelLoop::read_short_prompts() {
  add_short_prompts(steps_, kShortPrompt);
  return read(steps_, nullptr);
}

bool ModelLoop::read(Steps& steps, const std::function<void()>* meanwhile) {
  if (steps.items.empty()) return false;
  ObservedStep step(observer_, /*is_prompt=*/true);
  run(steps, meanwhile);
  step.set_tokens(steps.tokens);
  return true;
}

void ModelLoop::add_short_prompts(Steps& steps, std::int64_t max_tokens) {
  std::int64_t tokens = 0;
  for (const auto& text : texts_) {
    if (!is_reading(*text) || !is_short(*text)) continue;
    tokens += std::ssize(text->rest());
    if (tokens > max_tokens) return;
    steps.add(*text);
  }
}

void ModelLoop::take(Text& text, Status status, bool was_shared) {
  const bool was_verified = !text.verified.empty();
  if (!status.ok() && was_verified) {
    // Perhaps for a token that the text would not have: it goes on without proposals.
    text.verified.clear();
    text.speculation.reset();
    if (was_shared) text.is_solo = true;
    return;
  }
  if (!status.ok()) {
    // Nobody knows whose fault a step of several texts is: each runs again alone.
    if (was_shared && status.code() != Code::kCorrupt && !text.rest().empty()) {
      text.is_solo = true;
      // All of it has to be read.
      if (!text.has_prediction && text.sequence->is_damaged()) text.reused = 0;
      return;
    }
    return end(text, std::move(status));
  }
  Status accepted = guarded([&] { return was_verified ? accept_verified(text) : accept(text); });
  if (!accepted.ok()) return end(text, std::move(accepted));
  if (text.generation->is_done()) finish(text);
}

Status ModelLoop::accept(Text& text) {
  const auto& options = text.choice.options;
  if (!text.has_prediction) {
    // Prompts are what texts have in common.
    ANEMONE_RETURN_IF_ERROR(text.sequence->take_snapshot());
    if (options.on_prefill_progress)
      options.on_prefill_progress(text.sequence->position() - text.reused,
                                  std::ssize(text.ids) - text.reused);
  }
  if (!text.rest().empty()) return {};
  if (text.has_prediction) {
    ++text.decode_steps;
  } else {
    text.first = Clock::now();
    text.has_prediction = true;
  }
  return pick(text, text.sequence->prediction());
}

Status ModelLoop::pick(Text& text, const Prediction& prediction) {
  if (text.ticket->is_cancelled()) {
    text.generation->end(FinishReason::kCancelled);
    return {};
  }
  const ObservedPhase phase(observer_, StepPhase::kSampling);
  ANEMONE_RETURN_IF_ERROR(text.generation->accept(prediction));
  if (!text.generation->is_done()) text.ids.push_back(text.generation->pending());
  return {};
}

Status ModelLoop::accept_verified(Text& text) {
  const std::vector<std::int32_t> verified = std::exchange(text.verified, {});
  const auto proposed = std::ssize(verified) - 1;
  const std::int64_t first = std::ssize(text.ids) - 1;
  ++text.decode_steps;
  Status status = pick(text, text.sequence->prediction_at(first));
  std::int64_t accepted = 0;
  const auto goes_on = [&] {
    return status.ok() && !text.generation->is_done() && accepted < proposed &&
           text.ids.back() == verified[static_cast<std::size_t>(accepted + 1)] && !text.is_paused();
  };
  while (goes_on()) status = pick(text, text.sequence->prediction_at(first + ++accepted));
  text.sequence->truncate(first + 1 + accepted);
  text.proposed += proposed;
  text.accepted += accepted;
  Speculator::count(*text.speculation, accepted);
  return status;
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
    timing.proposed_tokens = text.proposed;
    timing.accepted_tokens = text.accepted;
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
