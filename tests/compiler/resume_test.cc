// SPDX-License-Identifier: Apache-2.0
// A compilation that was interrupted, and the one that resumes it.
#include <atomic>
#include <filesystem>
#include <gtest/gtest.h>

#include "base/file.h"
#include "compiler/compiler.h"
#include "tests/support/folder_bytes.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

namespace fs = std::filesystem;
using anemone::testing::files_in;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

class Resume : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.packages.layers = "3";
    options_.threads = 2;
    ASSERT_EQ(outcome(folder_.file("whole"), options_), "");
  }

  std::string outcome(const std::string& output, const CompileOptions& options,
                      const CompileProgress& progress = nullptr) {
    const auto report = compile(model_, output, options, progress);
    if (report.ok()) report_ = *report;
    return report.ok() ? "" : report.status().message();
  }
  // Compiles with `resume` and gives up while layer 1 is written.
  void interrupt() {
    std::atomic<bool> cancel = false;
    CompileOptions options = options_;
    options.resume = true;
    options.cancel = &cancel;
    const std::string message =
        outcome(output_, options, [&](std::uint64_t, std::uint64_t, const std::string& what) {
          if (what == "layers 1-1") cancel = true;
        });
    ASSERT_NE(message.find("cancelled"), std::string::npos) << message;
    EXPECT_FALSE(fs::exists(output_));
    EXPECT_TRUE(fs::exists(partial_ + "/artifact/layers_00_00.mlpackage"));
  }
  std::size_t reused() const {
    std::size_t count = 0;
    for (const PackageReport& package : report_.packages) count += package.is_reused ? 1 : 0;
    return count;
  }
  void resume(std::size_t expected_reused) {
    CompileOptions options = options_;
    options.resume = true;
    ASSERT_EQ(outcome(output_, options), "");
    EXPECT_EQ(reused(), expected_reused);
    EXPECT_TRUE(files_in(output_) == files_in(folder_.file("whole")));
    EXPECT_FALSE(fs::exists(partial_));
  }

  TemporaryFolder folder_;
  std::string model_ = source_path("tests/compiler/data/tiny/qwen3");
  const std::string output_ = folder_.file("artifact");
  const std::string partial_ = output_ + ".partial";
  CompileOptions options_;
  CompileReport report_;
};

TEST_F(Resume, TakesFinishedPackages) {
  interrupt();
  resume(1);
}

TEST_F(Resume, MakesAPackageAgainThatHasChanged) {
  interrupt();
  const std::string damaged =
      partial_ + "/artifact/layers_00_00.mlpackage/Data/com.apple.CoreML/weights/weight.bin";
  std::string bytes = read_file(damaged).value();
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(write_file(damaged, bytes).ok());
  resume(0);
}

TEST_F(Resume, MakesAPackageAgainThatLostAFile) {
  interrupt();
  ASSERT_TRUE(fs::remove(partial_ + "/artifact/layers_00_00.mlpackage/Manifest.json"));
  resume(0);
}

TEST_F(Resume, StartsAgainWithOtherOptions) {
  interrupt();
  options_.recipe.quant.scheme = quant::Scheme::kLut6;
  ASSERT_EQ(outcome(folder_.file("whole"), options_), "");
  resume(0);
}

// Nobody knows any more what of the folder is anemone's.
TEST_F(Resume, ADamagedJournalStopsWithTheNameOfWhatIsThere) {
  interrupt();
  ASSERT_TRUE(write_file(partial_ + "/compile.json", "{\"fingerprint\": ").ok());
  const auto before = files_in(partial_);
  CompileOptions options = options_;
  for (const bool resumes : {true, false}) {
    options.resume = resumes;
    const std::string message = outcome(output_, options);
    EXPECT_NE(message.find("got artifact/layers_00_00.mlpackage"), std::string::npos) << message;
    EXPECT_TRUE(files_in(partial_) == before);
  }
}

TEST_F(Resume, AHalfWrittenPackageIsMadeAgain) {
  interrupt();
  const std::string half = partial_ + "/artifact/layers_00_00.mlpackage.tmp.abcdefghijkl";
  ASSERT_TRUE(fs::create_directories(half + "/Data/com.apple.CoreML"));
  ASSERT_TRUE(write_file(half + "/Manifest.json", "half").ok());
  ASSERT_TRUE(write_file(partial_ + "/compile.json.tmp.abcdefghijkl", "half").ok());
  resume(1);
}

TEST_F(Resume, StartsAgainWhenTheCheckpointWasWrittenTo) {
  fs::copy(model_, folder_.file("qwen3"));
  model_ = folder_.file("qwen3");
  interrupt();
  // The bytes are the same under another inode: nothing but reading all of it would tell.
  fs::copy(model_ + "/model.safetensors", folder_.file("copy"));
  fs::rename(folder_.file("copy"), model_ + "/model.safetensors");
  resume(0);
}

TEST_F(Resume, ACheckpointThatChangesMeanwhileIsNotCompiled) {
  fs::copy(model_, folder_.file("qwen3"));
  model_ = folder_.file("qwen3");
  bool has_changed = false;
  const std::string message =
      outcome(output_, options_, [&](std::uint64_t, std::uint64_t, const std::string&) {
        if (has_changed) return;
        has_changed = true;
        // Its own bytes once more.
        const std::string name = model_ + "/generation_config.json";
        EXPECT_TRUE(write_file(name, "{}").ok());
      });
  EXPECT_NE(message.find("changed while it was being read"), std::string::npos) << message;
  EXPECT_FALSE(fs::exists(output_));
  EXPECT_FALSE(fs::exists(partial_));
}

TEST_F(Resume, WithoutItEverythingIsMadeAgain) {
  interrupt();
  ASSERT_EQ(outcome(output_, options_), "");
  EXPECT_EQ(reused(), 0U);
  EXPECT_TRUE(files_in(output_) == files_in(folder_.file("whole")));
  EXPECT_FALSE(fs::exists(partial_));
}

TEST_F(Resume, TwoCompilesOfOneFolderDoNotMix) {
  std::string second;
  CompileOptions options = options_;
  ASSERT_EQ(outcome(output_, options,
                    [&](std::uint64_t, std::uint64_t, const std::string&) {
                      if (!second.empty()) return;
                      const auto report = compile(model_, output_, options_);
                      second = report.ok() ? "finished" : report.status().message();
                    }),
            "");
  EXPECT_NE(second.find("another process is using"), std::string::npos) << second;
  EXPECT_TRUE(files_in(output_) == files_in(folder_.file("whole")));
}

}  // namespace
}  // namespace anemone::compiler::testing
