// SPDX-License-Identifier: Apache-2.0
// Paths that are named as a model and are none, or hide one: commands say what they are.
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/model_path.h"
#include "tests/cli/process.h"
#include "tests/support/tiny_gguf.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

class NamedFile : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("ANEMONE_CACHE", folder_.file("cache").c_str(), 1); }
  void TearDown() override { ::unsetenv("ANEMONE_CACHE"); }
  std::string gguf() const { return folder_.file("model.gguf"); }
  void write_gguf(const std::string& path, std::size_t bytes = std::string::npos) const {
    ASSERT_TRUE(write_file(path, anemone::testing::tiny_gguf().substr(0, bytes)).ok());
  }
  // Every command that takes a model refuses the path.
  static void expect_refused(const std::string& path, int code, const std::string& part) {
    for (const char* command :
         {"run", "compile -o /nonexistent/out", "inspect", "serve --port 0"}) {
      SCOPED_TRACE(command);
      const Outcome outcome = run_anemone(fmt::format("{} '{}'", command, path));
      EXPECT_EQ(outcome.code, code) << outcome.err;
      EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    }
  }

  TemporaryFolder folder_;
};

TEST_F(NamedFile, IsCalledWhatItIs) {
  const std::string json = folder_.file("config.json");
  ASSERT_TRUE(write_file(json, "{}").ok());
  expect_refused(json, 4, "a JSON file: name the folder that it is in");
  const std::string onnx = folder_.file("model.onnx");
  ASSERT_TRUE(write_file(onnx, "\x08\x07").ok());
  expect_refused(onnx, 4, "an ONNX file: name the folder with it and its genai_config.json");
  ASSERT_TRUE(write_file(gguf(), "<!doctype html>").ok());
  const Outcome page = run_anemone("run " + gguf());
  EXPECT_EQ(page.code, 4);
  EXPECT_NE(page.err.find("an HTML page: download the file itself"), std::string::npos) << page.err;
  const Outcome inspected = run_anemone("inspect " + gguf());
  EXPECT_EQ(inspected.code, 3);
  EXPECT_NE(inspected.err.find("got an HTML page"), std::string::npos) << inspected.err;
}

TEST_F(NamedFile, ThatWasCutShortIsCalledThat) {
  const std::size_t size = anemone::testing::tiny_gguf().size();
  for (const std::size_t bytes : {size - 64, size / 2}) {
    write_gguf(gguf(), bytes);
    expect_refused(gguf(), 3, "it was cut short");
  }
  write_gguf(gguf(), 20);
  expect_refused(gguf(), 3, "ends within its header");
}

TEST_F(NamedFile, ThatIsCompiledAlreadyIsNotCompiledAgain) {
  const std::string artifact = folder_.file("artifact");
  const std::string tiny = source_path("tests/compiler/data/tiny/qwen3");
  ASSERT_EQ(run_anemone("compile " + tiny + " -o " + artifact + " -c 32").code, 0);
  const Outcome again = run_anemone("compile " + artifact + " -o " + folder_.file("b"));
  EXPECT_EQ(again.code, 4);
  EXPECT_NE(again.err.find("compiled already"), std::string::npos) << again.err;
  // The context of an artifact cannot be changed.
  const std::string ids = " --prompt-ids 1 --max-new 1 --ignore-eos -c ";
  const Outcome smaller = run_anemone("run " + artifact + ids + "16");
  EXPECT_EQ(smaller.code, 0) << smaller.err;
  EXPECT_NE(smaller.err.find("note: [--context] has no effect"), std::string::npos) << smaller.err;
  EXPECT_EQ(run_anemone("run " + artifact + ids + "32").err, "");
  // The context of a checkpoint is clamped, whether it was compiled before or not.
  for (int i = 0; i < 2; ++i) {
    const Outcome clamped = run_anemone("run " + tiny + ids + "1000000");
    EXPECT_EQ(clamped.code, 0) << clamped.err;
    EXPECT_NE(clamped.err.find("note: context 1000000 is more than the model's "),
              std::string::npos)
        << clamped.err;
  }
}

TEST_F(NamedFile, InAFolderOfOtherSafetensorsIsFound) {
  write_gguf(gguf());
  ASSERT_TRUE(write_file(folder_.file("config.json"), "{}").ok());
  ASSERT_TRUE(write_file(folder_.file("golden.safetensors"), "x").ok());
  const auto alone = find_model(folder_.path());
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  EXPECT_EQ(alone->path, gguf());
  write_gguf(folder_.file("other.gguf"));
  const auto two = find_model(folder_.path());
  EXPECT_NE(two.status().message().find("expected one GGUF model, got 2"), std::string::npos)
      << two.status().message();
  // The files of a checkpoint come first.
  ASSERT_TRUE(write_file(folder_.file("model.safetensors"), "x").ok());
  EXPECT_EQ(find_model(folder_.path())->path, folder_.path());
}

// A superuser may read everything: while this lives, the process has the rights of "nobody".
class AsNobody {
 public:
  AsNobody() { is_root_ = ::geteuid() == 0 && ::seteuid(65534) == 0; }
  ~AsNobody() {
    if (is_root_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  bool is_root_ = false;
};

TEST_F(NamedFile, ThatCannotBeReadIsCalledThat) {
  write_gguf(gguf());
  const std::string inner = folder_.file("inner");
  fs::create_directory(inner);
  ASSERT_TRUE(write_file(inner + "/config.json", "{}").ok());
  constexpr fs::perms kAll = fs::perms::group_read | fs::perms::group_exec |
                             fs::perms::others_read | fs::perms::others_exec;
  fs::permissions(folder_.path(), kAll, fs::perm_options::add);
  fs::permissions(gguf(), fs::perms::none);
  fs::permissions(inner, fs::perms::none);
  {
    const AsNobody user;
    for (const std::string& path : {gguf(), inner, inner + "/config.json"}) {
      const Status status = find_model(path).status();
      EXPECT_EQ(status.code(), Code::kIo) << path;
      EXPECT_NE(status.message().find("cannot open: Permission denied"), std::string::npos)
          << status.message();
    }
  }
  fs::permissions(inner, fs::perms::owner_all);
}

}  // namespace
}  // namespace anemone::cli
