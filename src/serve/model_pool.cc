// SPDX-License-Identifier: Apache-2.0
#include "serve/model_pool.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/escape.h"
#include "engine/loop/guarded.h"
#include "serve/without_folders.h"

namespace anemone::serve {
namespace {

// How often a request that waits is asked whether it still does.
constexpr std::chrono::milliseconds kAskAgain{50};

Status pool_stopping() {
  return engine::guarded([] { return cancelled("[server] is stopping"); });
}

}  // namespace

Status load_error(const std::string& name, const Status& reason) {
  const bool is_of_the_moment = reason.code() == Code::kOutOfMemory ||
                                reason.code() == Code::kBusy || reason.code() == Code::kCancelled;
  return Status(is_of_the_moment ? reason.code() : Code::kInternal,
                fmt::format("[model] cannot load {}: {}", name, without_folders(reason.message())));
}

std::string_view model_state_name(ModelState state) {
  switch (state) {
    case ModelState::kUnloaded:
      return "unloaded";
    case ModelState::kLoading:
      return "loading";
    case ModelState::kLoaded:
      return "loaded";
    case ModelState::kUnloading:
      return "unloading";
    case ModelState::kFailed:
      return "failed";
  }
  return "";
}

// What the leases that were given to one request share. Inactive until it is granted.
class ModelPool::Lease {
 public:
  Lease(ModelPool& pool, std::size_t model) : pool_(pool), model_(model) {}
  ~Lease() {
    if (is_active_) pool_.release(model_, is_use_);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  friend class ModelPool;
  ModelPool& pool_;
  const std::size_t model_;
  bool is_active_ = false;
  bool is_use_ = false;
};

Result<std::unique_ptr<ModelPool>> ModelPool::create(std::vector<std::vector<std::string>> names,
                                                     std::unique_ptr<ModelProvider> provider,
                                                     ModelPoolOptions options) {
  if (names.empty()) return invalid_argument("[MODEL] expected at least one model, got none");
  std::set<std::string> seen;
  for (const std::vector<std::string>& of_model : names)
    for (const std::string& name : of_model)
      if (!seen.insert(name).second)
        return invalid_argument(
            "[{}] two models have this name: give them different ones with --alias", name);
  return std::unique_ptr<ModelPool>(
      new ModelPool(std::move(names), std::move(provider), std::move(options)));
}

ModelPool::ModelPool(std::vector<std::vector<std::string>> names,
                     std::unique_ptr<ModelProvider> provider, ModelPoolOptions options)
    : provider_(std::move(provider)), options_(std::move(options)), entries_(names.size()) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    entries_[i].bytes = provider_->bytes(names[i].front());
    entries_[i].names = entries_[i].served.names = std::move(names[i]);
  }
}

ModelPool::~ModelPool() {
  close();
}

Status ModelPool::load_first() {
  for (std::size_t i = 0; i < entries_.size() && has_room_for(i); ++i) {
    const auto start = Clock::now();
    ANEMONE_ASSIGN_OR_RETURN(LoadedModel loaded,
                             provider_->load(entries_[i].names.front(), cancel_));
    const std::lock_guard lock(mutex_);
    set_loaded(i, std::move(loaded), std::chrono::duration<double>(Clock::now() - start).count());
  }
  return {};
}

void ModelPool::set_loaded(std::size_t model, LoadedModel loaded, double seconds) {
  Entry& entry = entries_[model];
  static_cast<LoadedModel&>(entry.served) = std::move(loaded);
  entry.bytes = entry.served.bytes;
  entry.state = ModelState::kLoaded;
  entry.asked = entry.used = options_.now();
  entry.keep_alive = options_.keep_alive;
  ++entry.loads;
  entry.load_seconds += seconds;
}

void ModelPool::start(Hooks hooks) {
  ANEMONE_CHECK(!loads_thread_.joinable());
  hooks_ = std::move(hooks);
  loads_thread_ = std::thread([this] { run_loads(); });
  answers_thread_ = std::thread([this] { run_answers(); });
}

void ModelPool::stop() {
  const Status stopping = pool_stopping();
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = cancel_ = true;
    while (!waits_.empty()) answer(waits_, waits_.begin(), stopping);
    for (Entry& entry : entries_)
      while (!entry.unloads.empty()) answer(entry.unloads, entry.unloads.begin(), stopping);
  }
  changed_.notify_all();
}

void ModelPool::close() {
  stop();
  if (loads_thread_.joinable()) loads_thread_.join();
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  answered_.notify_all();
  if (answers_thread_.joinable()) answers_thread_.join();
}

Result<std::size_t> ModelPool::find(std::string_view name) const {
  if (name.empty()) {
    if (entries_.size() == 1) return std::size_t{0};
    return invalid_argument("[model] expected the name of one of the {} models, got none",
                            entries_.size());
  }
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (std::ranges::find(entries_[i].names, name) != entries_[i].names.end()) return i;
  return not_found("[model] expected a model of this server (see /v1/models), got \"{}\"",
                   shortened(name, 200));
}

std::vector<ModelInfo> ModelPool::list() const {
  std::vector<ModelInfo> out;
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    ModelInfo& info = out.emplace_back();
    info.names = entry.names;
    info.state = entry.state;
    info.error = entry.failure.message();
    info.bytes = entry.served.bytes;
    info.context = entry.served.model == nullptr ? 0 : entry.served.model->context();
    info.loads = entry.loads;
    info.failed_loads = entry.failed_loads;
    info.unloads = entry.unload_count;
    info.load_seconds = entry.load_seconds;
  }
  return out;
}

std::size_t ModelPool::waiting() const {
  const std::lock_guard lock(mutex_);
  return waits_.size();
}

ModelLease ModelPool::try_lease(std::size_t model) {
  return take(model, /*is_use=*/true);
}

ModelLease ModelPool::peek(std::size_t model) {
  return take(model, /*is_use=*/false);
}

ModelLease ModelPool::take(std::size_t model, bool is_use) {
  auto lease = std::make_shared<Lease>(*this, model);
  const std::lock_guard lock(mutex_);
  if (entries_[model].state != ModelState::kLoaded || (is_use && !gives_leases(model)))
    return nullptr;
  return activate(std::move(lease), is_use);
}

Status ModelPool::lease_later(std::size_t model, CancelFlag cancel, Then then) {
  Waits one;
  one.push_back({model, std::make_shared<Lease>(*this, model), std::move(cancel), std::move(then)});
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return pool_stopping();
    if (waits_.size() >= options_.queue)
      return busy("[server] {} requests wait for models already: try again later", options_.queue);
    waits_.splice(waits_.end(), one);
    end_cancelled();  // it may be so already
    // Now, not when the thread of the loads comes to it: no later request is served before this one
    // by the model that has to go.
    choose_victim();
  }
  changed_.notify_all();
  return {};
}

void ModelPool::look_again() {
  {
    const std::lock_guard lock(mutex_);
    end_cancelled();
  }
  changed_.notify_all();
}

Result<ModelLease> ModelPool::lease(std::size_t model, const std::function<bool()>& is_cancelled) {
  if (ModelLease lease = try_lease(model)) return lease;
  struct End {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<Result<ModelLease>> result;
  };
  const auto end = std::make_shared<End>();
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  ANEMONE_RETURN_IF_ERROR(lease_later(model, cancel, [end](Result<ModelLease> result) {
    {
      const std::lock_guard lock(end->mutex);
      end->result = std::move(result);
    }
    end->came.notify_one();
  }));
  std::unique_lock lock(end->mutex);
  while (!end->came.wait_for(lock, kAskAgain, [&] { return end->result.has_value(); })) {
    if (*cancel || !is_cancelled()) continue;
    *cancel = true;
    look_again();
  }
  return *std::move(end->result);
}

void ModelPool::set_keep_alive(std::size_t model, std::optional<std::chrono::milliseconds> time) {
  // The thread of the loads looks at it once the lease is given back.
  const std::lock_guard lock(mutex_);
  entries_[model].keep_alive = time;
}

void ModelPool::unload(std::size_t model, Then then) {
  Waits one;
  one.push_back({model, nullptr, nullptr, std::move(then)});
  {
    const Status stopping = pool_stopping();
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[model];
    if (is_stopped_) {
      answer(one, one.begin(), stopping);
    } else if (entry.state == ModelState::kUnloaded || entry.state == ModelState::kFailed) {
      entry.state = ModelState::kUnloaded;
      entry.failure = Status();
      answer(one, one.begin(), ModelLease());
    } else {
      entry.unloads.splice(entry.unloads.end(), one);
    }
  }
  changed_.notify_all();
}

void ModelPool::run_answers() {
  Lock lock(mutex_);
  while (true) {
    answered_.wait(lock, [&] { return is_closed_ || !answers_.empty(); });
    if (answers_.empty()) return;
    Waits one;
    one.splice(one.end(), answers_, answers_.begin());
    lock.unlock();
    const Status ignored = engine::guarded([&]() -> Status {
      one.front().then(std::move(one.front().outcome));
      return {};
    });
    one.clear();
    lock.lock();
  }
}

void ModelPool::answer(Waits& from, Waits::iterator wait, Result<ModelLease> outcome) {
  wait->outcome = std::move(outcome);
  answers_.splice(answers_.end(), from, wait);
  answered_.notify_one();
}

ModelLease ModelPool::activate(std::shared_ptr<Lease> lease, bool is_use) {
  Entry& entry = entries_[lease->model_];
  lease->is_active_ = true;
  lease->is_use_ = is_use;
  ++entry.leases;
  if (is_use) entry.asked = entry.used = options_.now();
  return {std::move(lease), &entry.served};
}

void ModelPool::release(std::size_t model, bool is_use) {
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[model];
    if (is_use) entry.used = options_.now();
    if (--entry.leases > 0) return;
  }
  changed_.notify_all();
}

void ModelPool::tell(const ModelEvent& event) const {
  if (!hooks_.on_event) return;
  const Status ignored = engine::guarded([&]() -> Status {
    hooks_.on_event(event);
    return {};
  });
}

}  // namespace anemone::serve
