// SPDX-License-Identifier: Apache-2.0
// Every allocation of the engine's turns fails once. It stands in a program of its own, since it
// replaces operator new.
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "engine/loop/engine.h"
#include "tests/engine/scripted_model.h"

namespace {

// Allocations of this thread until one fails; -1: none does.
thread_local std::int64_t allocations_left = -1;

void* allocate(std::size_t bytes) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace anemone::engine {
namespace {

using testing::ScriptedModel;

struct Ends {
  int count = 0;
  std::optional<Code> code;
  std::vector<std::int32_t> ids;
};

class FailingMemory : public ::testing::Test {
 protected:
  FailingMemory() {
    for (std::int64_t at = 0; at < 64; ++at) model_.say(at, {static_cast<std::int32_t>(at + 100)});
  }

  // A request of `choices` texts that begin alike.
  Request request(std::vector<Ends>& ends) {
    Request out;
    out.model = model_.model();
    for (std::size_t i = 0; i < ends.size(); ++i) {
      Choice choice;
      choice.prompt = {1, 2, 3, 4, 5, 6, 7, static_cast<std::int32_t>(i)};
      choice.options.max_new_tokens = 4;
      choice.options.ignore_eos = true;
      choice.on_end = [&end = ends[i]](const Result<GenerateResult>& result) {
        const std::int64_t left = std::exchange(allocations_left, -1);
        ++end.count;
        end.code = result.status().code();
        if (result.ok()) end.ids = result->ids;
        allocations_left = left;
      };
      out.choices.push_back(std::move(choice));
    }
    return out;
  }

  ScriptedModel model_;
};

const std::vector<std::int32_t> kSaid = {108, 109, 110, 111};

TEST_F(FailingMemory, EndsTextsAndNothingElse) {
  std::int64_t failures = 0;
  for (std::int64_t at = 0;; ++at) {
    Engine engine({.sequences = 2});
    std::vector<Ends> first(3), second(1);
    ASSERT_TRUE(engine.submit(request(first)).ok());
    ASSERT_TRUE(engine.submit(request(second)).ok());
    allocations_left = at;
    while (engine.turn()) {
    }
    const bool has_failed = allocations_left < 0;
    allocations_left = -1;
    first.push_back(second.front());
    for (const Ends& end : first) {
      ASSERT_EQ(end.count, 1) << "allocation " << at;
      ASSERT_TRUE(end.code == Code::kOk || end.code == Code::kOutOfMemory) << "allocation " << at;
      if (end.code == Code::kOk)
        ASSERT_EQ(end.ids, kSaid) << "allocation " << at;
      else
        ++failures;
    }
    ASSERT_EQ(engine.counts().running + engine.counts().waiting, 0U);
    // The engine goes on.
    std::vector<Ends> after(1);
    ASSERT_TRUE(engine.submit(request(after)).ok());
    while (engine.turn()) {
    }
    ASSERT_EQ(after.front().code, Code::kOk) << "allocation " << at;
    ASSERT_EQ(after.front().ids, kSaid) << "allocation " << at;
    if (!has_failed) break;
  }
  EXPECT_GT(failures, 10);
}

}  // namespace
}  // namespace anemone::engine
