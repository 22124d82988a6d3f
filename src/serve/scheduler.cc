// SPDX-License-Identifier: Apache-2.0
#include "serve/scheduler.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace anemone::serve {
namespace {

// Tells the job, whose client gets no answer when there is no memory for one.
void fail_job(Job& job, Code code, std::string_view message) noexcept {
  try {
    job.fail(Status(code, std::string(message)));
  } catch (...) {
    // The job ends, and with it the connection.
  }
}

constexpr std::string_view kStopping = "[server] is stopping";

}  // namespace

std::size_t common_prefix(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

Scheduler::Scheduler(const SchedulerOptions& options)
    : options_(options), parallel_(static_cast<std::size_t>(std::max(1, options.parallel))) {
  running_.reserve(parallel_);
  for (std::size_t i = 0; i < parallel_; ++i) threads_.emplace_back([this] { work(); });
}

Scheduler::~Scheduler() {
  shutdown();
}

Status Scheduler::submit(std::shared_ptr<Job> job) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return cancelled("{}", kStopping);
    // A thread that is free takes a job at once, so it does not count as waiting.
    const std::size_t free = parallel_ - running_.size();
    if (waiting_.size() >= options_.queue + free)
      return busy("[server] the queue of {} requests is full: try again later", options_.queue);
    waiting_.push_back(std::move(job));
  }
  wake_.notify_one();
  return {};
}

void Scheduler::cancel(const std::shared_ptr<Job>& job) {
  {
    const std::lock_guard lock(mutex_);
    job->is_cancelled_ = true;
    const auto it = std::ranges::find(waiting_, job);
    if (it == waiting_.end()) return;
    waiting_.erase(it);
    ++finished_;
    ++cancelled_;
    if (waiting_.empty() && running_.empty()) idle_.notify_all();
  }
  fail_job(*job, Code::kCancelled, "[request] was cancelled");
}

Scheduler::Counts Scheduler::counts() const {
  const std::lock_guard lock(mutex_);
  const auto cancelling = std::ranges::count_if(
      running_, [](const std::shared_ptr<Job>& job) { return job->is_cancelled_.load(); });
  return {waiting_.size(), running_.size(), static_cast<std::size_t>(cancelling), finished_,
          cancelled_};
}

void Scheduler::close() {
  std::deque<std::shared_ptr<Job>> dropped;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    dropped.swap(waiting_);
    finished_ += dropped.size();
    cancelled_ += dropped.size();
    if (running_.empty()) idle_.notify_all();
  }
  for (const auto& job : dropped) fail_job(*job, Code::kCancelled, kStopping);
}

bool Scheduler::wait_until_idle(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, time, [&] { return waiting_.empty() && running_.empty(); });
}

void Scheduler::shutdown(std::atomic<std::size_t>* cut_off) {
  close();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    std::size_t told = 0;
    for (const auto& job : running_)
      if (!job->is_cancelled_.exchange(true)) ++told;
    if (cut_off != nullptr) *cut_off = told;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void Scheduler::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::shared_ptr<Job> job = std::move(waiting_.front());
    waiting_.pop_front();
    running_.push_back(job);
    Sequence* const sequence = take_sequence(*job);
    lock.unlock();
    run_job(*job, sequence);
    lock.lock();
    if (sequence != nullptr) {
      sequence->is_busy = false;
      sequence->last_use = ++uses_;
    }
    std::erase(running_, job);
    ++finished_;
    if (job->is_cancelled_) ++cancelled_;
    if (waiting_.empty() && running_.empty()) idle_.notify_all();
  }
}

// The one place where a job ends that throws.
void Scheduler::run_job(Job& job, Sequence* sequence) noexcept {
  constexpr std::string_view kTooLarge = "[request] there is not enough memory to answer it";
  if (sequence == nullptr) return fail_job(job, Code::kOutOfMemory, kTooLarge);
  try {
    if (sequence->session == nullptr) {
      auto session = engine::Session::create(job.model());
      if (!session.ok()) return job.fail(session.status());
      sequence->session = *std::move(session);
    }
    return job.run(*sequence->session);
  } catch (const std::bad_alloc&) {
    fail_job(job, Code::kOutOfMemory, kTooLarge);
  } catch (const std::exception& error) {
    fail_job(job, Code::kInternal, error.what());
  } catch (...) {
    fail_job(job, Code::kInternal, "[server] failed on this request");
  }
  sequence->session.reset();  // in the middle of anything
}

// A session that has at least half of the prompt serves it; else a new one, so that the others keep
// what they hold; else the one that was not used for longest.
Scheduler::Sequence* Scheduler::take_sequence(Job& job) noexcept try {
  Sequences& sequences = sequences_[job.model().get()];
  const std::span<const std::int32_t> prompt = job.prompt();
  Sequence* best = nullptr;
  std::size_t most = 0;
  Sequence* oldest = nullptr;
  for (const auto& sequence : sequences) {
    if (sequence->is_busy) continue;
    if (oldest == nullptr || sequence->last_use < oldest->last_use) oldest = sequence.get();
    if (sequence->session == nullptr) continue;
    const std::size_t common = common_prefix(sequence->session->tokens(), prompt);
    if (common > most) {
      best = sequence.get();
      most = common;
    }
  }
  if (2 * most < prompt.size()) best = nullptr;
  if (best == nullptr && sequences.size() < parallel_) {
    sequences.push_back(std::make_unique<Sequence>());
    best = sequences.back().get();
  }
  if (best == nullptr) best = oldest;
  ANEMONE_CHECK(best != nullptr);  // there are as many sequences as threads
  best->is_busy = true;
  return best;
} catch (...) {
  return nullptr;
}

}  // namespace anemone::serve
