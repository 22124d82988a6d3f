// SPDX-License-Identifier: Apache-2.0
#include "base/work_budget.h"

#include <gtest/gtest.h>
#include <limits>

namespace anemone {
namespace {

using std::chrono::milliseconds;

TEST(WorkBudget, EndsALoopThatSpendsMoreCpuTimeThanItHas) {
  WorkBudget budget("request", {.cpu_time = milliseconds(20)});
  Status status;
  while (status.ok()) status = budget.spend(10);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "[request] expected to take at most 20 ms of CPU time, got more");
  EXPECT_EQ(budget.spend(1).code(), Code::kInvalidArgument) << "the error stays";
  EXPECT_EQ(budget.take(0).code(), Code::kInvalidArgument);
}

TEST(WorkBudget, EndsAtTheNextReadingOfTheClockAfterItIsCancelled) {
  std::atomic<bool> cancel = false;
  WorkBudget budget("request", {.cpu_time = milliseconds(60'000)}, &cancel);
  EXPECT_TRUE(budget.check().ok());
  cancel = true;
  EXPECT_TRUE(budget.spend(1).ok()) << "a small piece of work does not look";
  EXPECT_EQ(budget.spend(1'000'000).code(), Code::kCancelled);
  EXPECT_EQ(budget.spend(0).code(), Code::kCancelled);
}

TEST(WorkBudget, CountsTheMemoryThatIsHeld) {
  WorkBudget budget("request", {.bytes = std::size_t{4} << 20});
  EXPECT_TRUE(budget.take(std::size_t{3} << 20).ok());
  budget.give_back(std::size_t{2} << 20);
  EXPECT_TRUE(budget.take(std::size_t{3} << 20).ok());
  const Status status = budget.take(1);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "[request] expected to take at most 4 MB of memory, got more");
}

TEST(WorkBudget, SizesThatWouldOverflowAreTooMuch) {
  WorkBudget budget("request", {.bytes = 1000});
  ASSERT_TRUE(budget.take(1).ok());
  EXPECT_FALSE(budget.take(std::numeric_limits<std::size_t>::max()).ok());
}

}  // namespace
}  // namespace anemone
