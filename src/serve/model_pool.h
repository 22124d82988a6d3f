// SPDX-License-Identifier: Apache-2.0
// The models of a server: which of them are loaded, who uses them, and who waits for one.
//
// A request takes a lease on its model and gives it back when its answer has ended. A model that is
// not loaded is loaded first; loads come one after the other, in the order in which requests asked
// for them, and requests of one model share its load. Where no more models may be loaded, or their
// files would have more bytes together than is allowed, the model without a lease that was not used
// for longest makes room. If all have leases, the one that was not asked for for longest gives out
// no more of them, so that it makes room once its requests have ended: steady requests of one model
// cannot keep the others out.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "serve/model_events.h"
#include "serve/model_provider.h"

namespace anemone::serve {

struct ServedModel : LoadedModel {
  std::vector<std::string> names;  // at least one; clients may use any of them
};
// Keeps a model loaded. The pool outlives it.
using ModelLease = std::shared_ptr<const ServedModel>;

struct ModelPoolOptions {
  using Clock = std::chrono::steady_clock;
  std::size_t max_loaded = 0;  // at a time; 0: all
  // The most bytes that the files of all loaded models may have together; 0: no bound. A larger
  // model is loaded alone.
  std::uint64_t max_bytes = 0;
  // A model without requests for this long is unloaded; none: it stays. set_keep_alive() changes it
  // for a model.
  std::optional<std::chrono::milliseconds> keep_alive = std::nullopt;
  std::size_t queue = 64;  // requests that may wait for models
  std::function<Clock::time_point()> now = Clock::now;
};

enum class ModelState { kUnloaded, kLoading, kLoaded, kUnloading, kFailed };
// "unloaded", "loading", "loaded", "unloading", "failed".
std::string_view model_state_name(ModelState state);

// What is told of a model.
struct ModelInfo {
  std::vector<std::string> names;
  ModelState state = ModelState::kUnloaded;
  std::string error;         // the reason of the failure, without folder names; else empty
  std::uint64_t bytes = 0;   // of the files of the loaded model; 0: it is not loaded
  std::int64_t context = 0;  // of the loaded model, in tokens; 0: it is not loaded
  std::uint64_t loads = 0;   // successful ones since the start
  std::uint64_t failed_loads = 0;
  std::uint64_t unloads = 0;
  double load_seconds = 0;  // of all loads together
};

// Thread-safe, but for what is said of start() and close().
class ModelPool {
 public:
  using Clock = ModelPoolOptions::Clock;
  using CancelFlag = std::shared_ptr<const std::atomic<bool>>;
  // Called once, on a thread that the pool has for that; it may take its time.
  using Then = std::function<void(Result<ModelLease>)>;

  // The names of each model, at least one each. kInvalidArgument when there is no model, or two
  // have one name.
  static Result<std::unique_ptr<ModelPool>> create(std::vector<std::vector<std::string>> names,
                                                   std::unique_ptr<ModelProvider> provider,
                                                   ModelPoolOptions options = {});
  ~ModelPool();
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  // Loads the first models on this thread, up to the first one for which there is no room; before
  // start(). The first error ends it.
  Status load_first();

  struct Hooks {
    // Has whoever ran a model drop what is kept of it, before it is unloaded. May be null.
    std::function<void(const engine::Model&)> forget;
    // Called for each load and unload. May be null.
    std::function<void(const ModelEvent&)> on_event;
  };
  // Models are loaded and unloaded from here on; once. The hooks are called on a thread of the
  // pool.
  void start(Hooks hooks);
  // Ends loads and leases: whoever waits for one gets kCancelled, and a load in progress is told to
  // end.
  void stop();
  // stop(), and waits for the load in progress and for all callbacks. What the hooks use has to
  // live until then.
  void close();

  std::size_t size() const { return entries_.size(); }
  const std::vector<std::string>& names(std::size_t model) const { return entries_[model].names; }
  // The index of a model. The empty name is the first one when there is no other. kNotFound for an
  // unknown name, kInvalidArgument for the empty one of several models.
  Result<std::size_t> find(std::string_view name) const;
  std::vector<ModelInfo> list() const;
  std::size_t waiting() const;  // requests

  // A lease on a model that is loaded, unless it is about to be unloaded; else null.
  ModelLease try_lease(std::size_t model);
  // try_lease() for reports about a model: it does not count as a use.
  ModelLease peek(std::size_t model);
  // Loads the model, where it is not loaded, and gives a lease on it. Once the flag is set, which
  // may be null, the request waits no more (kCancelled); after setting it, call look_again(). A
  // load that fails has the error of load_error(). kBusy when too many wait, and kCancelled after
  // stop(): then `then` is not called.
  Status lease_later(std::size_t model, CancelFlag cancel, Then then);
  void look_again();
  // try_lease(), else waits for lease_later(). `is_cancelled` is called again and again.
  Result<ModelLease> lease(std::size_t model, const std::function<bool()>& is_cancelled);
  // Has another time than ModelPoolOptions::keep_alive for a model, on which the caller has a
  // lease, until the next call or until it is unloaded.
  void set_keep_alive(std::size_t model, std::optional<std::chrono::milliseconds> time);
  // Unloads a model once nobody has a lease on it; requests that come meanwhile wait, and have it
  // loaded again. `then` gets null when it is unloaded, also where it was not loaded.
  void unload(std::size_t model, Then then);

 private:
  class Lease;
  struct Wait {
    std::size_t model = 0;
    std::shared_ptr<Lease> lease;  // made when there is somebody to tell that memory is missing
    CancelFlag cancel;
    Then then;
    Result<ModelLease> outcome = ModelLease();
  };
  using Waits = std::list<Wait>;
  struct Entry {
    std::vector<std::string> names;
    ServedModel served;       // its model is null while it is not loaded
    std::uint64_t bytes = 0;  // of its files: as the provider said, or as the last load did
    ModelState state = ModelState::kUnloaded;
    Status failure;
    std::size_t leases = 0;
    Clock::time_point asked;  // when a lease was taken last
    Clock::time_point used;   // when a lease was taken or given back last
    std::optional<std::chrono::milliseconds> keep_alive;  // of the loaded model
    Waits unloads;                                        // that wait until it is unloaded
    std::uint64_t loads = 0;
    std::uint64_t failed_loads = 0;
    std::uint64_t unload_count = 0;
    double load_seconds = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  ModelPool(std::vector<std::vector<std::string>> names, std::unique_ptr<ModelProvider> provider,
            ModelPoolOptions options);
  void run_loads();
  void run_answers();
  // All of these with the lock.
  void end_cancelled();
  void choose_victim();
  void grant();
  void grant_all_of(std::size_t model);
  void answer(Waits& from, Waits::iterator wait, Result<ModelLease> outcome);
  ModelLease activate(std::shared_ptr<Lease> lease, bool is_use);
  ModelLease take(std::size_t model, bool is_use);
  bool gives_leases(std::size_t model) const;
  // Whether a model is loaded, or is being loaded or unloaded.
  static bool is_in_memory(const Entry& entry);
  std::size_t in_memory() const;
  std::size_t most_loaded() const;
  std::uint64_t bytes_in_memory() const;
  bool has_room_for(std::size_t model) const;
  // Whether the models in memory have more bytes than is allowed: the size of the last one was not
  // known before it was loaded.
  bool is_over_bound() const;
  // A wait of a model that is not loaded; the end: none.
  Waits::iterator first_to_load();
  struct Unload {
    std::size_t model = 0;
    UnloadReason reason = UnloadReason::kAsked;
  };
  std::optional<Unload> next_unload();
  std::optional<Clock::time_point> next_expiry() const;
  void set_loaded(std::size_t model, LoadedModel loaded, double seconds);
  void load(Lock& lock, std::size_t model);
  void unload(Lock& lock, const Unload& next);
  void release(std::size_t model, bool is_use);
  void tell(const ModelEvent& event) const;

  const std::unique_ptr<ModelProvider> provider_;
  const ModelPoolOptions options_;
  Hooks hooks_;
  std::atomic<bool> cancel_ = false;  // of the load in progress

  mutable std::mutex mutex_;  // of all below but the threads
  std::condition_variable changed_;
  std::condition_variable answered_;
  std::vector<Entry> entries_;         // their names never change
  Waits waits_;                        // in the order in which they came
  Waits answers_;                      // to be given out
  std::optional<std::size_t> victim_;  // makes room once it has no lease
  bool is_stopped_ = false;
  bool is_closed_ = false;  // no more answers come
  std::thread loads_thread_;
  std::thread answers_thread_;
};

// The error that a request gets whose model could not be loaded: the reason without the names of
// folders, since clients see it.
Status load_error(const std::string& name, const Status& reason);

}  // namespace anemone::serve
