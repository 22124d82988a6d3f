// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/shared_data.h"

namespace anemone {
namespace {

using testing::TemporaryFolder;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(ReadFile, GivesTheWholeFileUpToTheLimit) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("a"), "12345").ok());
  EXPECT_EQ(*read_file(folder.file("a")), "12345");
  EXPECT_EQ(*read_file(folder.file("a"), 5), "12345");
  const auto result = read_file(folder.file("a"), 4);
  EXPECT_EQ(result.status().code(), Code::kCorrupt);
  EXPECT_NE(result.status().message().find("expected at most 4 bytes, got 5"), std::string::npos);
}

TEST(ReadFile, AMissingFileIsAnIoError) {
  EXPECT_EQ(read_file("/no/such/file").status().code(), Code::kIo);
}

TEST(AtomicFile, AppearsUnderItsNameOnlyAtCommit) {
  const TemporaryFolder folder;
  auto file = AtomicFile::create(folder.file("out"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_TRUE(file->append("abc").ok());
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(*read_file(folder.file("out")), "abc");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  {
    auto file = AtomicFile::create(folder.file("out"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->append("abc").ok());
  }
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(AtomicFile, KeepsTheOldFileWithoutCommit) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("out"), "old").ok());
  {
    auto file = AtomicFile::create(folder.file("out"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->append("new").ok());
  }
  EXPECT_EQ(*read_file(folder.file("out")), "old");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
}

TEST(AtomicFile, CommitReplacesAnOlderFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("out"), "a much longer old text").ok());
  ASSERT_TRUE(write_file(folder.file("out"), "new").ok());
  EXPECT_EQ(*read_file(folder.file("out")), "new");
}

TEST(AtomicFile, WritesAtOffsetsAndFillsGapsWithZeros) {
  const TemporaryFolder folder;
  auto file = AtomicFile::create(folder.file("out"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->append("head").ok());
  ASSERT_TRUE(file->write_at(6, bytes_of("xy")).ok());
  ASSERT_TRUE(file->write_at(0, bytes_of("H")).ok());
  EXPECT_EQ(file->size(), 4u) << "write_at does not move the append position";
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(*read_file(folder.file("out")), std::string("Head\0\0xy", 8));
}

TEST(AtomicFile, TakesDisjointRangesFromManyThreads) {
  const TemporaryFolder folder;
  auto file = AtomicFile::create(folder.file("out"));
  ASSERT_TRUE(file.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::string part(1000, static_cast<char>('a' + t));
      for (std::uint64_t i = 0; i < 10; ++i)
        EXPECT_TRUE(
            file->write_at((i * 4 + static_cast<std::uint64_t>(t)) * 1000, bytes_of(part)).ok());
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(file->commit().ok());
  const std::string text = *read_file(folder.file("out"));
  ASSERT_EQ(text.size(), 40'000u);
  for (std::size_t i = 0; i < text.size(); ++i)
    ASSERT_EQ(text[i], static_cast<char>('a' + (i / 1000) % 4)) << i;
}

TEST(AtomicFile, AMovedFileIsCommittedOnceByItsNewOwner) {
  const TemporaryFolder folder;
  {
    auto made = AtomicFile::create(folder.file("out"));
    ASSERT_TRUE(made.ok());
    AtomicFile file = std::move(*made);
    ASSERT_TRUE(file.append("kept").ok());
    ASSERT_TRUE(file.commit().ok());
  }
  EXPECT_EQ(*read_file(folder.file("out")), "kept");
}

TEST(AtomicFile, TwoWritersOfOnePathDoNotMixTheirBytes) {
  const TemporaryFolder folder;
  auto first = AtomicFile::create(folder.file("out"));
  auto second = AtomicFile::create(folder.file("out"));
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(first->append("first").ok());
  ASSERT_TRUE(second->append("2").ok());
  ASSERT_TRUE(first->commit().ok());
  EXPECT_EQ(*read_file(folder.file("out")), "first");
  ASSERT_TRUE(second->commit().ok());
  EXPECT_EQ(*read_file(folder.file("out")), "2");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
}

TEST(AtomicFile, AFolderThatCannotBeWrittenIsAnIoErrorThatNamesTheFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("plain"), "x").ok());
  // Tests may run as root, whom no permission stops: a file as parent and a missing folder do.
  for (const std::string& path : {folder.file("plain/out"), folder.file("none/out")}) {
    const auto file = AtomicFile::create(path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.status().code(), Code::kIo);
    EXPECT_NE(file.status().message().find(path), std::string::npos) << file.status().message();
    EXPECT_EQ(file.status().message().find(".tmp."), std::string::npos) << file.status().message();
  }
}

TEST(AtomicFile, ACommitOverAFolderFailsAndLeavesNoTemporaryFile) {
  const TemporaryFolder folder;
  auto file = AtomicFile::create(folder.file("out"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(make_directories(folder.file("out/inside")).ok());
  EXPECT_EQ(file->commit().code(), Code::kIo);
  EXPECT_EQ(AtomicFile::create(folder.file("out")).status().code(), Code::kIo);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
}

TEST(AtomicFile, SeveralFilesAppearTogetherOrNotAtAll) {
  const TemporaryFolder folder;
  const auto made = [&] {
    std::vector<AtomicFile> files;
    for (const char* name : {"a", "b", "c"}) {
      auto file = AtomicFile::create(folder.file(name));
      EXPECT_TRUE(file.ok() && file->append(name).ok());
      files.push_back(*std::move(file));
    }
    return files;
  };
  std::vector<AtomicFile> good = made();
  ASSERT_TRUE(AtomicFile::commit_all(good).ok());
  EXPECT_EQ(names_in(folder.path()).size(), 3U);
  EXPECT_EQ(read_file(folder.file("c")).value(), "c");
  std::filesystem::remove(folder.file("b"));
  std::vector<AtomicFile> bad = made();
  ASSERT_TRUE(make_directories(folder.file("b/inside")).ok());
  EXPECT_EQ(AtomicFile::commit_all(bad).code(), Code::kIo);
  std::vector<std::string> left = names_in(folder.path());
  std::ranges::sort(left);
  EXPECT_EQ(left, (std::vector<std::string>{"b", "c"})) << "a is gone, c is the old one";
  EXPECT_TRUE(AtomicFile::commit_all({}).ok());
}

TEST(AtomicFile, ADeviceIsNotReplaced) {
  for (const char* path : {"/dev/null", "/dev/zero"}) {
    EXPECT_EQ(AtomicFile::create(path).status().code(), Code::kIo);
    EXPECT_TRUE(std::filesystem::is_character_file(path));
  }
}

#ifdef __linux__
TEST(AtomicFile, ALinkIsNeitherFollowedNorReplaced) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("dear"), "Dear").ok());
  for (const char* target : {"dear", "absent", "."}) {
    const std::string link = folder.file("link");
    std::filesystem::remove(link);
    std::filesystem::create_symlink(target, link);
    const Status status = write_file(link, "x");
    EXPECT_EQ(status.code(), Code::kIo) << target;
    EXPECT_NE(status.message().find("got a link"), std::string::npos) << status.message();
    EXPECT_TRUE(std::filesystem::is_symlink(link));
  }
  EXPECT_EQ(read_file(folder.file("dear")).value(), "Dear");
  EXPECT_EQ(names_in(folder.path()).size(), 2U);
}

// Whoever may write to the folder cannot foresee the names.
TEST(AtomicFile, TemporaryNamesAreNotForeseeable) {
  const TemporaryFolder folder;
  std::set<std::string> names;
  for (int i = 0; i < 20; ++i) {
    auto file = AtomicFile::create(folder.file("a"));
    ASSERT_TRUE(file.ok());
    names.insert(names_in(folder.path()).front());
  }
  EXPECT_EQ(names.size(), 20U);
}

TEST(AtomicFile, AFileSystemThatTakesNoFilesIsAnIoError) {
  EXPECT_EQ(AtomicFile::create("/proc/anemone-test").status().code(), Code::kIo);
}
#endif

TEST(MakeDirectories, MakesParentsAndAcceptsWhatExists) {
  const TemporaryFolder folder;
  EXPECT_TRUE(make_directories(folder.file("a/b/c")).ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder.file("a/b/c")));
  EXPECT_TRUE(make_directories(folder.file("a/b/c")).ok());
}

TEST(MakeDirectories, AFileInTheWayIsAnIoError) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("a"), "x").ok());
  EXPECT_EQ(make_directories(folder.file("a")).code(), Code::kIo);
  EXPECT_EQ(make_directories(folder.file("a/b")).code(), Code::kIo);
}

TEST(FreeDiskBytes, AnswersForAPathThatIsYetToBeMade) {
  const TemporaryFolder folder;
  const auto there = free_disk_bytes(folder.path());
  const auto later = free_disk_bytes(folder.file("x/y/z"));
  ASSERT_TRUE(there.ok() && later.ok());
  EXPECT_GT(*there, 0u);
  EXPECT_GT(*later, 0u);
  EXPECT_TRUE(free_disk_bytes("relative/path").ok());
}

// fsync() would refuse what is no descriptor.
TEST(SyncToDisk, IsLeftOutAsTheEnvironmentOfTheTestsSays) {
  EXPECT_EQ(sync_to_disk(-1), 0);
}

}  // namespace
}  // namespace anemone
