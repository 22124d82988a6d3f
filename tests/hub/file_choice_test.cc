// SPDX-License-Identifier: Apache-2.0
#include "hub/file_choice.h"

#include <gtest/gtest.h>

namespace anemone::hub {
namespace {

std::vector<std::string> names(const Result<std::vector<RemoteFile>>& files) {
  std::vector<std::string> out;
  if (!files.ok()) return {files.status().message()};
  for (const RemoteFile& file : *files) out.push_back(file.path);
  return out;
}

Snapshot with(const std::vector<std::string>& paths) {
  Snapshot out;
  for (const std::string& path : paths) out.files.push_back({path, 1, "", false});
  return out;
}

Result<std::vector<RemoteFile>> choose(const std::vector<std::string>& paths,
                                       const FilePatterns& patterns = {}) {
  return choose_files(with(paths), patterns, {"o", "n"});
}

using Names = std::vector<std::string>;

TEST(FileChoice, SafetensorsComeFirst) {
  EXPECT_EQ(names(choose({"README.md", "config.json", "merges.txt",
                          "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                          "model.gguf", "original/x.safetensors", "pytorch_model.bin"})),
            (Names{"config.json", "merges.txt", "model-00001-of-00002.safetensors",
                   "model-00002-of-00002.safetensors"}));
  // The weights once more, in the form of their makers.
  EXPECT_EQ(names(choose({"consolidated.safetensors", "model.safetensors"})),
            (Names{"model.safetensors"}));
  EXPECT_EQ(names(choose({"weights.safetensors"})), (Names{"weights.safetensors"}));
}

TEST(FileChoice, OneGgufModelOrAQuestion) {
  EXPECT_EQ(names(choose({"a-00001-of-00002.gguf", "a-00002-of-00002.gguf"})).size(), 2u);
  const auto several = choose({"a-Q4_0.gguf", "a-Q8_0.gguf"});
  ASSERT_FALSE(several.ok());
  EXPECT_NE(several.status().message().find("as o/n:Q4_0; there are Q4_0, Q8_0"), std::string::npos)
      << several.status().message();
  EXPECT_EQ(names(choose({"a-Q4_0.gguf", "a-Q8_0.gguf"}, {{"*Q8*"}, {}})), (Names{"a-Q8_0.gguf"}));
}

TEST(FileChoice, OnnxWithItsFolder) {
  EXPECT_EQ(
      names(choose({"cpu/genai_config.json", "cpu/model.onnx", "cpu/model.onnx.data"})).size(), 3u);
}

TEST(FileChoice, SaysWhatToDoAboutPickles) {
  const auto torch = choose({"config.json", "pytorch_model.bin"});
  ASSERT_FALSE(torch.ok());
  EXPECT_EQ(torch.status().code(), Code::kUnsupported);
  EXPECT_NE(torch.status().message().find("save_pretrained"), std::string::npos);
  EXPECT_FALSE(choose({"config.json"}).ok());
  EXPECT_FALSE(choose({"config.json"}, {{"*.gguf"}, {}}).ok());
}

TEST(RepoNames, AreOwnerAndName) {
  EXPECT_TRUE(parse_repo_name("Qwen/Qwen2.5-0.5B-Instruct").has_value());
  for (const char* wrong : {"", "name", "/name", "owner/", "a/b/c", "../b", "a/..", "a b/c",
                            "a/b--c", "./x", "a/b?c", "a/b%2f"})
    EXPECT_FALSE(parse_repo_name(wrong).has_value()) << wrong;
}

}  // namespace
}  // namespace anemone::hub
