// SPDX-License-Identifier: Apache-2.0
#include "base/file_hashes.h"

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/file.h"
#include "base/opened_files.h"
#include "tests/support/shared_data.h"

namespace anemone {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

class FileHashesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(memory());
    if (!FileIdentity::of(file("probe", "")).value().shows_changes)
      GTEST_SKIP() << "the temporary folder lies on a file system in memory";
  }
  std::string memory() const { return folder_.file("memory"); }
  std::string file(const std::string& name, const std::string& content) {
    EXPECT_TRUE(write_file(folder_.file(name), content).ok());
    return folder_.file(name);
  }
  std::string hash(const std::string& path, bool reads_again = false) {
    const auto out = FileHashes(memory(), threads_).of(FileIdentity::of(path).value(), reads_again);
    EXPECT_TRUE(out.ok()) << out.status().message();
    return out.ok() ? *out : "";
  }
  std::size_t remembered() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(memory()), {}));
  }
  // Times as they were before: what utime() can do.
  static void set_times(const std::string& path, const struct stat& like) {
    const timespec times[] = {like.st_atim, like.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  TemporaryFolder folder_;
  ThreadPool threads_{2};
};

TEST_F(FileHashesTest, IsThatOfTheContentAlone) {
  const std::string a = hash(file("a", "one"));
  EXPECT_EQ(a.size(), 64U);
  EXPECT_EQ(hash(file("b", "one")), a);
  EXPECT_NE(hash(file("c", "two")), a);
  EXPECT_NE(hash(file("d", "")), a);
  // Parts of 16 MiB: the bytes of each count, and where they lie.
  std::string large((16 << 20) + 5, 'x');
  const std::string whole = hash(file("e", large));
  large.back() = 'y';
  EXPECT_NE(hash(file("f", large)), whole);
  large.back() = 'x';
  std::swap(large[0], large[1]);
  EXPECT_EQ(hash(file("g", large)), whole);
  large[16 << 20] = 'z';
  EXPECT_NE(hash(file("h", large)), whole);
}

TEST_F(FileHashesTest, RemembersAFileThatStays) {
  const std::string path = file("a", "one");
  const std::string first = hash(path);
  ASSERT_EQ(remembered(), 1U);
  // Another answer is taken from there: nothing was read.
  const std::string entry = fs::directory_iterator(memory())->path().string();
  std::string text = read_file(entry).value();
  text.replace(text.size() - 65, 64, std::string(64, 'a'));
  ASSERT_TRUE(write_file(entry, text).ok());
  EXPECT_EQ(hash(path), std::string(64, 'a'));
  EXPECT_EQ(hash(path, /*reads_again=*/true), first);
  EXPECT_EQ(hash(path), first) << "and is mended";
}

TEST_F(FileHashesTest, BelievesNothingDamaged) {
  const std::string path = file("a", "one");
  const std::string first = hash(path);
  const std::string entry = fs::directory_iterator(memory())->path().string();
  const std::string text = read_file(entry).value();
  for (const std::string& damaged :
       {std::string(), text.substr(1), text + "x", text.substr(0, text.size() - 2) + "G\n",
        "1" + text.substr(1)}) {
    if (damaged == text) continue;
    ASSERT_TRUE(write_file(entry, damaged).ok());
    EXPECT_EQ(hash(path), first) << damaged;
  }
}

TEST_F(FileHashesTest, SeesAChangeBehindTimesThatAreSetBack) {
  const std::string path = file("a", "one");
  const std::string first = hash(path);
  struct stat before {};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  // The write goes through the same inode and keeps the size.
  const int fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_EQ(::write(fd, "two", 3), 3);
  ::close(fd);
  set_times(path, before);
  EXPECT_NE(hash(path), first);
}

TEST_F(FileHashesTest, TellsFilesOfEqualTimesApart) {
  const std::string one = file("one", "one");
  const std::string two = file("two", "two");
  struct stat info {};
  ASSERT_EQ(::stat(one.c_str(), &info), 0);
  set_times(two, info);
  EXPECT_NE(hash(one), hash(two));
}

TEST_F(FileHashesTest, RefusesAFileThatIsWrittenTo) {
  const std::string path = file("a", "one");
  const FileIdentity before = FileIdentity::of(path).value();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  ASSERT_TRUE(write_file(path, "two").ok());
  const auto out = FileHashes(memory(), threads_).of(before);
  EXPECT_EQ(out.status().code(), Code::kIo);
  ASSERT_TRUE(write_file(path, "t").ok());
  EXPECT_EQ(FileHashes(memory(), threads_).of(before).status().code(), Code::kIo);
  EXPECT_EQ(remembered(), 0U);
}

// A link that leads to another file for a moment: its hash must not be remembered for this one.
TEST_F(FileHashesTest, HashesTheFileItself) {
  const std::string one = file("one", "one");
  const FileIdentity identity = FileIdentity::of(one).value();
  const std::string two = file("two", "two");
  const std::string link = folder_.file("link");
  fs::create_symlink(two, link);
  FileIdentity through_link = identity;
  through_link.path = link;
  EXPECT_EQ(FileHashes(memory(), threads_).of(through_link).status().code(), Code::kIo);
  EXPECT_EQ(remembered(), 0U);
}

TEST_F(FileHashesTest, ForgetsWhatItWroteAndNothingElse) {
  hash(file("a", "one"));
  const std::string entry = fs::directory_iterator(memory())->path().string();
  const std::string dear = memory() + "/0123456789abcdef0123456789abcdef";
  ASSERT_TRUE(write_file(dear, "dear\n").ok());
  ASSERT_TRUE(write_file(entry + ".tmp.abcdefghijkl", "").ok());
  fs::create_symlink(dear, memory() + "/abcdef0123456789abcdef0123456789");
  FileHashes::forget(memory());
  EXPECT_FALSE(fs::exists(entry));
  EXPECT_FALSE(fs::exists(entry + ".tmp.abcdefghijkl"));
  EXPECT_EQ(remembered(), 2U);
}

TEST(OpenedFilesTest, SeesAFileThatWasThereForAMoment) {
  TemporaryFolder folder;
  const std::string one = folder.file("one");
  const std::string two = folder.file("two");
  const std::string link = folder.file("link");
  ASSERT_TRUE(write_file(one, "one").ok());
  ASSERT_TRUE(write_file(two, "two").ok());
  const auto lead_to = [&](const std::string& target) {
    fs::remove(link);
    fs::create_symlink(target, link);
  };
  lead_to(one);
  const OpenedFiles opened;
  const std::vector<FileIdentity> files = {FileIdentity::of(link).value()};
  EXPECT_EQ(read_file(link).value(), "one");
  EXPECT_TRUE(opened.check(files).ok());
  lead_to(two);
  EXPECT_EQ(read_file(link).value(), "two");
  lead_to(one);
  EXPECT_EQ(text_of(FileIdentity::of_all(std::vector{link}).value()), text_of(files));
  EXPECT_EQ(opened.check(files).code(), Code::kIo);
}

TEST_F(FileHashesTest, WorksWithoutAPlaceToRememberIn) {
  const std::string path = file("a", "one");
  const FileIdentity identity = FileIdentity::of(path).value();
  EXPECT_EQ(FileHashes("", threads_).of(identity).value(), hash(path));
  EXPECT_EQ(FileHashes("/nonexistent", threads_).of(identity).value(), hash(path));
}

TEST(FileIdentityTest, IsOfRegularFiles) {
  EXPECT_EQ(FileIdentity::of("/nonexistent").status().code(), Code::kIo);
  EXPECT_EQ(FileIdentity::of("/dev/null").status().code(), Code::kIo);
  EXPECT_EQ(FileIdentity::of("/").status().code(), Code::kIo);
}

TEST(FileIdentityTest, NeverWaitsForTheFuture) {
  FileIdentity file;
  file.changed_ns = std::numeric_limits<std::int64_t>::max() / 2;
  EXPECT_FALSE(wait_until_settled(std::span(&file, 1)));
  file.changed_ns = 1;
  EXPECT_TRUE(wait_until_settled(std::span(&file, 1)));
}

// A folder in memory, which sets no times for what is written through a mapping.
TEST(FileHashesInMemory, ShowAChangeThroughAMapping) {
  std::string folder = "/dev/shm/anemone-test-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) GTEST_SKIP() << "there is no /dev/shm";
  const std::string path = folder + "/a";
  ASSERT_TRUE(write_file(path, "one").ok());
  if (FileIdentity::of(path).value().shows_changes) {
    fs::remove_all(folder);
    GTEST_SKIP() << "/dev/shm is no file system in memory";
  }
  TemporaryFolder memory;
  const std::string remembered = memory.file("memory");
  fs::create_directory(remembered);
  ThreadPool threads(1);
  FileHashes hashes(remembered, threads);
  const auto hash = [&] { return hashes.of(FileIdentity::of(path).value()).value(); };
  const int file = ::open(path.c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  void* bytes = ::mmap(nullptr, 3, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(bytes, MAP_FAILED);
  auto* text = static_cast<volatile char*>(bytes);
  text[0] = 'o';  // the first write brings the page here, which may set times
  const std::string first = hash();
  EXPECT_EQ(hash(), first);
  const std::string before = FileIdentity::of(path).value().text();
  text[0] = 'x';
  EXPECT_EQ(FileIdentity::of(path).value().text(), before);
  EXPECT_NE(hash(), first);
  EXPECT_TRUE(fs::is_empty(remembered));
  ::munmap(bytes, 3);
  ::close(file);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace anemone
