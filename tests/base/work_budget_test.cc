// SPDX-License-Identifier: Apache-2.0
#include "base/work_budget.h"

#include <gtest/gtest.h>
#include <limits>
#include <utility>

#include "base/charged.h"

namespace anemone {
namespace {

using std::chrono::milliseconds;

TEST(WorkBudget, EndsALoopThatSpendsMoreCpuTimeThanItHas) {
  WorkBudget budget("request", {.cpu_time = milliseconds(20)});
  Status status;
  while (status.ok()) status = budget.spend(10);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "[request] needs more than its limit of 20 ms of CPU time");
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
  EXPECT_EQ(status.message(), "[request] needs more than its limit of 4 MB of memory");
}

TEST(WorkBudget, SizesThatWouldOverflowAreTooMuch) {
  WorkBudget budget("request", {.bytes = 1000});
  ASSERT_TRUE(budget.take(1).ok());
  EXPECT_FALSE(budget.take(std::numeric_limits<std::size_t>::max()).ok());
}

TEST(WorkBudget, CountsNoTimeWhileItPauses) {
  WorkBudget budget("request", {.cpu_time = milliseconds(50)});
  budget.pause();
  WorkBudget other("other", {.cpu_time = milliseconds(100)});
  while (other.spend(10).ok()) {
  }
  budget.resume();
  EXPECT_TRUE(budget.check().ok());
  while (budget.spend(10).ok()) {
  }
  budget.pause();
  budget.resume();
  EXPECT_EQ(budget.check().code(), Code::kInvalidArgument) << "the time before the pause counts";
}

TEST(MemoryCharge, HoldsUntilItEnds) {
  WorkBudget budget("request", {.bytes = 100});
  {
    MemoryCharge charge(budget);
    EXPECT_TRUE(charge.hold(80).ok());
    EXPECT_TRUE(charge.hold(20).ok());
    MemoryCharge other(std::move(charge));
    EXPECT_TRUE(budget.take(80).ok());
    budget.give_back(80);
    EXPECT_TRUE(other.hold(100).ok());
  }
  EXPECT_TRUE(budget.take(100).ok());
}

TEST(ChargedVector, IsChargedBeforeItGrows) {
  WorkBudget budget("request", {.bytes = 10'000});
  {
    ChargedVector<std::int32_t> numbers(budget);
    std::int32_t count = 0;
    while (numbers.push(count).ok()) ++count;
    EXPECT_GE(count, 600);
    EXPECT_LE(count, 2'500) << "four bytes each, and the old ones while they are copied";
    EXPECT_EQ(numbers[static_cast<std::size_t>(count) - 1], count - 1);
  }
  EXPECT_EQ(budget.take(0).code(), Code::kInvalidArgument) << "the error stays";
}

}  // namespace
}  // namespace anemone
