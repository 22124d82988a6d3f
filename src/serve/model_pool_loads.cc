// SPDX-License-Identifier: Apache-2.0
// The thread of ModelPool that loads and unloads models, one at a time, and the rules by which it
// chooses what to do next.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "engine/loop/guarded.h"
#include "serve/model_pool.h"

namespace anemone::serve {
namespace {

double seconds_between(ModelPool::Clock::time_point start, ModelPool::Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace

void ModelPool::run_loads() {
  Lock lock(mutex_);
  while (!is_stopped_) {
    choose_victim();
    grant();
    if (const auto next = next_unload()) {
      unload(lock, *next);
      continue;
    }
    const auto wait = first_to_load();
    if (wait != waits_.end() && has_room_for(wait->model)) {
      load(lock, wait->model);
      continue;
    }
    if (const auto expiry = next_expiry())
      changed_.wait_for(lock, *expiry - options_.now());
    else
      changed_.wait(lock);
  }
}

void ModelPool::end_cancelled() {
  for (auto it = waits_.begin(); it != waits_.end();) {
    const auto wait = it++;
    if (wait->cancel != nullptr && *wait->cancel)
      // guarded(): even the text of the error may not find memory, which must not end the thread.
      answer(waits_, wait, engine::guarded([] {
               return cancelled("[request] was cancelled while it waited for its model");
             }));
  }
}

// Chooses the model that is unloaded so that the first waiting request can have its own: of the
// loaded models without leases the one that was unused for longest, else the one whose last lease
// was taken longest ago. The same is done after a load that exceeded the bound on bytes. The victim
// gives out no leases, also to requests that wait for it: otherwise a busy model would never become
// free.
void ModelPool::choose_victim() {
  const auto next = first_to_load();
  if ((next == waits_.end() || has_room_for(next->model)) && !is_over_bound()) {
    victim_.reset();
    return;
  }
  const Entry* idle = nullptr;
  const Entry* oldest = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.state != ModelState::kLoaded) continue;
    if (entry.leases == 0 && (idle == nullptr || entry.used < idle->used)) idle = &entry;
    if (oldest == nullptr || entry.asked < oldest->asked) oldest = &entry;
  }
  if (oldest == nullptr)
    victim_.reset();  // what is in memory is being loaded or unloaded
  else if (idle != nullptr)
    victim_ = static_cast<std::size_t>(idle - entries_.data());
  else if (!victim_ || entries_[*victim_].state != ModelState::kLoaded)
    victim_ = static_cast<std::size_t>(oldest - entries_.data());
}

void ModelPool::grant() {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].state == ModelState::kLoaded && gives_leases(i)) grant_all_of(i);
}

void ModelPool::grant_all_of(std::size_t model) {
  for (auto it = waits_.begin(); it != waits_.end();) {
    const auto wait = it++;
    if (wait->model == model)
      answer(waits_, wait, activate(std::move(wait->lease), /*is_use=*/true));
  }
}

bool ModelPool::gives_leases(std::size_t model) const {
  return victim_ != model && entries_[model].unloads.empty();
}

bool ModelPool::is_in_memory(const Entry& entry) {
  return entry.state != ModelState::kUnloaded && entry.state != ModelState::kFailed;
}

std::size_t ModelPool::in_memory() const {
  return static_cast<std::size_t>(std::ranges::count_if(entries_, is_in_memory));
}

std::uint64_t ModelPool::bytes_in_memory() const {
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries_)
    if (is_in_memory(entry)) bytes += entry.bytes;
  return bytes;
}

bool ModelPool::has_room_for(std::size_t model) const {
  if (in_memory() == 0) return true;
  if (in_memory() >= most_loaded()) return false;
  return options_.max_bytes == 0 || bytes_in_memory() + entries_[model].bytes <= options_.max_bytes;
}

bool ModelPool::is_over_bound() const {
  return options_.max_bytes != 0 && in_memory() > 1 && bytes_in_memory() > options_.max_bytes;
}

std::size_t ModelPool::most_loaded() const {
  // 0: no limit.
  return options_.max_loaded == 0 ? entries_.size()
                                  : std::min(options_.max_loaded, entries_.size());
}

ModelPool::Waits::iterator ModelPool::first_to_load() {
  return std::ranges::find_if(waits_, [&](const Wait& wait) {
    const ModelState state = entries_[wait.model].state;
    return state == ModelState::kUnloaded || state == ModelState::kFailed;
  });
}

std::optional<ModelPool::Unload> ModelPool::next_unload() {
  const auto is_free = [](const Entry& entry) {
    return entry.state == ModelState::kLoaded && entry.leases == 0;
  };
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (is_free(entries_[i]) && !entries_[i].unloads.empty())
      return Unload{i, UnloadReason::kAsked};
  if (victim_ && is_free(entries_[*victim_])) return Unload{*victim_, UnloadReason::kRoom};
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (is_free(entries_[i]) && entries_[i].keep_alive &&
        options_.now() - entries_[i].used >= *entries_[i].keep_alive)
      return Unload{i, UnloadReason::kIdle};
  return std::nullopt;
}

std::optional<ModelPool::Clock::time_point> ModelPool::next_expiry() const {
  std::optional<Clock::time_point> out;
  for (const Entry& entry : entries_)
    if (entry.state == ModelState::kLoaded && entry.leases == 0 && entry.keep_alive)
      out = std::min(out.value_or(Clock::time_point::max()), entry.used + *entry.keep_alive);
  return out;
}

void ModelPool::load(Lock& lock, std::size_t model) {
  Entry& entry = entries_[model];
  const std::string& name = entry.names.front();
  entry.state = ModelState::kLoading;
  entry.failure = Status();
  lock.unlock();
  tell({.kind = ModelEvent::Kind::kLoading, .model = name});
  const auto start = Clock::now();
  auto loaded = engine::guarded([&] { return provider_->load(name, cancel_); });
  const double seconds = seconds_between(start, Clock::now());
  const Status failure =
      loaded.ok() ? Status() : engine::guarded([&] { return load_error(name, loaded.status()); });
  if (loaded.ok())
    tell({.kind = ModelEvent::Kind::kLoaded,
          .model = name,
          .seconds = seconds,
          .bytes = loaded->bytes});
  else
    tell({.kind = ModelEvent::Kind::kFailed,
          .model = name,
          .seconds = seconds,
          .error = loaded.status().message()});
  lock.lock();
  if (loaded.ok()) {
    set_loaded(model, *std::move(loaded), seconds);
    // Also if somebody asked to unload the model during the load: the requests that wait for it
    // came first.
    grant_all_of(model);
    return;
  }
  entry.state = ModelState::kFailed;
  entry.failure = failure;
  ++entry.failed_loads;
  // Whoever asked for an unload gets null: the model is not loaded.
  while (!entry.unloads.empty()) answer(entry.unloads, entry.unloads.begin(), ModelLease());
  for (auto it = waits_.begin(); it != waits_.end();) {
    const auto wait = it++;
    if (wait->model == model) answer(waits_, wait, failure);
  }
}

void ModelPool::unload(Lock& lock, const Unload& next) {
  Entry& entry = entries_[next.model];
  entry.state = ModelState::kUnloading;
  ModelEvent event{.kind = ModelEvent::Kind::kUnloaded, .reason = next.reason};
  // How long the model was not used.
  event.seconds = seconds_between(entry.used, options_.now());
  event.bytes = entry.served.bytes;
  // Drops the loaded model of the ServedModel; its names stay.
  LoadedModel going = std::exchange(static_cast<LoadedModel&>(entry.served), LoadedModel());
  lock.unlock();
  // Whoever drops the last reference frees the model, which takes long. The engine drops its own
  // first, so that this thread frees the model, and not the engine thread.
  if (hooks_.forget) hooks_.forget(*going.model);
  going = LoadedModel();
  event.model = entry.names.front();
  tell(event);
  lock.lock();
  entry.state = ModelState::kUnloaded;
  ++entry.unload_count;
  while (!entry.unloads.empty()) answer(entry.unloads, entry.unloads.begin(), ModelLease());
}

}  // namespace anemone::serve
