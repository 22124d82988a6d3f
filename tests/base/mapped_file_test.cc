// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/file.h"
#include "base/huge_pages.h"
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

#if defined(__linux__)
// Whether Linux says that the mapping with this address is to have huge pages.
bool wants_huge_pages(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_in_mapping = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      is_in_mapping = reinterpret_cast<std::uintptr_t>(address) - begin < end - begin;
    if (is_in_mapping && line.starts_with("VmFlags:"))
      return (line + ' ').find(" hg ") != std::string::npos;
  }
  return false;
}

TEST(MappedFile, AsksForHugePages) {
  const HugePages memory = allocate_huge_pages(std::size_t{4} << 20);
  if (!wants_huge_pages(memory.get()))
    GTEST_SKIP() << "this kernel, or its emulation, has no huge pages";
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("a.bin"), "hello").ok());
  const auto file = MappedFile::open(folder.file("a.bin"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(wants_huge_pages((*file)->bytes().data()));
}
#endif

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

std::string big_file(const TemporaryFolder& folder, std::size_t bytes) {
  const std::string path = folder.file("cut.bin");
  EXPECT_TRUE(write_file(path, std::string(bytes, 'x')).ok());
  return path;
}

TEST(MappedFile, AFileThatWasCutReadsAsZerosAndSaysSo) {
  const TemporaryFolder folder;
  const std::string path = big_file(folder, 1'000'000);
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->check().ok());
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  const auto zeros = std::ranges::count((*file)->bytes(), std::byte{0});
  EXPECT_EQ(zeros, 1'000'000);
  const Status cut = (*file)->check();
  EXPECT_EQ(cut.code(), Code::kIo);
  EXPECT_EQ(cut.message(), "[" + path +
                               "] expected 1000000 bytes, got fewer: the file was cut short while "
                               "it was in use");
  // The check fails even when the file has its size again: what was read meanwhile is still wrong.
  ASSERT_EQ(::truncate(path.c_str(), 2'000'000), 0);
  EXPECT_FALSE((*file)->check().ok());
  EXPECT_FALSE(check_mapped_files().ok());
}

TEST(MappedFile, ACutWithinTheLastPageIsNoticedToo) {
  const TemporaryFolder folder;
  const std::string path = big_file(folder, 100);
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::truncate(path.c_str(), 99), 0);
  EXPECT_EQ((*file)->bytes()[99], std::byte{0});
  EXPECT_FALSE((*file)->check().ok());
}

TEST(MappedFile, ACutUnderAnotherNameIsNoticedToo) {
  const TemporaryFolder folder;
  const std::string path = big_file(folder, 100);
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  std::filesystem::rename(path, folder.file("moved"));
  ASSERT_TRUE(write_file(path, std::string(200, 'z')).ok());
  EXPECT_TRUE((*file)->check().ok());
  ASSERT_EQ(::truncate(folder.file("moved").c_str(), 99), 0);
  EXPECT_FALSE((*file)->check().ok());
}

TEST(MappedFile, AFileThatGrewOrWasReplacedOrRemovedIsWhole) {
  const TemporaryFolder folder;
  const std::string path = big_file(folder, 10'000);
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::truncate(path.c_str(), 20'000), 0);
  EXPECT_TRUE((*file)->check().ok());
  ASSERT_TRUE(write_file(path, "short").ok());
  EXPECT_TRUE((*file)->check().ok());
  std::filesystem::remove(path);
  EXPECT_TRUE((*file)->check().ok());
  EXPECT_TRUE(check_mapped_files().ok());
}

TEST(MappedFile, OnlyTheFileThatWasCutIsSpoilt) {
  const TemporaryFolder folder;
  const std::string path = big_file(folder, 100'000);
  ASSERT_TRUE(write_file(folder.file("other"), std::string(100'000, 'y')).ok());
  const auto cut = MappedFile::open(path);
  const auto whole = MappedFile::open(folder.file("other"));
  ASSERT_TRUE(cut.ok() && whole.ok());
  ASSERT_EQ(::truncate(path.c_str(), 10), 0);
  EXPECT_EQ((*cut)->bytes().back(), std::byte{0});
  EXPECT_EQ(text_of(**whole), std::string(100'000, 'y'));
  EXPECT_TRUE((*whole)->check().ok());
  // The name has a whole file again: who opens it now gets that one.
  ASSERT_TRUE(write_file(path, std::string(100'000, 'z')).ok());
  const auto again = MappedFile::open(path);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(text_of(**again), std::string(100'000, 'z'));
  EXPECT_TRUE((*again)->check().ok());
  EXPECT_FALSE((*cut)->check().ok());
}

TEST(MappedFile, SeveralThreadsMayRunIntoTheCut) {
  const TemporaryFolder folder;
  const std::string path = big_file(folder, 4'000'000);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(::truncate(path.c_str(), 4'000'000), 0);
    const auto file = MappedFile::open(path);
    ASSERT_TRUE(file.ok());
    std::atomic<bool> is_cut = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        // The sum keeps the reads from being left out.
        std::size_t sum = 0;
        while (!is_cut) sum += static_cast<std::size_t>((*file)->bytes()[sum % 4'000'000]);
        for (const std::byte byte : (*file)->bytes()) sum += static_cast<std::size_t>(byte);
        EXPECT_EQ((*file)->bytes().back(), std::byte{0}) << sum;
      });
    ASSERT_EQ(::truncate(path.c_str(), 5000), 0);
    is_cut = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE((*file)->check().ok());
  }
}

TEST(MappedFile, ManyFilesAreGuardedAtATime) {
  const TemporaryFolder folder;
  const std::string path = big_file(folder, 5000);
  std::vector<std::shared_ptr<const MappedFile>> files;
  for (int i = 0; i < 300; ++i) files.push_back(*MappedFile::open(path));
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  for (const auto& file : files) {
    EXPECT_EQ(file->bytes()[0], std::byte{0});
    EXPECT_FALSE(file->check().ok());
  }
}

// Any other SIGBUS ends the process as it would without the guard.
TEST(MappedFileDeathTest, ASignalOfAnotherOriginIsNotSwallowed) {
  const TemporaryFolder folder;
  const auto file = MappedFile::open(big_file(folder, 5000));
  ASSERT_TRUE(file.ok());
  EXPECT_DEATH(::raise(SIGBUS), "");
  EXPECT_DEATH(
      {
        const std::string path = folder.file("own.bin");
        EXPECT_TRUE(write_file(path, std::string(5000, 'x')).ok());
        const int fd = ::open(path.c_str(), O_RDONLY);
        void* own = ::mmap(nullptr, 5000, PROT_READ, MAP_PRIVATE, fd, 0);
        EXPECT_EQ(::truncate(path.c_str(), 0), 0);
        std::fprintf(stderr, "%d", *static_cast<volatile const char*>(own));
      },
      "");
}

}  // namespace
}  // namespace anemone
