// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/progress.h"
#include "ir/text.h"
#include "tests/cli/package_fixture.h"
#include "tests/support/tiny_gguf.h"

namespace anemone::cli {
namespace {

struct Inspect : PackageFixture {
  void SetUp() override { write_package_file(); }

  Json json_of(const std::string& path) {
    const Outcome outcome = run_anemone("inspect --json " + path);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    auto json = parse_json(outcome.out, "output");
    EXPECT_TRUE(json.ok()) << outcome.out;
    return json.ok() ? *json : Json();
  }
};

TEST_F(Inspect, SummarisesAPackage) {
  const Outcome outcome = run_anemone("inspect " + package);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"Core ML package, specification 9", "function main, default (ios18)",
                           "2 add", "1 read_state", "state   sum"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  const Json json = json_of(package);
  EXPECT_EQ(json["lawful"], true);
  EXPECT_EQ(json["functions"][0]["operations"]["add"], 2);
  EXPECT_EQ(json["functions"][0]["states"][0]["shape"], Json::array({2}));
}

TEST_F(Inspect, PrintsAPackageAsMilTextThatParses) {
  const Outcome outcome = run_anemone("inspect --mil " + package);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto program = ir::parse(outcome.out, "output");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_NE(program->function("main"), nullptr);
}

TEST_F(Inspect, ListsTheTensorsOfASafetensorsFile) {
  write_inputs({1, 2}, 3);
  const Outcome outcome = run_anemone("inspect " + inputs);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("  x  fp16  [2]"), std::string::npos) << outcome.out;
  EXPECT_EQ(json_of(inputs)["tensors"].size(), 2u);
}

TEST_F(Inspect, RefusesADamagedFile) {
  write_inputs({1, 2}, 3);
  const std::string bytes = contents(inputs);
  std::ofstream(inputs, std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  Outcome outcome = run_anemone("inspect " + inputs);
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  std::ofstream(package + "/Manifest.json") << "{}";
  outcome = run_anemone("inspect " + package);
  EXPECT_EQ(outcome.code, 3) << outcome.err;
}

TEST_F(Inspect, RefusesAnUnlawfulProgramOnlyWhenStrict) {
  // An operation that nobody knows, in the bytes of a package that is otherwise whole.
  const std::string model = package + "/Data/com.apple.CoreML/model.mlmodel";
  std::string bytes = contents(model);
  std::size_t changed = 0;
  const std::string before(
      "\x0a\x03"
      "add");
  for (std::size_t at = bytes.find(before); at != std::string::npos;
       at = bytes.find(before, at + 1), ++changed)
    bytes.replace(at, before.size(), "\x0a\x03xdd");
  ASSERT_EQ(changed, 2u);
  std::ofstream(model, std::ios::binary) << bytes;
  const Outcome lenient = run_anemone("inspect " + package);
  EXPECT_EQ(lenient.code, 0) << lenient.err;
  EXPECT_NE(lenient.out.find("unlawful: "), std::string::npos) << lenient.out;
  EXPECT_EQ(run_anemone("inspect --strict " + package).code, 4);
  write_inputs({1, 2}, 3);
  EXPECT_EQ(run_anemone("predict " + flags()).code, 4);
}

TEST_F(Inspect, SummarisesATokenizer) {
  const auto path = testing::shared_path("data/tokenizers/qwen2_5/tokenizer.json");
  if (!path) GTEST_SKIP() << "no shared/data/tokenizers/qwen2_5";
  const Outcome outcome = run_anemone("inspect " + *path);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("tokenizer, BPE, 151643 tokens"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("<|im_end|>"), std::string::npos) << outcome.out;
}

TEST_F(Inspect, RefusesFilesThatItDoesNotKnow) {
  const std::string path = folder.file("notes.txt");
  std::ofstream(path) << "hello, this is text";
  EXPECT_EQ(run_anemone("inspect " + path).code, 4);
}

// ESC [ 2 J would clear the screen, U+202E turns the line round, U+009B is an ESC [ of its own.
const std::string kHostileName = "a\x1b[2J\x7f\xc2\x9b\xe2\x80\xae\rb";

void expect_printable(const std::string& text) {
  for (const char* part : {"\x1b", "\x7f", "\xc2\x9b", "\xe2\x80\xae", "\r"})
    EXPECT_EQ(text.find(part), std::string::npos) << text;
}

TEST_F(Inspect, NamesOfAFileCannotCommandTheTerminal) {
  const std::string path = folder.file("hostile.safetensors");
  const Tensor value(DType::kFp32, {2});
  ASSERT_TRUE(checkpoint::write_safetensors(path, {{kHostileName, value.view()}},
                                            {{kHostileName, kHostileName}})
                  .ok());
  for (const std::string flags : {"", "--json "}) {
    const Outcome outcome = run_anemone("inspect " + flags + path);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("[2J"), std::string::npos) << outcome.out;
    expect_printable(outcome.out);
  }
  EXPECT_EQ(json_of(path)["tensors"][0]["name"], kHostileName);
  // Errors escape the name, too: here the data is cut off, and the file has such a name.
  const std::string bytes = contents(path);
  const std::string other = folder.file(kHostileName);
  std::ofstream(other, std::ios::binary) << bytes.substr(0, bytes.size() - 1);
  const Outcome failed = run_anemone("inspect '" + other + "'");
  EXPECT_EQ(failed.code, 3) << failed.err;
  EXPECT_EQ(std::ranges::count(failed.err, '\n'), 1);
  expect_printable(failed.err);
}

TEST(InspectModel, SaysWhatACheckpointIsAndWhatItCompilesTo) {
  const Outcome outcome =
      run_anemone("inspect " + testing::source_path("models/pocket/checkpoint"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part :
       {"\n  architecture   qwen2, 6 layers of ", "\n  parameters     ", "\n  chat template  yes\n",
        "\n  context        ", "\n  licence        ", "\n  compiles       yes, 3 packages, "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST(InspectModel, SaysItOfAGgufFile) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.file("tiny.gguf"), std::ios::binary) << anemone::testing::tiny_gguf();
  const Outcome outcome = run_anemone("inspect --json " + folder.file("tiny.gguf"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = parse_json(outcome.out, "report");
  ASSERT_TRUE(json.ok());
  const Json& model = (*json)["model"];
  EXPECT_EQ(model["architecture"], "llama");
  EXPECT_EQ(model["compiles"], true);
  EXPECT_EQ(model["chat_template"], true);
  EXPECT_EQ(model["context"], 64);
  EXPECT_GT(model["parameters"], 8000);
}

TEST(InspectModel, NamesTheFormOfNvfp4Files) {
  for (const std::string writer : {"compressed-tensors", "modelopt"}) {
    const Outcome outcome =
        run_anemone("inspect " + testing::source_path("tests/checkpoint/data/nvfp4/" + writer));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("NVFP4 74 %, bf16 26 % (nvfp4)"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("\n  compiles       yes"), std::string::npos) << outcome.out;
  }
}

TEST(InspectModel, SaysWhyACheckpointDoesNotCompile) {
  const testing::TemporaryFolder folder;
  std::filesystem::copy(testing::source_path("tests/compiler/data/tiny/qwen3/model.safetensors"),
                        folder.file("model.safetensors"));
  std::ofstream(folder.file("config.json")) << R"({"model_type": "bert"})";
  const Outcome outcome = run_anemone("inspect " + folder.path());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\n  compiles       no: "), std::string::npos) << outcome.out;
}

// Web pages and extensions have a manifest.json, too.
TEST(InspectModel, AForeignManifestDoesNotHideACheckpoint) {
  const testing::TemporaryFolder folder;
  const std::string model = folder.file("model");
  std::filesystem::copy(testing::source_path("tests/compiler/data/tiny/qwen3"), model);
  std::ofstream(model + "/manifest.json") << R"({"name": "an extension", "version": "1"})";
  const Outcome outcome = run_anemone("inspect " + model);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("architecture"), std::string::npos) << outcome.out;
}

TEST(UnfinishedFiles, AreCalledThat) {
  const testing::TemporaryFolder folder;
  const std::string model = folder.file("model");
  std::filesystem::copy(testing::source_path("tests/compiler/data/tiny/qwen3"), model);
  const std::string weights = model + "/model.safetensors";
  const auto expect = [&](const std::string& part) {
    for (const std::string command : {"inspect ", "run --prompt-ids 1 ", "compile -o x "}) {
      const Outcome outcome = run_anemone(command + model);
      EXPECT_EQ(outcome.code, 3) << command << outcome.err;
      EXPECT_NE(outcome.err.find(part), std::string::npos) << command << outcome.err;
    }
  };
  const auto size = std::filesystem::file_size(weights);
  std::filesystem::resize_file(weights, size / 2);
  expect(" of " + format_bytes(size) + ": it was cut short: download it again");
  std::filesystem::resize_file(weights, 0);
  expect("is empty: the download did not begin");
  // The header of a file that the model does not have is nobody's to read.
  const std::string whole = folder.file("whole");
  std::filesystem::copy(testing::source_path("tests/compiler/data/tiny/qwen3"), whole);
  std::ofstream(whole + "/consolidated.safetensors") << std::string("\x40\0\0\0\0\0\0\0{", 9);
  const Outcome outcome = run_anemone("inspect " + whole);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::ofstream(weights)
      << "version https://git-lfs.github.com/spec/v1\n"
         "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
         "size 988097824\n";
  expect("is a Git LFS pointer (134 B) in place of the file of 988.1 MB: git lfs pull");
  std::filesystem::remove(weights);
  std::ofstream(model + "/model.safetensors.incomplete") << "x";
  expect("is a download that did not end");
}

}  // namespace
}  // namespace anemone::cli
