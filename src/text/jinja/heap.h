// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/work_budget.h"
#include "text/jinja/limits.h"
#include "text/jinja/value.h"

namespace anemone::text::jinja {

// The values of one render: counts their memory and the work on them, against the limits of the
// render and the budget of the request. Outlives all values that it made; single-thread.
//
// Values that contain each other are legal (a namespace in itself): what such a cycle keeps alive
// ends with the heap. Values nested to any depth are dropped without recursion.
class Heap {
 public:
  // `budget` may be null.
  Heap(const Limits& limits, WorkBudget* budget);
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap();

  // Counts work (limits.h) before it is done. kInvalidArgument when a limit is used up.
  Status charge(std::size_t units) {
    if (units > work_left_) {
      // Nor is there any for what comes next: a generator keeps its error until its end.
      work_left_ = 0;
      return exhausted();
    }
    work_left_ -= units;
    return budget_ == nullptr ? Status() : budget_->spend(units);
  }
  // Counts memory that is held from now on. kInvalidArgument when it is more than the limit.
  Status take(std::size_t bytes);
  void give_back(std::size_t bytes);

  // Values, charged and counted. kInvalidArgument for one longer than the limits allow.
  Result<Value> text(std::string text);
  Result<Value> undefined(std::string hint);
  Result<Value> sequence(std::vector<Value> items, SequenceKind kind = SequenceKind::kList,
                         Status end = {});
  Result<Value> dict(Dict dict);
  // An object of a kind of container, which stands for `bytes` with what it holds.
  template <typename T>
  Result<std::shared_ptr<T>> make(T object, std::size_t bytes) {
    ANEMONE_RETURN_IF_ERROR(charge(cost::kObject));
    ANEMONE_RETURN_IF_ERROR(take(bytes));
    std::shared_ptr<T> pointer(new T(std::move(object)), Release{});
    adopt(*pointer, bytes);
    return pointer;
  }
  // Charges `bytes` more for a container of this heap.
  Status grow(Container& container, std::size_t bytes);

  // A value of the context, in full. kInvalidArgument when nested too deep.
  Result<Value> from_json(const Json& json, int depth = 0);

  const Limits& limits() const { return limits_; }

 private:
  struct Release {
    void operator()(Container* container) const;
  };
  Status exhausted();
  void adopt(Container& container, std::size_t bytes);
  void release(Container& container);
  void bury();

  const Limits limits_;
  WorkBudget* const budget_;
  std::size_t work_left_;
  std::size_t held_ = 0;
  Container* live_ = nullptr;    // all that exist, as a list
  Container* buried_ = nullptr;  // those to be deleted, as a list
  bool is_burying_ = false;
};

// Text that grows, its memory counted.
class Output {
 public:
  explicit Output(Heap& heap) : heap_(heap) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() { heap_.give_back(counted_); }

  // kInvalidArgument when it would be longer than output_bytes.
  Status append(std::string_view text);
  // The text; nothing is left.
  std::string take() { return std::exchange(text_, {}); }

 private:
  Heap& heap_;
  std::string text_;
  std::size_t counted_ = 0;
};

}  // namespace anemone::text::jinja
