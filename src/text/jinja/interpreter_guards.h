// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "base/error.h"
#include "text/jinja/interpreter.h"

namespace anemone::text::jinja {

// One more nested evaluation, for as long as it lives.
class Interpreter::Depth {
 public:
  explicit Depth(Interpreter& interpreter) : interpreter_(interpreter) { ++interpreter_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  ~Depth() { --interpreter_.depth_; }
  Status check() const {
    if (interpreter_.depth_ <= interpreter_.limits().depth) return ok_status();
    return invalid_argument("[chat template] expected at most {} nested evaluations",
                            interpreter_.limits().depth);
  }

 private:
  Interpreter& interpreter_;
};

// Memory of a heap, for as long as it lives.
class HeldBytes {
 public:
  HeldBytes(Heap& heap, std::size_t bytes)
      : heap_(heap), bytes_(bytes), status_(heap.take(bytes)) {}
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  ~HeldBytes() {
    if (status_.ok()) heap_.give_back(bytes_);
  }
  const Status& status() const { return status_; }

 private:
  Heap& heap_;
  const std::size_t bytes_;
  const Status status_;
};

// A new innermost scope, for as long as it lives; below `parent` when that is given.
class Interpreter::ScopeGuard {
 public:
  explicit ScopeGuard(Interpreter& interpreter, Scope* parent = nullptr)
      : interpreter_(interpreter), outer_(interpreter.scope_), scope_(std::make_unique<Scope>()) {
    scope_->parent = parent != nullptr ? parent : outer_;
    interpreter_.scope_ = scope_.get();
  }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;
  ~ScopeGuard() {
    interpreter_.scope_ = outer_;
    if (scope_->kept)
      interpreter_.kept_.push_back(std::move(scope_));
    else
      interpreter_.heap_.give_back(scope_->counted);
  }

 private:
  Interpreter& interpreter_;
  Scope* outer_;
  std::unique_ptr<Scope> scope_;
};

// The statement of a loop runs for as long as it lives.
class Interpreter::LoopGuard {
 public:
  explicit LoopGuard(Loop& loop) : loop_(loop) {}
  LoopGuard(const LoopGuard&) = delete;
  LoopGuard& operator=(const LoopGuard&) = delete;
  ~LoopGuard() { loop_.finish(); }

 private:
  Loop& loop_;
};

}  // namespace anemone::text::jinja
