// SPDX-License-Identifier: Apache-2.0
#include "base/file_copy.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <unistd.h>

#include "base/file.h"
#include "base/machine.h"
#include "base/mapped_file.h"
#include "tests/support/shared_data.h"

namespace anemone {
namespace {

using testing::TemporaryFolder;

TEST(FileCopy, HasTheBytesWhateverBecomesOfTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("big");
  std::string text(5'000'001, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i % 251);
  ASSERT_TRUE(write_file(path, text).ok());
  const auto copy = FileCopy::read(path);
  ASSERT_TRUE(copy.ok()) << copy.status().message();
  ASSERT_EQ(::truncate(path.c_str(), 10), 0);
  EXPECT_TRUE(std::ranges::equal((*copy)->bytes(), std::as_bytes(std::span(text))));
  ASSERT_TRUE(write_file(path, "").ok());
  const auto empty = FileCopy::read(path);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE((*empty)->bytes().empty());
}

TEST(FileCopy, AFileThatCannotBeReadIsAnIoErrorThatNamesIt) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.file("none"), folder.path()}) {
    const Status status = FileCopy::read(path).status();
    EXPECT_EQ(status.code(), Code::kIo);
    EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
  }
}

// A file with holes may be larger than all memory. What was refused does not count.
TEST(FileCopy, WhatMemoryCannotHoldIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("holes");
  ASSERT_TRUE(write_file(path, "x").ok());
  const auto bytes = static_cast<off_t>(2 * usable_memory_bytes());
  if (::truncate(path.c_str(), bytes) != 0)
    GTEST_SKIP() << "no files of " << bytes << " bytes here";
  for (int i = 0; i < 2; ++i) {
    const auto copy = FileCopy::read(path);
    EXPECT_EQ(copy.status().code(), Code::kOutOfMemory);
    EXPECT_NE(copy.status().message().find(path), std::string::npos) << copy.status().message();
  }
  EXPECT_TRUE(MappedFile::open(path).ok());
  ASSERT_EQ(::truncate(path.c_str(), 1000), 0);
  EXPECT_TRUE(FileCopy::read(path).ok());
}

}  // namespace
}  // namespace anemone
