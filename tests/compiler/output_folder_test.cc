// SPDX-License-Identifier: Apache-2.0
// What `compile -o NAME` may delete, and what it leaves alone.
#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

#include "artifact/manifest.h"
#include "artifact/ownership.h"
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

class OutputPlace : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    whole_folder_ = new TemporaryFolder();
    ASSERT_EQ(compiled_to(whole_folder_->file("artifact")), "");
  }
  static void TearDownTestSuite() {
    delete whole_folder_;
    whole_folder_ = nullptr;
  }
  static std::string compiled_to(const std::string& output, bool resumes = false) {
    CompileOptions options;
    options.threads = 1;
    options.resume = resumes;
    const auto report = compile(source_path("tests/compiler/data/tiny/qwen3"), output, options);
    return report.ok() ? "" : report.status().message();
  }
  static std::string whole() { return whole_folder_->file("artifact"); }

  void put(const std::string& name, const std::string& content = "dear") {
    fs::create_directories(fs::path(folder_.file(name)).parent_path());
    ASSERT_TRUE(write_file(folder_.file(name), content).ok());
  }
  void put_artifact(const std::string& name) {
    fs::create_directories(fs::path(folder_.file(name)).parent_path());
    fs::copy(whole(), folder_.file(name), fs::copy_options::recursive);
  }
  // Nothing anywhere changes, and the message names what is in the way.
  void expect_refused(const std::string& what, const std::string& output) {
    SCOPED_TRACE(what);
    const auto before = files_in(folder_.path());
    for (const bool resumes : {false, true}) {
      const std::string message = compiled_to(output, resumes);
      EXPECT_NE(message.find(what), std::string::npos) << message;
      EXPECT_TRUE(files_in(folder_.path()) == before);
    }
  }
  void expect_compiled(const std::string& output) {
    EXPECT_EQ(compiled_to(output), "");
    EXPECT_TRUE(files_in(output) == files_in(whole()));
    EXPECT_FALSE(fs::exists(output + ".partial"));
  }

  TemporaryFolder folder_;
  const std::string output_ = folder_.file("out");
  const std::string partial_ = output_ + ".partial";

 private:
  static TemporaryFolder* whole_folder_;
};
TemporaryFolder* OutputPlace::whole_folder_ = nullptr;

TEST_F(OutputPlace, ReplacesAnArtifactAndAnEmptyFolder) {
  fs::create_directory(output_);
  expect_compiled(output_ + "/");
  put("out/head_0.mlpackage/Manifest.json", "damaged");
  fs::remove_all(output_ + "/layers_00_02.mlpackage/Data");
  expect_compiled(output_);
}

TEST_F(OutputPlace, LeavesNeighboursAlone) {
  put("out.partial.old/dear.txt");
  put("out.old/dear.txt");
  put("out.tmp");
  put_artifact("out");
  expect_compiled(output_);
  for (const char* name : {"out.partial.old/dear.txt", "out.old/dear.txt", "out.tmp"})
    EXPECT_EQ(read_file(folder_.file(name)).value(), "dear") << name;
}

TEST_F(OutputPlace, RefusesAFolderWithOtherFiles) {
  put_artifact("out");
  put("out/notes.txt");
  expect_refused("got notes.txt", output_);
  fs::remove(output_ + "/notes.txt");
  put("out/layers_00_02.mlpackage/Data/deep.txt");
  expect_refused("got layers_00_02.mlpackage/Data/deep.txt", output_);
  fs::remove_all(output_);
  put_artifact("out");
  fs::create_directory(output_ + "/empty");
  expect_refused("got empty", output_);
  fs::remove(output_ + "/empty");
  fs::create_symlink("manifest.json", output_ + "/link");
  expect_refused("got link", output_);
}

TEST_F(OutputPlace, RefusesAListedFileThatIsALink) {
  put("dear.txt");
  put_artifact("out");
  fs::remove(output_ + "/head_0.mlpackage/Manifest.json");
  fs::create_symlink("../../dear.txt", output_ + "/head_0.mlpackage/Manifest.json");
  expect_refused("got head_0.mlpackage/Manifest.json", output_);
  fs::remove_all(output_ + "/head_0.mlpackage");
  fs::create_directory_symlink("../dear", output_ + "/head_0.mlpackage");
  expect_refused("got head_0.mlpackage", output_);
}

TEST_F(OutputPlace, RefusesAManifestOfSomebodyElse) {
  for (const char* manifest :
       {R"({"format_version": 1, "producer": "shop", "files": []})",
        R"({"format_version": 1, "producer": "anemone 0.1.0"})", "\"format_version\" \"producer\"",
        R"({"format_version": "1", "producer": "anemone 0.1.0", "files": []})", "", "[]"}) {
    put("out/manifest.json", manifest);
    expect_refused("a manifest.json that anemone did not write", output_);
  }
  put("out/manifest.json", R"({"format_version": 1, "producer": "anemone 0.1.0", "files": []})");
  put("out/photo.jpg");
  expect_refused("got photo.jpg", output_);
  // Paths that would lead out list nothing.
  put("photo.jpg");
  put("out/manifest.json",
      R"({"format_version": 1, "producer": "anemone 0.1.0", "files": [{"path": "../photo.jpg"}]})");
  expect_refused("got photo.jpg", output_);
  fs::remove(output_ + "/manifest.json");
  expect_refused("got no manifest.json", output_);
}

TEST_F(OutputPlace, NeverWritesThroughALink) {
  put_artifact("real");
  fs::create_directory_symlink("real", output_);
  expect_refused("got a link", output_);
  expect_refused("got a link", output_ + "/");
  fs::remove(output_);
  fs::create_symlink("absent", output_);
  expect_refused("got a link", output_);
  fs::remove(output_);
  fs::create_directory_symlink("real", partial_);
  expect_refused("is in the way", output_);
  EXPECT_TRUE(fs::is_symlink(partial_));
  fs::remove(partial_);
  fs::create_directory(folder_.file("empty"));
  fs::create_directory_symlink("empty", partial_);
  expect_refused("is in the way", output_);
}

TEST_F(OutputPlace, RefusesWhatIsNoFolder) {
  put("out");
  expect_refused("got a file", output_);
  fs::remove(output_);
  put("out.partial");
  expect_refused("is in the way", output_);
  for (const char* name : {"", ".", "..", "/", "x/.."})
    EXPECT_NE(compiled_to(name).find("expected a folder name"), std::string::npos) << name;
}

TEST_F(OutputPlace, RefusesAWorkingFolderOfSomebodyElse) {
  put("out.partial/dear.txt");
  expect_refused("got dear.txt", output_);
  put("out.partial/compile.json", R"({"fingerprint": "x", "pieces": {}})");
  expect_refused("got dear.txt", output_);
  fs::remove(partial_ + "/dear.txt");
  put("out.partial/artifact/dear.txt");
  expect_refused("got artifact/dear.txt", output_);
  fs::remove_all(partial_);
  put_artifact("out.partial");
  expect_refused("got head_0.mlpackage", output_);
  // A journal names pieces that it cannot mean.
  fs::remove_all(partial_);
  put("out.partial/compile.json",
      R"({"fingerprint": "x", "pieces": {"../dear.txt": [], "..": []}})");
  put("dear.txt");
  expect_compiled(output_);
  EXPECT_TRUE(fs::exists(folder_.file("dear.txt")));
}

TEST_F(OutputPlace, RefusesAFileInAFinishedPackage) {
  std::atomic<bool> cancel = false;
  CompileOptions options;
  options.packages.layers = "3";
  options.resume = true;
  options.cancel = &cancel;
  ASSERT_FALSE(compile(source_path("tests/compiler/data/tiny/qwen3"), output_, options,
                       [&](std::uint64_t, std::uint64_t, const std::string& what) {
                         if (what == "layers 1-1") cancel = true;
                       })
                   .ok());
  put("out.partial/artifact/layers_00_00.mlpackage/dear.txt");
  expect_refused("got layers_00_00.mlpackage/dear.txt", output_);
}

// Killed between the two renames of commit().
TEST_F(OutputPlace, AnArtifactThatWasMovedAwayComesBack) {
  put("out.partial/compile.json", R"({"fingerprint": "x", "pieces": {}})");
  put_artifact("out.partial/replaced");
  CompileOptions options;
  std::atomic<bool> cancel = true;
  options.cancel = &cancel;
  EXPECT_FALSE(compile(source_path("tests/compiler/data/tiny/qwen3"), output_, options).ok());
  EXPECT_TRUE(files_in(output_) == files_in(whole()));
  EXPECT_FALSE(fs::exists(partial_));
}

// Nobody but a run that has a journal moves anything there.
TEST_F(OutputPlace, AFolderOfTheUserIsNotMoved) {
  put("out.partial/replaced/dear.txt");
  expect_refused(R"(has a folder "replaced" but no compile.json)", output_);
}

// Below what a killed run had not finished, too.
TEST_F(OutputPlace, AFileInAnUnfinishedPackageStays) {
  const std::string package = "out.partial/artifact/layers_00_00.mlpackage.tmp.";
  put("out.partial/compile.json",
      R"({"fingerprint": "x", "pieces": {"layers_00_00.mlpackage": []}})");
  put(package + "abcdefghijkl/Manifest.json");
  put(package + "abcdefghijkl/Data/com.apple.CoreML/weights/weight.bin.tmp.abcdefghijkl");
  put(package + "abcdefghijkl/Data/dear.txt");
  expect_refused("got layers_00_00.mlpackage.tmp.abcdefghijkl/Data/dear.txt", output_);
  fs::remove(folder_.file(package + "abcdefghijkl/Data/dear.txt"));
  put(package + "notes");
  expect_refused("got artifact/layers_00_00.mlpackage.tmp.notes", output_);
  fs::remove(folder_.file(package + "notes"));
  expect_compiled(output_);
}

TEST_F(OutputPlace, AFileThatOnlyLooksTemporaryStays) {
  put_artifact("out");
  put("out/manifest.json.tmp.notes");
  expect_refused("got manifest.json.tmp.notes", output_);
}

// Files that appear between the check and the removal stay: only what is listed is removed.
TEST_F(OutputPlace, RemovalTakesWhatIsListedAlone) {
  put_artifact("out");
  const std::set<std::string> listed = {"out/manifest.json", "out/embedding.bin"};
  EXPECT_FALSE(artifact::remove_all_that_is_listed(folder_.path(), "out", listed).ok());
  EXPECT_TRUE(files_in(output_) == files_in(whole()));
  ASSERT_TRUE(artifact::remove_all_that_is_ours(output_).ok());
  EXPECT_FALSE(fs::exists(output_));
}

// A folder like /tmp, where anybody could have put files for a run to take over.
TEST_F(OutputPlace, AWorkingFolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "root alone gives files away";
  fs::create_directories(partial_);
  ASSERT_EQ(::chown(partial_.c_str(), 12345, 12345), 0);
  expect_refused("got one of the user 12345", output_);
}

// Killed after them.
TEST_F(OutputPlace, AnArtifactThatWasReplacedGoes) {
  put_artifact("out");
  put_artifact("out.partial/replaced");
  expect_compiled(output_);
  put_artifact("out.partial/replaced");
  put("out.partial/replaced/dear.txt");
  expect_refused("got dear.txt", output_);
}

// Killed while it deleted what had been replaced, and then the new artifact went as well: half of
// the old one never comes back.
TEST_F(OutputPlace, AnArtifactThatIsHalfDeletedStaysAway) {
  for (const bool is_last : {false, true}) {
    put("out.partial/compile.json", R"({"fingerprint": "x", "pieces": {}})");
    if (is_last) {
      fs::create_directory(partial_ + "/discarded");
    } else {
      put_artifact("out.partial/discarded");
      fs::remove(partial_ + "/discarded/embedding.bin");
    }
    CompileOptions options;
    std::atomic<bool> cancel = true;
    options.cancel = &cancel;
    EXPECT_FALSE(compile(source_path("tests/compiler/data/tiny/qwen3"), output_, options).ok());
    EXPECT_TRUE(files_in(folder_.path()).empty());
  }
  fs::create_directories(partial_ + "/discarded");
  expect_refused("got no manifest.json", output_);
  put("out.partial/discarded/dear.txt");
  expect_refused("got no manifest.json", output_);
}

// What is deleted is never under the name from which it would come back.
TEST_F(OutputPlace, WhatCannotBeMovedAwayIsNotDeleted) {
  put_artifact("out");
  bool is_put = false;
  const auto report = compile(source_path("tests/compiler/data/tiny/qwen3"), output_, {},
                              [&](std::uint64_t, std::uint64_t, const std::string&) {
                                if (!is_put) put("out.partial/discarded/dear.txt");
                                is_put = true;
                              });
  EXPECT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(files_in(partial_ + "/replaced") == files_in(whole()));
  EXPECT_EQ(read_file(partial_ + "/discarded/dear.txt").value(), "dear");
}

TEST_F(OutputPlace, WhatIsPutThereMeanwhileStays) {
  put_artifact("out");
  bool is_put = false;
  const auto report = compile(source_path("tests/compiler/data/tiny/qwen3"), output_, {},
                              [&](std::uint64_t, std::uint64_t, const std::string&) {
                                if (!is_put) put("out/dear.txt");
                                is_put = true;
                              });
  EXPECT_NE(report.status().message().find("got dear.txt"), std::string::npos);
  EXPECT_EQ(read_file(output_ + "/dear.txt").value(), "dear");
  EXPECT_FALSE(fs::exists(partial_));
}

TEST_F(OutputPlace, AFileInTheWorkingFolderStays) {
  bool is_put = false;
  const auto report = compile(source_path("tests/compiler/data/tiny/qwen3"), output_, {},
                              [&](std::uint64_t, std::uint64_t, const std::string&) {
                                if (!is_put) put("out.partial/dear.txt");
                                is_put = true;
                              });
  EXPECT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(read_file(partial_ + "/dear.txt").value(), "dear");
}

}  // namespace
}  // namespace anemone::compiler::testing
