// SPDX-License-Identifier: Apache-2.0
// Which files a checkpoint consists of, and when two of them are the same.
#include "checkpoint/content.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/support/shared_data.h"

namespace anemone::checkpoint {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

std::vector<std::string> names_of(const std::string& path) {
  const auto files = files_of(path);
  EXPECT_TRUE(files.ok()) << files.status().message();
  std::vector<std::string> names;
  if (files.ok())
    for (const std::string& file : *files) names.push_back(fs::path(file).filename().string());
  return names;
}

using Names = std::vector<std::string>;

TEST(ContentOfCheckpoint, ListsWhatACompileReads) {
  EXPECT_EQ(names_of(source_path("models/pocket/checkpoint")),
            (Names{"config.json", "generation_config.json", "model.safetensors",
                   "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"}));
  EXPECT_EQ(names_of(source_path("tests/checkpoint/data/onnx")),
            (Names{"genai_config.json", "model.onnx", "model.onnx.data"}));
  EXPECT_EQ(names_of(source_path("tests/checkpoint/data/tiny.gguf")), Names{"tiny.gguf"});
  EXPECT_FALSE(files_of("/nonexistent").ok());
}

TEST(ContentOfCheckpoint, ListsTheFilesOfAnIndex) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("config.json"), "{}").ok());
  ASSERT_TRUE(write_file(folder.file("model.safetensors.index.json"),
                         R"({"weight_map": {"x": "b.safetensors", "y": "a.safetensors",
                             "z": "b.safetensors"}})")
                  .ok());
  for (const char* name : {"a.safetensors", "b.safetensors", "unused.safetensors"})
    ASSERT_TRUE(write_file(folder.file(name), name).ok());
  EXPECT_EQ(names_of(folder.path()), (Names{"a.safetensors", "b.safetensors", "config.json",
                                            "model.safetensors.index.json"}));
}

TEST(ContentOfCheckpoint, GoesByNamesAndBytes) {
  const TemporaryFolder folder;
  ThreadPool threads(1);
  FileHashes hashes("", threads);
  const std::string model = folder.file("a");
  fs::copy(source_path("models/pocket/checkpoint"), model);
  const auto content = [&](const std::string& path) {
    return content_of(path, hashes, false, [] { return Status(); }).value().hash;
  };
  const std::string first = content(model);
  EXPECT_EQ(first, content(source_path("models/pocket/checkpoint")));
  ASSERT_TRUE(write_file(model + "/notes.txt", "x").ok());
  EXPECT_EQ(content(model), first);
  for (const auto& entry : fs::directory_iterator(model)) {
    const std::string path = entry.path().string();
    if (path.ends_with("notes.txt")) continue;
    const std::string before = read_file(path).value();
    std::string after = before;
    after.back() = after.back() == ' ' ? '\n' : ' ';
    ASSERT_TRUE(write_file(path, after).ok());
    EXPECT_NE(content(model), first) << path;
    ASSERT_TRUE(write_file(path, before).ok());
    EXPECT_EQ(content(model), first) << path;
  }
  fs::remove(model + "/special_tokens_map.json");
  EXPECT_NE(content(model), first) << "a file that is gone";
}

TEST(ContentOfCheckpoint, AsksBeforeTheFirstFileThatItReads) {
  const TemporaryFolder folder;
  ThreadPool threads(1);
  FileHashes hashes(folder.path(), threads);
  const std::string model = source_path("models/pocket/checkpoint");
  int asked = 0;
  const auto refuse = [&] {
    ++asked;
    return Status(Code::kCorrupt, "no model");
  };
  EXPECT_EQ(content_of(model, hashes, false, refuse).status().code(), Code::kCorrupt);
  EXPECT_TRUE(fs::is_empty(folder.path())) << "something was read";
  const auto allow = [&] {
    ++asked;
    return Status();
  };
  EXPECT_TRUE(content_of(model, hashes, false, allow).ok());
  EXPECT_EQ(asked, 2);
  // Nothing has to be read again.
  EXPECT_TRUE(content_of(model, hashes, false, refuse).ok());
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(content_of(model, hashes, true, refuse).ok());
}

}  // namespace
}  // namespace anemone::checkpoint
