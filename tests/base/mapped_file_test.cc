// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>

#include "base/file.h"
#include "tests/support/shared_data.h"

namespace anemone {
namespace {

using testing::TemporaryFolder;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, MapsTheWholeFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.bin");
  ASSERT_TRUE(write_file(path, "hello").ok());
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(text_of(**file), "hello");
  EXPECT_EQ((*file)->path(), path);
}

TEST(MappedFile, KeepsItsBytesWhenTheFileIsReplacedOrRemoved) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.bin");
  ASSERT_TRUE(write_file(path, "old").ok());
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(write_file(path, "new and longer").ok());
  EXPECT_EQ(text_of(**file), "old");
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(**file), "old");
}

TEST(MappedFile, AnEmptyFileIsAnEmptySpan) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("empty"), "").ok());
  const auto file = MappedFile::open(folder.file("empty"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST(MappedFile, AMissingFileIsAnIoErrorThatNamesIt) {
  const auto file = MappedFile::open("/no/such/file.bin");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), Code::kIo);
  EXPECT_EQ(file.status().message(), "[/no/such/file.bin] cannot open: No such file or directory");
}

TEST(MappedFile, AFolderIsRefused) {
  const TemporaryFolder folder;
  const auto file = MappedFile::open(folder.path());
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), Code::kIo);
  EXPECT_NE(file.status().message().find("directory"), std::string::npos);
}

TEST(MappedFile, AFifoIsRefusedWithoutWaitingForAWriter) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const auto file = MappedFile::open(folder.file("pipe"));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), Code::kIo);
}

TEST(MappedFile, ADeviceIsRefused) {
  EXPECT_EQ(MappedFile::open("/dev/zero").status().code(), Code::kIo);
}

TEST(MappedFile, AnEmptyPathIsAnIoError) {
  EXPECT_EQ(MappedFile::open("").status().code(), Code::kIo);
}

TEST(MappedFile, FollowsALinkToARegularFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("real"), "x").ok());
  std::filesystem::create_symlink(folder.file("real"), folder.file("link"));
  EXPECT_TRUE(MappedFile::open(folder.file("link")).ok());
}

TEST(MappedFile, ContentsStayReadableAfterRelease) {
  const TemporaryFolder folder;
  std::string text(100'000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i % 251);
  ASSERT_TRUE(write_file(folder.file("big"), text).ok());
  const auto file = MappedFile::open(folder.file("big"));
  ASSERT_TRUE(file.ok());
  const auto bytes = (*file)->bytes();
  (*file)->release(bytes.subspan(5000, 50'000));
  (*file)->release(bytes.subspan(10, 1));
  (*file)->release({});
  (*file)->release(bytes);
  EXPECT_EQ(text_of(**file), text);
}

}  // namespace
}  // namespace anemone
