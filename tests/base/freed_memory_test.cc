// SPDX-License-Identifier: Apache-2.0
#include "base/freed_memory.h"

#include <chrono>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/resident_bytes.h"
#include "tests/support/sanitized.h"

namespace anemone {
namespace {

TEST(FreedMemory, GoesBackToTheSystem) {
#ifndef __GLIBC__
  GTEST_SKIP() << "another C library";
#endif
  if (testing::kIsSanitized) GTEST_SKIP() << "sanitizers have a heap of their own";
  constexpr std::size_t kBytes = 200 << 20, kBlock = 1000;
  const FreedMemoryReturner returner;
  // Small blocks between some that stay, as a request leaves them.
  std::vector<std::unique_ptr<char[]>> blocks, kept;
  for (std::size_t i = 0; i < kBytes / kBlock; ++i) {
    blocks.push_back(std::make_unique<char[]>(kBlock));
    if (i % 1000 == 0) kept.push_back(std::make_unique<char[]>(kBlock));
  }
  const std::size_t full = testing::resident_bytes();
  blocks.clear();
  ASSERT_GT(testing::resident_bytes() + kBytes / 2, full) << "malloc keeps most of it by itself";
  note_freed(kBytes);
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (testing::resident_bytes() + kBytes / 2 > full && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(testing::resident_bytes() + kBytes / 2, full);
}

}  // namespace
}  // namespace anemone
