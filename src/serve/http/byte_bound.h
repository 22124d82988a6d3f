// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "base/freed_memory.h"

namespace anemone::serve {

// A limit on the bytes that many holders have together. Thread-safe.
class ByteBound {
 public:
  explicit ByteBound(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  ByteBound(const ByteBound&) = delete;
  ByteBound& operator=(const ByteBound&) = delete;

  // The bytes of one holder. They are given back when the lease ends, so the bound outlives it. One
  // thread at a time may use a lease.
  class Lease {
   public:
    Lease() = default;
    explicit Lease(ByteBound& bound) : bound_(&bound) {}
    Lease(Lease&& other) noexcept
        : bound_(other.bound_), bytes_(std::exchange(other.bytes_, std::size_t{0})) {}
    Lease& operator=(Lease&& other) noexcept {
      if (this == &other) return *this;
      release();
      bound_ = other.bound_;
      bytes_ = std::exchange(other.bytes_, std::size_t{0});
      return *this;
    }
    ~Lease() { release(); }

    std::size_t bytes() const { return bytes_; }
    // False, and nothing is changed, when all together would hold more than they may.
    bool resize(std::size_t bytes) {
      if (bytes > bytes_ && (bound_ == nullptr || !bound_->take(bytes - bytes_))) return false;
      if (bytes < bytes_) bound_->give_back(bytes_ - bytes);
      bytes_ = bytes;
      return true;
    }
    // Adds what another one of the same bound holds.
    void absorb(Lease&& other) {
      if (other.bound_ != nullptr) bound_ = other.bound_;
      bytes_ += std::exchange(other.bytes_, std::size_t{0});
    }
    void release() { resize(0); }

   private:
    ByteBound* bound_ = nullptr;
    std::size_t bytes_ = 0;
  };

  std::size_t held() const { return held_; }
  std::size_t max_bytes() const { return max_bytes_; }

 private:
  bool take(std::size_t bytes) {
    std::size_t held = held_.load();
    do {
      if (bytes > max_bytes_ || held > max_bytes_ - bytes) return false;
    } while (!held_.compare_exchange_weak(held, held + bytes));
    return true;
  }

  void give_back(std::size_t bytes) {
    held_ -= bytes;
    note_freed(bytes);
  }

  const std::size_t max_bytes_;
  std::atomic<std::size_t> held_ = 0;
};

}  // namespace anemone::serve
