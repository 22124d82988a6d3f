// SPDX-License-Identifier: Apache-2.0
#include "base/scratch_folder.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <optional>

#include "base/file.h"
#include "tests/support/shared_data.h"

namespace anemone {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

std::size_t entries_in(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) count += entry.exists() ? 1 : 0;
  return count;
}

TEST(ScratchFolder, GoesAwayWithEverythingInIt) {
  const TemporaryFolder parent;
  {
    auto folder = ScratchFolder::create(parent.path() + "/new", "work");
    ASSERT_TRUE(folder.ok()) << folder.status().message();
    ASSERT_TRUE(make_directories(folder->path() + "/a/b").ok());
    ASSERT_TRUE(write_file(folder->path() + "/a/b/c", "text").ok());
    const ScratchFolder moved = std::move(*folder);
    EXPECT_TRUE(fs::exists(moved.path() + "/a/b/c"));
  }
  EXPECT_EQ(entries_in(parent.path() + "/new"), 0U);
}

TEST(ScratchFolder, TwoAtATimeAreApart) {
  const TemporaryFolder parent;
  auto one = ScratchFolder::create(parent.path(), "work");
  auto other = ScratchFolder::create(parent.path(), "work");
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(one->path(), other->path());
  EXPECT_EQ(entries_in(parent.path()), 2U);
}

TEST(ScratchFolder, LeftoversGoAndOthersStay) {
  const TemporaryFolder parent;
  ASSERT_TRUE(make_directories(parent.path() + "/work.7.scratch/deep").ok());
  ASSERT_TRUE(make_directories(parent.path() + "/other.7.scratch").ok());
  ASSERT_TRUE(make_directories(parent.path() + "/work").ok());
  for (const char* name : {"work.notes.scratch", "work..scratch", "work.scratch"})
    ASSERT_TRUE(make_directories(parent.path() + "/" + name).ok());
  ASSERT_TRUE(make_directories(parent.path() + "/elsewhere/dear").ok());
  fs::create_directory_symlink("elsewhere", parent.path() + "/work.8.scratch");
  auto folder = ScratchFolder::create(parent.path(), "work");
  ASSERT_TRUE(folder.ok());
  EXPECT_FALSE(fs::exists(parent.path() + "/work.7.scratch"));
  EXPECT_TRUE(fs::exists(parent.path() + "/other.7.scratch"));
  for (const char* name : {"work", "work.notes.scratch", "work..scratch", "work.scratch",
                           "work.8.scratch", "elsewhere/dear"})
    EXPECT_TRUE(fs::exists(parent.path() + "/" + name)) << name;
}

TEST(ScratchFolder, WhatProcessesLeftIsDiscarded) {
  const testing::TemporaryFolder parent;
  const auto used = ScratchFolder::create(parent.path(), "used");
  ASSERT_TRUE(used.ok());
  const std::string left = parent.path() + "/left.3.scratch";
  ASSERT_TRUE(make_directories(left + "/deep").ok());
  ASSERT_TRUE(write_file(left + "/deep/file", std::string(1000, 'x')).ok());
  EXPECT_EQ(ScratchFolder::discard(used->path()).code(), Code::kBusy);
  EXPECT_EQ(ScratchFolder::discard(parent.path() + "/dear").code(), Code::kInvalidArgument);
  EXPECT_TRUE(ScratchFolder::discard(parent.path() + "/none.1.scratch").ok());
  EXPECT_GE(ScratchFolder::discard_all(parent.path()), 1000U);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(used->path()));
}

}  // namespace
}  // namespace anemone
