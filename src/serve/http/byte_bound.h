// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace anemone::serve {

// Bytes that many hold together, at most so many of them. Thread-safe.
class ByteBound {
 public:
  explicit ByteBound(std::size_t most) : most_(most) {}
  ByteBound(const ByteBound&) = delete;
  ByteBound& operator=(const ByteBound&) = delete;

  // The bytes that one of them holds; given back when it ends, so the bound outlives it. For one
  // thread at a time.
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
    bool grow_to(std::size_t bytes) {
      if (bytes <= bytes_) return true;
      if (bound_ == nullptr || !bound_->take(bytes - bytes_)) return false;
      bytes_ = bytes;
      return true;
    }
    void release() {
      if (bytes_ > 0) bound_->held_ -= bytes_;
      bytes_ = 0;
    }

   private:
    ByteBound* bound_ = nullptr;
    std::size_t bytes_ = 0;
  };

  std::size_t held() const { return held_; }

 private:
  bool take(std::size_t bytes) {
    std::size_t held = held_.load();
    do {
      if (bytes > most_ || held > most_ - bytes) return false;
    } while (!held_.compare_exchange_weak(held, held + bytes));
    return true;
  }

  const std::size_t most_;
  std::atomic<std::size_t> held_ = 0;
};

}  // namespace anemone::serve
