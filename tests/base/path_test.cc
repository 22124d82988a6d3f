// SPDX-License-Identifier: Apache-2.0
#include "base/path.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "tests/support/shared_data.h"

namespace anemone {
namespace {

namespace fs = std::filesystem;

TEST(Path, NamesWhatAPathLeadsTo) {
  EXPECT_EQ(absolute_path("/a/./b/../c/"), "/a/c");
  EXPECT_EQ(absolute_path("/"), "/");
  EXPECT_EQ(absolute_path("x/.."), fs::current_path().string());
  for (const char* path : {"/a/b", "/a/b/", "/a/b/.", "/a/b/c/..", "b", "./b/"})
    EXPECT_EQ(last_name(path), "b") << path;
  EXPECT_EQ(last_name("."), fs::current_path().filename().string());
  EXPECT_EQ(last_name("/"), "");
}

TEST(Path, DoesNotThrowWhereTheWorkingDirectoryIsGone) {
  const testing::TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::create_directory(folder.file("gone"));
  fs::current_path(folder.file("gone"));
  fs::remove(folder.file("gone"));
  EXPECT_EQ(absolute_path("x/y/"), "x/y");
  EXPECT_EQ(last_name("x/y/"), "y");
  EXPECT_EQ(absolute_path("/x"), "/x");
  fs::current_path(before);
}

}  // namespace
}  // namespace anemone
