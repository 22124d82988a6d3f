// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "artifact/manifest.h"
#include "base/file.h"
#include "tests/artifact/sample_manifest.h"
#include "tests/support/shared_data.h"

namespace anemone::artifact {
namespace {

using anemone::testing::TemporaryFolder;

// A folder with two files that its manifest lists.
Manifest write_sample(const TemporaryFolder& folder) {
  EXPECT_TRUE(write_file(folder.file("embedding.bin"), "abc").ok());
  EXPECT_TRUE(make_directories(folder.file("head_0.mlpackage")).ok());
  EXPECT_TRUE(write_file(folder.file("head_0.mlpackage/Manifest.json"), "").ok());
  Manifest manifest = testing::sample_manifest();
  for (FileEntry& file : manifest.files) {
    auto entry = describe_file(folder.path(), file.path);
    EXPECT_TRUE(entry.ok()) << entry.status().message();
    if (entry.ok()) file = *entry;
  }
  return manifest;
}

TEST(ArtifactFiles, DescribesAFileByItsSizeAndHash) {
  const TemporaryFolder folder;
  const Manifest manifest = write_sample(folder);
  EXPECT_EQ(manifest.files[0].bytes, 3U);
  EXPECT_EQ(manifest.files[0].sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(manifest.files[1].bytes, 0U);
}

TEST(ArtifactFiles, ManifestIsReadBackFromTheFolder) {
  const TemporaryFolder folder;
  const Manifest manifest = write_sample(folder);
  ASSERT_TRUE(write_manifest(folder.path(), manifest).ok());
  const auto read = read_manifest(folder.path());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(to_json(*read), to_json(manifest));
}

TEST(ArtifactFiles, FolderWithoutManifestIsNotFound) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_manifest(folder.path()).status().code(), Code::kNotFound);
  EXPECT_EQ(read_manifest(folder.file("absent")).status().code(), Code::kNotFound);
}

TEST(ArtifactFiles, ManifestThatWouldNotBeReadIsNotWritten) {
  const TemporaryFolder folder;
  Manifest manifest = write_sample(folder);
  manifest.heads.pop_back();
  EXPECT_EQ(write_manifest(folder.path(), manifest).code(), Code::kCorrupt);
  EXPECT_FALSE(std::filesystem::exists(folder.file("manifest.json")));
}

TEST(ArtifactFiles, TruncatedManifestNamesTheFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("manifest.json"), "{\"format_version\": 1,").ok());
  const Status status = read_manifest(folder.path()).status();
  EXPECT_EQ(status.code(), Code::kParseError);
  EXPECT_NE(status.message().find("manifest.json"), std::string::npos);
}

TEST(ArtifactFiles, IntactFolderPassesTheCheck) {
  const TemporaryFolder folder;
  const Manifest manifest = write_sample(folder);
  EXPECT_TRUE(check_files(folder.path(), manifest, true).ok());
}

TEST(ArtifactFiles, MissingFileIsNamed) {
  const TemporaryFolder folder;
  const Manifest manifest = write_sample(folder);
  std::filesystem::remove(folder.file("embedding.bin"));
  const Status status = check_files(folder.path(), manifest, false);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("embedding.bin"), std::string::npos);
}

TEST(ArtifactFiles, OtherSizeIsNoticedWithoutHashing) {
  const TemporaryFolder folder;
  const Manifest manifest = write_sample(folder);
  ASSERT_TRUE(write_file(folder.file("embedding.bin"), "abcd").ok());
  const Status status = check_files(folder.path(), manifest, false);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("expected 3 bytes, got 4"), std::string::npos);
}

TEST(ArtifactFiles, OtherContentIsNoticedByTheHashOnly) {
  const TemporaryFolder folder;
  const Manifest manifest = write_sample(folder);
  ASSERT_TRUE(write_file(folder.file("embedding.bin"), "abd").ok());
  EXPECT_TRUE(check_files(folder.path(), manifest, false).ok());
  EXPECT_EQ(check_files(folder.path(), manifest, true).code(), Code::kCorrupt);
}

TEST(ArtifactFiles, PathsThatLeaveTheFolderAreNotDescribed) {
  const TemporaryFolder folder;
  for (const char* path : {"../x", "/etc/passwd", "a//b", "./a", "", "a/..", "a\\b"})
    EXPECT_EQ(describe_file(folder.path(), path).status().code(), Code::kInvalidArgument) << path;
}

}  // namespace
}  // namespace anemone::artifact
