// SPDX-License-Identifier: Apache-2.0
// Memory that is charged to the WorkBudget of a request as long as the request holds it. Objects of
// both types belong to one budget, which outlives them, and to its thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/work_budget.h"

namespace anemone {

// A number of bytes that is charged to the budget; the destructor gives them back.
class MemoryCharge {
 public:
  explicit MemoryCharge(WorkBudget& work) : work_(&work) {}
  MemoryCharge(MemoryCharge&& other) noexcept
      : work_(other.work_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    work_->give_back(bytes_);
    work_ = other.work_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~MemoryCharge() {
    if (bytes_ != 0) work_->give_back(bytes_);
  }

  // Makes the charge `bytes` in all, more or fewer than before. After an error, which is that of
  // WorkBudget::take(), the charge is what it was.
  Status hold(std::size_t bytes) {
    if (bytes > bytes_) {
      ANEMONE_RETURN_IF_ERROR(work_->take(bytes - bytes_));
    } else {
      work_->give_back(bytes_ - bytes);
    }
    bytes_ = bytes;
    return {};
  }
  std::size_t bytes() const { return bytes_; }
  // Leaves the bytes charged when this ends: the request keeps the memory until the budget ends.
  void keep() { bytes_ = 0; }

 private:
  WorkBudget* work_;
  std::size_t bytes_ = 0;
};

// A vector whose memory is charged before it is allocated.
template <typename T>
class ChargedVector {
 public:
  explicit ChargedVector(WorkBudget& work) : charge_(work), growth_(work) {}

  // Makes room for `more` items, at least doubling it when it has to grow.
  Status make_room(std::size_t more) {
    if (more <= items_.capacity() - items_.size()) return {};
    const std::size_t room = std::max({items_.size() + more, 2 * items_.capacity(), kLeastRoom});
    // While the items move, the old and the new memory exist together.
    ANEMONE_RETURN_IF_ERROR(growth_.hold(room * sizeof(T)));
    items_.reserve(room);
    std::swap(charge_, growth_);
    return growth_.hold(0);
  }
  bool is_full() const { return items_.size() == items_.capacity(); }
  // There must be room.
  void push_back(const T& item) { items_.push_back(item); }
  template <typename Items>
  void append(const Items& items) {  // there must be room
    items_.insert(items_.end(), items.begin(), items.end());
  }
  Status push(const T& item) {
    if (is_full()) ANEMONE_RETURN_IF_ERROR(make_room(1));
    push_back(item);
    return {};
  }
  void clear() { items_.clear(); }  // keeps the room
  void cut_to(std::size_t size) {
    items_.erase(begin() + static_cast<std::ptrdiff_t>(size), end());
  }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  const T* data() const { return items_.data(); }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  static constexpr std::size_t kLeastRoom = 16;
  std::vector<T> items_;
  MemoryCharge charge_;
  MemoryCharge growth_;
};

}  // namespace anemone
