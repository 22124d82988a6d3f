// SPDX-License-Identifier: Apache-2.0
// How long the operations of a function take, added up over runs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace anemone::exec {

// One entry for each operation of the outermost block. Thread-safe; of runs that are in flight
// during a reset() only a part may count.
class OpTimes {
 public:
  explicit OpTimes(std::size_t operations) : ns_(operations), bytes_(operations) {}

  void reset() {
    for (auto& ns : ns_) ns = 0;
    for (auto& bytes : bytes_) bytes = 0;
    runs_ = 0;
  }
  void add(std::size_t operation, std::chrono::nanoseconds time) {
    ns_[operation].fetch_add(time.count(), std::memory_order_relaxed);
  }
  // Weights that the operation has read, where that depends on its inputs.
  void add_bytes(std::size_t operation, std::int64_t bytes) {
    bytes_[operation].fetch_add(bytes, std::memory_order_relaxed);
  }
  // What another object has counted for the same operations.
  void add(const OpTimes& more) {
    for (std::size_t i = 0; i < ns_.size(); ++i) {
      ns_[i].fetch_add(more.ns_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
      add_bytes(i, more.bytes(i));
    }
    runs_.fetch_add(more.runs(), std::memory_order_relaxed);
  }
  void add_run() { runs_.fetch_add(1, std::memory_order_relaxed); }

  double seconds(std::size_t operation) const {
    return static_cast<double>(ns_[operation].load(std::memory_order_relaxed)) * 1e-9;
  }
  std::int64_t bytes(std::size_t operation) const {
    return bytes_[operation].load(std::memory_order_relaxed);
  }
  std::vector<double> seconds() const {
    std::vector<double> out;
    for (std::size_t i = 0; i < ns_.size(); ++i) out.push_back(seconds(i));
    return out;
  }
  std::int64_t runs() const { return runs_.load(std::memory_order_relaxed); }

 private:
  std::vector<std::atomic<std::int64_t>> ns_;
  std::vector<std::atomic<std::int64_t>> bytes_;
  std::atomic<std::int64_t> runs_ = 0;
};

// Takes the time from one operation of a run to the next. Single-thread.
class OpTimer {
 public:
  explicit OpTimer(OpTimes& times) : times_(times) { times_.add_run(); }

  // The operation at this index ended just now.
  void done(std::size_t operation) {
    const auto now = std::chrono::steady_clock::now();
    times_.add(operation, now - last_);
    last_ = now;
  }

 private:
  OpTimes& times_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace anemone::exec
