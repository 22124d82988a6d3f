// SPDX-License-Identifier: Apache-2.0
// Which request runs when, and in which session.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/session/session.h"

namespace anemone::serve {

// One request to the scheduler. Either run() is called, on a thread of the scheduler, or fail(),
// there or on the thread of cancel(), close() or shutdown(); fail() also after a run() that threw.
// Neither may call the scheduler.
class Job {
 public:
  virtual ~Job() = default;
  virtual const std::shared_ptr<const engine::Model>& model() const = 0;
  // The tokens that it begins with: the session that has most of them gets it.
  virtual std::span<const std::int32_t> prompt() const = 0;
  // The session holds anything; it is the job's own until it returns.
  virtual void run(engine::Session& session) = 0;
  virtual void fail(const Status& status) = 0;

  // Set when the job is to end; run() polls it.
  const std::atomic<bool>& is_cancelled() const { return is_cancelled_; }

 protected:
  // Called by what run() calls, to end the run for a reason of its own.
  void give_up() { is_cancelled_ = true; }

 private:
  friend class Scheduler;
  std::atomic<bool> is_cancelled_ = false;
};

struct SchedulerOptions {
  int parallel = 1;        // jobs that run at a time, and sessions per model
  std::size_t queue = 64;  // jobs that wait
};

// Runs jobs in the order in which they came, on threads of its own. Thread-safe.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // kBusy when the queue is full, kCancelled after close(): then nothing of the job is called.
  Status submit(std::shared_ptr<Job> job);
  // A job that waits leaves the queue and fails; one that runs is cancelled.
  void cancel(const std::shared_ptr<Job>& job);

  struct Counts {
    std::size_t waiting = 0;
    std::size_t running = 0;
    std::size_t cancelling = 0;  // of them, those that are being cancelled
    std::uint64_t finished = 0;
    std::uint64_t cancelled = 0;  // of them, those that were cancelled
  };
  Counts counts() const;

  // No more jobs; those that wait fail.
  void close();
  // Whether no job runs or waits, after this time at most.
  bool wait_until_idle(std::chrono::milliseconds time);
  // close(), ends what runs, and joins the threads. `cut_off` is set to the number of jobs that it
  // cancelled before it waits for them.
  void shutdown(std::atomic<std::size_t>* cut_off = nullptr);

 private:
  // A session, and whether a job has it.
  struct Sequence {
    std::unique_ptr<engine::Session> session;
    std::uint64_t last_use = 0;
    bool is_busy = false;
  };
  // The sessions of one model: at most `parallel`, made when they are needed.
  using Sequences = std::vector<std::unique_ptr<Sequence>>;

  void work();
  void run_job(Job& job, Sequence* sequence) noexcept;
  Sequence* take_sequence(Job& job) noexcept;  // nullptr for want of memory

  const SchedulerOptions options_;
  const std::size_t parallel_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::shared_ptr<Job>> waiting_;
  std::vector<std::shared_ptr<Job>> running_;
  std::map<const engine::Model*, Sequences> sequences_;
  std::uint64_t uses_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t cancelled_ = 0;
  bool is_closed_ = false;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

// How many tokens two lists begin with in common.
std::size_t common_prefix(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

}  // namespace anemone::serve
