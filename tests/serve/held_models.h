// SPDX-License-Identifier: Apache-2.0
// A provider of scripted models that loads when a test lets it, counts and fails.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "serve/model_pool.h"
#include "tests/engine/scripted_model.h"

namespace anemone::serve::testing {

// How long a test waits for what a busy machine may do late.
inline constexpr std::chrono::minutes kLongWait{1};

// Each load gives a new model, which says the letter of its name over and over. Thread-safe.
class HeldModels : public ModelProvider {
 public:
  explicit HeldModels(engine::testing::ScriptOptions script = {}) : script_(std::move(script)) {}

  std::uint64_t bytes(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    const auto known = known_bytes_.find(name);
    return known == known_bytes_.end() ? 0 : known->second;
  }
  // What bytes() says of a model; its files have 1000 bytes.
  void know_bytes(const std::string& name, std::uint64_t bytes) { known_bytes_[name] = bytes; }

  Result<LoadedModel> load(const std::string& name, const std::atomic<bool>& cancel) override {
    std::unique_lock lock(mutex_);
    loads_ += name;
    most_ = std::max(most_, ++running_);
    changed_.notify_all();
    // Polled, as the flag has no condition.
    while (is_held_ && !cancel) changed_.wait_for(lock, std::chrono::milliseconds(1));
    --running_;
    if (cancel) return cancelled("[{}] loading was cancelled", name);
    if (const auto failure = failures_.find(name);
        failure != failures_.end() && !failure->second.ok())
      return failure->second;
    lock.unlock();
    engine::testing::ScriptedModel scripted(script_);
    for (std::int64_t at = 0; at <= script_.context; ++at) scripted.say(at, {name.front()});
    LoadedModel out;
    out.model = scripted.model();
    out.bytes = 1000;
    lock.lock();
    models_.push_back(out.model);
    return out;
  }
  // Loads that begin from now on wait.
  void hold() { set_held(true); }
  void let_go() { set_held(false); }
  // Loads of this model fail from now on, unless the status is ok.
  void fail(const std::string& name, Status status) {
    const std::lock_guard lock(mutex_);
    failures_[name] = std::move(status);
  }
  // Whether a load of this model came last and is running.
  bool wait_for_load(const std::string& name) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLongWait,
                             [&] { return running_ > 0 && loads_.ends_with(name); });
  }
  // The names of all loads, one after the other.
  std::string loads() const {
    const std::lock_guard lock(mutex_);
    return loads_;
  }
  int most_at_a_time() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }
  // How many of the models that were given out are still in memory.
  std::ptrdiff_t live() const {
    const std::lock_guard lock(mutex_);
    return std::ranges::count_if(models_, [](const auto& model) { return !model.expired(); });
  }

 private:
  void set_held(bool is_held) {
    const std::lock_guard lock(mutex_);
    is_held_ = is_held;
    changed_.notify_all();
  }

  const engine::testing::ScriptOptions script_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
  std::map<std::string, Status> failures_;
  std::map<std::string, std::uint64_t> known_bytes_;
  std::string loads_;
  int running_ = 0;
  int most_ = 0;
  std::vector<std::weak_ptr<const engine::Model>> models_;
};

}  // namespace anemone::serve::testing
