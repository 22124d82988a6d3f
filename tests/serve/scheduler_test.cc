// SPDX-License-Identifier: Apache-2.0
#include "serve/scheduler.h"

#include <future>
#include <gtest/gtest.h>

#include "tests/engine/scripted_model.h"

namespace anemone::serve {
namespace {

using engine::testing::ScriptedModel;

// Reads its prompt, then waits to be let go.
class TestJob : public Job {
 public:
  TestJob(std::shared_ptr<const engine::Model> model, std::vector<std::int32_t> prompt)
      : model_(std::move(model)), prompt_(std::move(prompt)) {}
  const std::shared_ptr<const engine::Model>& model() const override { return model_; }
  std::span<const std::int32_t> prompt() const override { return prompt_; }
  void run(engine::Session& session) override {
    session_ = &session;
    const auto kept = session.prefill_to(prompt_);
    kept_ = kept.ok() ? *kept : -1;
    started.set_value();
    gate.get_future().wait();
    done.set_value();
  }
  void fail(const Status& status) override {
    failure = status;
    done.set_value();
  }
  void finish() {
    gate.set_value();
    done.get_future().wait();
  }

  std::promise<void> started;
  std::promise<void> gate;
  std::promise<void> done;
  Status failure;
  engine::Session* session_ = nullptr;
  std::int64_t kept_ = 0;

 private:
  std::shared_ptr<const engine::Model> model_;
  std::vector<std::int32_t> prompt_;
};

// Throws, as for want of memory or out of a fault.
template <typename Exception>
class ThrowingJob : public TestJob {
 public:
  using TestJob::TestJob;
  void run(engine::Session& /*session*/) override { throw Exception{}; }
};
struct OddException : std::exception {};

class SchedulerTest : public ::testing::Test {
 protected:
  std::shared_ptr<TestJob> job(std::vector<std::int32_t> prompt) {
    return std::make_shared<TestJob>(model_.model(), std::move(prompt));
  }
  std::shared_ptr<TestJob> start(Scheduler& scheduler, std::vector<std::int32_t> prompt) {
    auto out = job(std::move(prompt));
    EXPECT_TRUE(scheduler.submit(out).ok());
    out->started.get_future().wait();
    return out;
  }
  // Runs a job alone.
  std::shared_ptr<TestJob> run(Scheduler& scheduler, std::vector<std::int32_t> prompt) {
    auto out = start(scheduler, std::move(prompt));
    out->finish();
    EXPECT_TRUE(scheduler.wait_until_idle(std::chrono::minutes(1)));
    return out;
  }
  ScriptedModel model_;
};

TEST_F(SchedulerTest, GivesAJobTheSessionThatHasMostOfItsPrompt) {
  Scheduler scheduler({.parallel = 2, .queue = 4});
  const auto first = run(scheduler, {1, 2, 3, 4, 5, 6});
  const auto second = run(scheduler, {11, 12, 13, 14});
  EXPECT_NE(first->session_, second->session_) << "so that the first keeps what it has";
  const auto third = run(scheduler, {1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(third->session_, first->session_);
  EXPECT_EQ(third->kept_, 6);
  const auto fourth = run(scheduler, {11, 12, 13, 20});
  EXPECT_EQ(fourth->session_, second->session_);
  // Nobody has half of it: the one that was not used for longest.
  const auto fifth = run(scheduler, {30, 31});
  EXPECT_EQ(fifth->session_, first->session_);
}

TEST_F(SchedulerTest, RunsJobsInOrderAndRefusesOneTooMany) {
  Scheduler scheduler({.parallel = 1, .queue = 2});
  const auto running = start(scheduler, {1});
  const auto second = job({2}), third = job({3}), fourth = job({4});
  ASSERT_TRUE(scheduler.submit(second).ok());
  ASSERT_TRUE(scheduler.submit(third).ok());
  EXPECT_EQ(scheduler.submit(fourth).code(), Code::kBusy);
  EXPECT_EQ(scheduler.counts().running, 1U);
  EXPECT_EQ(scheduler.counts().waiting, 2U);
  EXPECT_FALSE(scheduler.wait_until_idle(std::chrono::milliseconds(0)));
  running->finish();
  second->started.get_future().wait();
  EXPECT_EQ(third->session_, nullptr);
  second->finish();
  third->finish();
  EXPECT_TRUE(scheduler.wait_until_idle(std::chrono::minutes(1)));
  EXPECT_EQ(scheduler.counts().finished, 3U);
  EXPECT_EQ(scheduler.counts().cancelled, 0U);
}

TEST_F(SchedulerTest, CancelsWhatWaitsAndTellsWhatRuns) {
  Scheduler scheduler({.parallel = 1, .queue = 2});
  const auto running = start(scheduler, {1});
  const auto waiting = job({2});
  ASSERT_TRUE(scheduler.submit(waiting).ok());
  scheduler.cancel(waiting);
  waiting->done.get_future().wait();
  EXPECT_EQ(waiting->failure.code(), Code::kCancelled);
  EXPECT_EQ(waiting->session_, nullptr);
  EXPECT_EQ(scheduler.counts().waiting, 0U);
  EXPECT_FALSE(running->is_cancelled());
  scheduler.cancel(running);
  EXPECT_TRUE(running->is_cancelled());
  running->finish();
  scheduler.cancel(running);  // too late, and no harm
}

TEST_F(SchedulerTest, EndsAJobThatThrowsAndGoesOn) {
  Scheduler scheduler({.parallel = 1, .queue = 4});
  const auto fail = [&]<typename Exception>(Exception /*kind*/) {
    const std::vector<std::int32_t> prompt = {1};
    const auto out = std::make_shared<ThrowingJob<Exception>>(model_.model(), prompt);
    EXPECT_TRUE(scheduler.submit(out).ok());
    out->done.get_future().wait();
    return out->failure.code();
  };
  EXPECT_EQ(fail(std::bad_alloc()), Code::kOutOfMemory);
  EXPECT_EQ(fail(OddException()), Code::kInternal);
  EXPECT_EQ(fail(7), Code::kInternal);
  EXPECT_EQ(run(scheduler, {1, 2})->kept_, 0) << "in a new session";
}

TEST_F(SchedulerTest, EndsInOrder) {
  Scheduler scheduler({.parallel = 1, .queue = 2});
  const auto running = start(scheduler, {1});
  const auto waiting = job({2});
  ASSERT_TRUE(scheduler.submit(waiting).ok());
  scheduler.close();
  waiting->done.get_future().wait();
  EXPECT_EQ(waiting->failure.code(), Code::kCancelled);
  EXPECT_EQ(scheduler.submit(job({3})).code(), Code::kCancelled);
  EXPECT_FALSE(running->is_cancelled()) << "it may still end by itself";
  std::thread ending([&] { scheduler.shutdown(); });
  while (!running->is_cancelled()) std::this_thread::yield();
  running->finish();
  ending.join();
  EXPECT_EQ(scheduler.counts().running, 0U);
}

}  // namespace
}  // namespace anemone::serve
