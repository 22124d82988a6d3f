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
#include "tests/engine/fake_model.h"

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

using testing::FakeExecutor;
using testing::FakeOptions;

using Ids = std::vector<std::int32_t>;

struct Answer {
  int ends = 0;
  std::optional<Code> code;
  Ids ids;
};

// Over a model that computes and has caches: as states, or as inputs and outputs.
class FailingMemory : public ::testing::TestWithParam<bool> {
 protected:
  FailingMemory() {
    FakeOptions options;
    options.states = GetParam();
    options.context = 24;
    options.widths = {1, 8};
    options.vocab = 20;
    options.shards = 1;
    options.heads = 1;
    executor_.emplace(testing::fake_manifest(options));
    testing::write_fake_artifact(folder_.path(), options);
    auto loaded = Model::load(folder_.path(), *executor_);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    if (loaded.ok()) model_ = *loaded;
  }

  // A request of texts that begin alike, of one chunk and a bit, from the number `first` on.
  Request request(std::int32_t first, std::vector<Answer>& answers) {
    Request out;
    out.model = model_;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      Choice choice;
      for (std::int32_t id = 0; id < 9; ++id) choice.prompt.push_back(id);
      choice.prompt.push_back(first + static_cast<std::int32_t>(i));
      choice.options.max_new_tokens = 4;
      choice.options.ignore_eos = true;
      choice.on_end = [&answer = answers[i]](const Result<GenerateResult>& result) {
        const std::int64_t left = std::exchange(allocations_left, -1);
        ++answer.ends;
        answer.code = result.status().code();
        if (result.ok()) answer.ids = result->ids;
        allocations_left = left;
      };
      out.choices.push_back(std::move(choice));
    }
    return out;
  }
  std::vector<Answer> run(Engine& engine, std::int32_t first, std::size_t count) {
    std::vector<Answer> answers(count);
    EXPECT_TRUE(engine.submit(request(first, answers)).ok());
    while (engine.turn()) {
    }
    return answers;
  }

  anemone::testing::TemporaryFolder folder_;
  std::optional<FakeExecutor> executor_;
  std::shared_ptr<const Model> model_;
};
INSTANTIATE_TEST_SUITE_P(Caches, FailingMemory, ::testing::Values(false, true),
                         [](const auto& info) {
                           return info.param ? "AsStates" : "AsInputsAndOutputs";
                         });

TEST_P(FailingMemory, EndsTextsAndNothingElse) {
  std::vector<Ids> alone;
  for (std::int32_t i = 0; i < 4; ++i) {
    Engine engine({});
    alone.push_back(run(engine, i, 1).front().ids);
    ASSERT_EQ(alone.back().size(), 4U);
  }
  std::int64_t failures = 0;
  for (std::int64_t at = 0;; ++at) {
    Engine engine({.sequences = 2});
    std::vector<Answer> answers(3), other(1);
    ASSERT_TRUE(engine.submit(request(0, answers)).ok());
    ASSERT_TRUE(engine.submit(request(3, other)).ok());
    allocations_left = at;
    while (engine.turn()) {
    }
    const bool has_failed = std::exchange(allocations_left, -1) < 0;
    answers.push_back(other.front());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      ASSERT_EQ(answers[i].ends, 1) << "allocation " << at;
      if (answers[i].code == Code::kOk)
        ASSERT_EQ(answers[i].ids, alone[i]) << "allocation " << at;
      else
        ASSERT_EQ(answers[i].code, Code::kOutOfMemory) << "allocation " << at;
      if (answers[i].code != Code::kOk) ++failures;
    }
    ASSERT_EQ(engine.counts().running + engine.counts().waiting, 0U);
    // The engine goes on with what it has kept of these texts.
    const Answer after = run(engine, 0, 1).front();
    ASSERT_EQ(after.code, Code::kOk) << "allocation " << at;
    ASSERT_EQ(after.ids, alone[0]) << "allocation " << at;
    if (!has_failed) break;
  }
  EXPECT_GT(failures, 10);
}

}  // namespace
}  // namespace anemone::engine
