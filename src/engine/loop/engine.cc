// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/machine.h"

namespace anemone::engine {
namespace {

constexpr std::string_view kStopping = "[server] is stopping";
// How long a turn waits for clients that have no room for more of their texts.
constexpr std::chrono::milliseconds kPause{2};
// Time of a long chunk for each unit of time of the steps in its middle, and how often it looks for
// them when there were none.
constexpr int kChunkShare = 4;
constexpr std::chrono::microseconds kLookAgain{500};

}  // namespace

std::uint64_t default_cache_bytes() {
  return usable_memory_bytes() / 4;
}

std::size_t default_sequences(const Model& model, std::uint64_t cache_bytes) {
  const std::uint64_t one =
      std::max<std::uint64_t>(1, Sequence::cache_bytes(model, model.context()));
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(cache_bytes / one, 1, kMostDefaultSequences));
}

Engine::Engine(const EngineOptions& options)
    : options_(options),
      cache_bytes_(options.cache_bytes > 0 ? options.cache_bytes : default_cache_bytes()),
      pool_(cache_bytes_) {
  ANEMONE_CHECK(options.sequences > 0);
  not_enough_memory();  // so that it takes no memory when there is none
}

Engine::~Engine() {
  end();
}

void Engine::end() {
  close();
  cancel_all();
  while (turn()) {
  }
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    forgotten_.clear();
  }
  idle_.notify_all();
}

Status Engine::submit(Request request) {
  const std::size_t texts = request.choices.size();
  ANEMONE_CHECK(texts > 0);
  const CancelFlag cancel = request.cancel;
  return enqueue(cancel, texts, std::move(request));
}

Status Engine::submit(LabelRequest request) {
  ANEMONE_CHECK(!request.texts.empty());
  const CancelFlag cancel = request.cancel;
  return enqueue(cancel, 1, std::move(request));
}

Status Engine::submit(EmbedRequest request) {
  ANEMONE_CHECK(!request.texts.empty());
  const CancelFlag cancel = request.cancel;
  return enqueue(cancel, 1, std::move(request));
}

Status Engine::enqueue(const CancelFlag& cancel, std::size_t texts, AnyRequest request) {
  std::list<Waiting> one;
  one.push_back({std::make_shared<RequestTicket>(), std::move(request)});
  one.front().ticket->open = texts;
  one.front().ticket->cancel = cancel;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return cancelled("{}", kStopping);
    if (queued() >= options_.queue + free_slots())
      return busy("[server] the queue of {} requests is full: try again later", options_.queue);
    // Here, where there is somebody to tell that there is no memory.
    running_.reserve(running_.size() + waiting_.size() + 1);
    waiting_.splice(waiting_.end(), one);
  }
  wake_.notify_all();
  return {};
}

Engine::Counts Engine::counts() const {
  const std::lock_guard lock(mutex_);
  // Those that the next turn takes do not wait any more, those that are cancelled have ended.
  const std::size_t queued = this->queued();
  const std::size_t taken = std::min(queued, free_slots());
  const auto gone =
      static_cast<std::size_t>(std::ranges::count_if(waiting_, [&](const Waiting& waiting) {
        return waiting.ticket->is_cancelled() && !waiting.ticket->has_begun;
      }));
  const auto cancelling = static_cast<std::size_t>(
      std::ranges::count_if(running_, [](const Ticket& ticket) { return ticket->is_cancelled(); }));
  Counts out;
  out.waiting = queued - taken;
  out.running = running_.size() + taken;
  out.cancelling = cancelling;
  out.finished = finished_ + gone;
  out.cancelled = cancelled_ + gone;
  out.texts = texts_;
  out.max_texts = options_.sequences;
  out.cache_bytes = used_bytes_;
  out.max_cache_bytes = cache_bytes_;
  return out;
}

std::size_t Engine::queued() const {
  return static_cast<std::size_t>(std::ranges::count_if(waiting_, [&](const Waiting& waiting) {
    return !waiting.ticket->is_cancelled() && !waiting.ticket->has_begun;
  }));
}

std::size_t Engine::free_slots() const {
  return waits_for_memory_ ? 0 : options_.sequences - std::min(options_.sequences, texts_);
}

void Engine::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  // At once, rather than after the step that runs. A request with a text that runs has callbacks on
  // the engine thread.
  end_waiting(/*is_in_turn=*/false);
}

std::size_t Engine::cancel_all() {
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const Ticket& ticket : running_) {
      if (!ticket->is_cancelled()) ++count;
      ticket->was_cancelled = true;
    }
  }
  wake_.notify_all();
  return count;
}

bool Engine::wait_until_idle(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, time, [&] { return waiting_.empty() && running_.empty(); });
}

void Engine::forget(const Model& model) {
  std::unique_lock lock(mutex_);
  if (has_ended_) return;
  forgotten_.push_back(&model);
  wake_.notify_all();
  idle_.wait(lock, [&] { return std::ranges::find(forgotten_, &model) == forgotten_.end(); });
}

void Engine::wait() {
  std::unique_lock lock(mutex_);
  const bool is_idle = texts_ == 0 && waiting_.empty();
  const auto has_news = [&] {
    return is_interrupted_ || (is_idle && (!waiting_.empty() || !forgotten_.empty()));
  };
  if (is_idle)
    wake_.wait(lock, has_news);
  else
    wake_.wait_for(lock, kPause, has_news);
  is_interrupted_ = false;
}

void Engine::interrupt() {
  {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = true;
  }
  wake_.notify_all();
}

bool Engine::turn() {
  forget_models();
  end_waiting(/*is_in_turn=*/true);
  admit();
  bool did_anything = false;
  const std::function<void()> meanwhile = [this] { turn_meanwhile(); };
  // One step of one model, the models in turn.
  for (std::size_t i = 0; i < loops_.size() && !did_anything; ++i) {
    ModelLoop& loop = *loops_[next_loop_];
    next_loop_ = (next_loop_ + 1) % loops_.size();
    if (loop.texts() > 0) did_anything = loop.turn(running_bytes() - loop.bytes(), meanwhile);
  }
  pool_.trim(running_bytes());
  count_ended();
  return did_anything;
}

// One after the other, so that it takes no memory.
void Engine::forget_models() {
  const auto loop_of = [&](const Model* model) {
    return std::ranges::find_if(loops_, [&](const auto& loop) { return &loop->model() == model; });
  };
  while (true) {
    const Model* model = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto next = std::ranges::find_if(forgotten_, [&](const Model* one) {
        const auto loop = loop_of(one);
        return loop == loops_.end() || (*loop)->texts() == 0;
      });
      if (next == forgotten_.end()) return;
      model = *next;
    }
    if (const auto loop = loop_of(model); loop != loops_.end()) loops_.erase(loop);
    if (next_loop_ >= loops_.size()) next_loop_ = 0;
    pool_.drop(*model);
    {
      const std::lock_guard lock(mutex_);
      std::erase(forgotten_, model);
    }
    idle_.notify_all();
  }
}

// A long chunk of a prompt must not stop the texts that decode, nor keep a short prompt waiting.
// Their steps take a fifth of the time, so that the chunk goes on.
void Engine::turn_meanwhile() {
  const auto start = Clock::now();
  if (start < next_meanwhile_) return;
  end_waiting(/*is_in_turn=*/true);
  admit();
  bool did_anything = false;
  for (const auto& loop : loops_)
    if (loop->texts() > 0)
      did_anything = loop->turn_meanwhile(running_bytes() - loop->bytes()) || did_anything;
  count_ended();
  const auto end = Clock::now();
  next_meanwhile_ = did_anything ? end + kChunkShare * (end - start) : end + kLookAgain;
}

std::uint64_t Engine::running_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& loop : loops_) bytes += loop->bytes();
  return bytes;
}

// Requests that wait end when they are cancelled, and when the engine is closed before one of their
// texts runs.
void Engine::end_waiting(bool is_in_turn) {
  std::list<Waiting> dropped;
  bool is_closed = false;
  {
    const std::lock_guard lock(mutex_);
    is_closed = is_closed_;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      const auto next = std::next(it);
      const RequestTicket& ticket = *it->ticket;
      if (ticket.has_begun ? is_in_turn && ticket.is_cancelled()
                           : is_closed || ticket.is_cancelled()) {
        if (!ticket.has_begun) {
          ++finished_;
          ++cancelled_;
        }
        dropped.splice(dropped.end(), waiting_, it);
      }
      it = next;
    }
    if (waiting_.empty() && running_.empty()) idle_.notify_all();
  }
  if (dropped.empty()) return;
  const Status stopping = guarded([] { return cancelled("{}", kStopping); });
  for (Waiting& waiting : dropped) {
    waiting.ticket->was_cancelled = true;
    end(waiting, is_closed ? &stopping : nullptr);
  }
}

// Ends all texts of a request that have not begun: they failed, or else they are cancelled.
void Engine::end(Waiting& waiting, const Status* failure) noexcept {
  const auto reason = [&] {
    return failure != nullptr ? *failure
                              : guarded([] { return cancelled("[text] was cancelled"); });
  };
  if (const auto* labels = std::get_if<LabelRequest>(&waiting.request)) {
    --waiting.ticket->open;
    tell<LabelRequest::Logits>(labels->on_end, reason());
    return;
  }
  if (const auto* embed = std::get_if<EmbedRequest>(&waiting.request)) {
    --waiting.ticket->open;
    tell<EmbedRequest::Embeddings>(embed->on_end, reason());
    return;
  }
  for (const Choice& choice : std::get<Request>(waiting.request).choices) {
    --waiting.ticket->open;
    if (failure != nullptr)
      tell<GenerateResult>(choice.on_end, *failure);
    else
      tell<GenerateResult>(choice.on_end, cancelled_result(choice));
  }
}

// Gives free slots to requests that wait, one choice of each in turn.
void Engine::admit() {
  while (true) {
    std::list<Waiting> next;
    {
      const std::lock_guard lock(mutex_);
      texts_ = running_texts();
      waits_for_memory_ = !waiting_.empty() && !fits(waiting_.front());
      if (waiting_.empty() || waits_for_memory_ || texts_ >= options_.sequences) return;
      next.splice(next.end(), waiting_, waiting_.begin());
      RequestTicket& ticket = *next.front().ticket;
      if (!std::exchange(ticket.has_begun, true)) running_.push_back(next.front().ticket);
      ++texts_;
    }
    Waiting& waiting = next.front();
    const Status status = guarded([&]() -> Status {
      begin_next(waiting);
      return {};
    });
    if (!status.ok()) {
      end(waiting, &status);
      continue;
    }
    const auto* request = std::get_if<Request>(&waiting.request);
    if (request == nullptr || request->choices.empty()) continue;
    const std::lock_guard lock(mutex_);
    waiting_.splice(waiting_.end(), next);
  }
}

// After an exception nothing of the request has begun that had not before.
void Engine::begin_next(Waiting& waiting) {
  if (auto* labels = std::get_if<LabelRequest>(&waiting.request)) {
    ModelLoop& loop = loop_of(labels->model);
    loop.add(waiting.ticket, std::move(*labels));
    return;
  }
  if (auto* embed = std::get_if<EmbedRequest>(&waiting.request)) {
    ModelLoop& loop = loop_of(embed->model);
    loop.add(waiting.ticket, std::move(*embed));
    return;
  }
  auto& request = std::get<Request>(waiting.request);
  loop_of(request.model).add(waiting.ticket, std::move(request.choices.front()));
  request.choices.erase(request.choices.begin());
}

bool Engine::fits(const Waiting& waiting) const {
  if (texts_ == 0 || std::holds_alternative<LabelRequest>(waiting.request)) return true;
  const auto* embed = std::get_if<EmbedRequest>(&waiting.request);
  std::uint64_t reserved = 0;
  if (embed != nullptr) {
    reserved = Sequence::cache_bytes(*embed->model, embed->model->context());
  } else {
    const auto& request = std::get<Request>(waiting.request);
    reserved = reserved_bytes(*request.model, request.choices.front(), options_.speculation);
  }
  for (const auto& loop : loops_) reserved += loop->reserved();
  return reserved <= cache_bytes_;
}

ModelLoop& Engine::loop_of(const std::shared_ptr<const Model>& model) {
  for (const auto& loop : loops_)
    if (&loop->model() == model.get()) return *loop;
  loops_.push_back(
      std::make_unique<ModelLoop>(model, pool_, options_.speculation, options_.observer));
  return *loops_.back();
}

std::size_t Engine::running_texts() const {
  std::size_t texts = 0;
  for (const auto& loop : loops_) texts += loop->texts();
  return texts;
}

void Engine::count_ended() {
  const std::uint64_t used = running_bytes();
  const std::lock_guard lock(mutex_);
  used_bytes_ = used;
  texts_ = running_texts();
  std::erase_if(running_, [&](const Ticket& ticket) {
    if (ticket->open > 0) return false;
    ++finished_;
    if (ticket->was_cancelled) ++cancelled_;
    return true;
  });
  if (waiting_.empty() && running_.empty()) idle_.notify_all();
}

}  // namespace anemone::engine
