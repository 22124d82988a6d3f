// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace anemone {
namespace {

// Runs one loop and returns how often each index was visited; checks the ranges on the way.
using Loop = void (ThreadPool::*)(std::int64_t, std::int64_t,
                                  const std::function<void(std::int64_t, std::int64_t)>&);
std::vector<int> visits(ThreadPool& pool, std::int64_t count, std::int64_t grain,
                        Loop loop = &ThreadPool::parallel_for) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  std::atomic<bool> lawful = true;
  (pool.*loop)(count, grain, [&](std::int64_t begin, std::int64_t end) {
    if (begin < 0 || end > count || begin >= end ||
        end - begin > std::max<std::int64_t>(1, grain)) {
      lawful = false;
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
  });
  EXPECT_TRUE(lawful) << "count " << count << ", grain " << grain;
  return {seen.begin(), seen.end()};
}

class ThreadPoolOfSize : public ::testing::TestWithParam<int> {};

TEST_P(ThreadPoolOfSize, ThrowsWhatABodyThrowsAndGoesOn) {
  ThreadPool pool(GetParam());
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(pool.parallel_for(100, 1,
                                   [](std::int64_t begin, std::int64_t) {
                                     if (begin % 7 == 3) throw std::bad_alloc();
                                   }),
                 std::bad_alloc);
    const auto seen = visits(pool, 100, 1);
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  }
}

TEST_P(ThreadPoolOfSize, CoversEachIndexOnceForAllCountsAndGrains) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.threads(), GetParam());
  for (const std::int64_t count : {0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000}) {
    for (const std::int64_t grain : {-3, 0, 1, 2, 3, 7, 8, 64, 999, 1000, 1001, 100000}) {
      const auto seen = visits(pool, count, grain);
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }))
          << "count " << count << ", grain " << grain;
    }
  }
}

TEST_P(ThreadPoolOfSize, RunsCoverEachIndexOnceToo) {
  ThreadPool pool(GetParam());
  for (const std::int64_t count : {-1, 0, 1, 2, 7, 8, 9, 64, 1000})
    for (const std::int64_t grain : {-3, 0, 1, 3, 8, 64, 1001}) {
      const auto seen = visits(pool, count, grain, &ThreadPool::parallel_for_runs);
      EXPECT_TRUE(std::ranges::all_of(seen, [](int n) { return n == 1; }))
          << "count " << count << ", grain " << grain;
    }
}

TEST_P(ThreadPoolOfSize, RunsPrepareEachThreadBeforeItsBodies) {
  ThreadPool pool(GetParam());
  thread_local int prepared_for = 0;
  for (int loop = 1; loop <= 50; ++loop) {
    std::atomic<int> preparations = 0;
    std::atomic<int> strangers = 0;
    const std::int64_t count = loop % 7 * 3;
    pool.parallel_for_runs(
        count, 2,
        [&] {
          prepared_for = loop;
          ++preparations;
        },
        [&](std::int64_t, std::int64_t) { strangers += prepared_for != loop; });
    EXPECT_EQ(strangers, 0);
    EXPECT_LE(preparations, std::min<std::int64_t>(GetParam(), (count + 1) / 2));
    EXPECT_EQ(preparations > 0, count > 0);
  }
}

// Whoever is done helps: one slow range does not keep its neighbours waiting.
TEST(ThreadPool, RunsAreFinishedByWhoeverIsFree) {
  ThreadPool pool(2);
  constexpr std::int64_t kCount = 64;
  std::atomic<int> others = 0;
  std::atomic<bool> is_late = false;
  pool.parallel_for_runs(kCount, 1, [&](std::int64_t begin, std::int64_t) {
    if (begin != 0) {
      ++others;
      return;
    }
    // The first range of all waits for all the others.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (others < kCount - 1 && !is_late) {
      is_late = std::chrono::steady_clock::now() > deadline;
      std::this_thread::yield();
    }
  });
  EXPECT_FALSE(is_late);
  EXPECT_EQ(others, kCount - 1);
}

TEST_P(ThreadPoolOfSize, DoesNothingForEmptyAndNegativeCounts) {
  ThreadPool pool(GetParam());
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN})
    pool.parallel_for(count, 1, [](std::int64_t, std::int64_t) { FAIL(); });
}

TEST_P(ThreadPoolOfSize, TakesAGrainBeyondTheCount) {
  ThreadPool pool(GetParam());
  int calls = 0;
  pool.parallel_for(10, INT64_MAX, [&](std::int64_t begin, std::int64_t end) {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 10);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST_P(ThreadPoolOfSize, ManySmallLoopsInARowAllFinish) {
  ThreadPool pool(GetParam());
  std::int64_t total = 0;
  for (int loop = 0; loop < 5000; ++loop) {
    std::atomic<std::int64_t> sum = 0;
    const std::int64_t count = loop % 7;
    pool.parallel_for(count, 1, [&](std::int64_t begin, std::int64_t) { sum += begin + 1; });
    ASSERT_EQ(sum, count * (count + 1) / 2) << loop;
    total += sum;
  }
  EXPECT_GT(total, 0);
}

// The end of a pool may come at any moment of a worker's search for work.
TEST_P(ThreadPoolOfSize, EndsWheneverItIsAsked) {
  for (int round = 0; round < 3000; ++round) {
    ThreadPool pool(GetParam());
    std::atomic<int> calls = 0;
    for (int loop = 0; loop < round % 4; ++loop)
      pool.parallel_for(3, 1, [&](std::int64_t, std::int64_t) { ++calls; });
    ASSERT_EQ(calls, round % 4 * 3);
  }
}

TEST_P(ThreadPoolOfSize, ALoopInsideALoopOnAnotherPoolWorks) {
  ThreadPool outer(GetParam());
  std::vector<std::atomic<int>> seen(12 * 34);
  outer.parallel_for(12, 1, [&](std::int64_t begin, std::int64_t) {
    ThreadPool inner(2);
    inner.parallel_for(34, 5, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) ++seen[static_cast<std::size_t>(begin * 34 + i)];
    });
  });
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& n) { return n == 1; }));
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolOfSize, ::testing::Values(1, 2, 3, 8));

TEST(ThreadPool, OneThreadRunsEverythingOnTheCaller) {
  ThreadPool pool(1);
  const auto caller = std::this_thread::get_id();
  pool.parallel_for(
      100, 3, [&](std::int64_t, std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(ThreadPool, SizesBelowOneMeanOne) {
  for (const int size : {0, -5}) {
    ThreadPool pool(size);
    EXPECT_EQ(pool.threads(), 1);
    EXPECT_EQ(visits(pool, 10, 3), std::vector<int>(10, 1));
  }
}

TEST(ThreadPool, SeveralThreadsTakePart) {
  ThreadPool pool(3);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  // Each range waits until two threads have been seen, so one thread alone cannot finish early.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  pool.parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
    while (std::chrono::steady_clock::now() < give_up) {
      {
        std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
        if (ids.size() >= 2) return;
      }
      std::this_thread::yield();
    }
  });
  EXPECT_GE(ids.size(), 2u);
}

TEST(ThreadPool, EverythingABodyWroteIsVisibleAfterTheLoop) {
  ThreadPool pool(4);
  for (int loop = 0; loop < 200; ++loop) {
    std::vector<std::int64_t> out(257);
    pool.parallel_for(257, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[static_cast<std::size_t>(i)] = i * i;
    });
    for (std::int64_t i = 0; i < 257; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], i * i);
  }
}

TEST(ThreadPool, PoolsThatNeverRunCanBeMadeAndDropped) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(4);
}

TEST(DefaultThreadCount, IsAtLeastOneAndNotAboveTheMachine) {
  EXPECT_GE(default_thread_count(), 1);
  EXPECT_LE(default_thread_count(), std::max(1u, std::thread::hardware_concurrency()));
}

TEST(ThreadPool, GivesTheCallerWhatABodyThrows) {
  ThreadPool pool(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> others = 0;
    EXPECT_THROW(pool.parallel_for(64, 1,
                                   [&](std::int64_t begin, std::int64_t) {
                                     if (begin % 8 == 3) throw std::bad_alloc();
                                     ++others;
                                   }),
                 std::bad_alloc);
    EXPECT_EQ(others, 56) << "the others ran before the caller went on";
    std::atomic<int> sum = 0;
    pool.parallel_for(10, 1,
                      [&](std::int64_t begin, std::int64_t) { sum += static_cast<int>(begin); });
    EXPECT_EQ(sum, 45);
  }
}

}  // namespace
}  // namespace anemone
