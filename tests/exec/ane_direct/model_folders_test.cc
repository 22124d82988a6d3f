// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/model_folders.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/file.h"
#include "exec/ane_direct/error_map.h"
#include "tests/support/shared_data.h"

namespace anemone::exec::ane_direct::testing {
namespace {

namespace fs = std::filesystem;

struct Folders : ::testing::Test {
  auto make(const std::string& name) {
    const std::vector<WeightFile> weights = {{"weights/a.bin", bytes}, {"weights/b.bin", {}}};
    return folders.make(parent.path(), name, "program(1.3)", weights);
  }
  std::string text_of(const std::string& file) {
    const auto text = read_file(parent.file(file));
    return text.ok() ? *text : text.status().message();
  }
  bool is_empty() const { return fs::is_empty(parent.path()); }

  anemone::testing::TemporaryFolder parent;
  const std::vector<std::byte> bytes = {std::byte{'n'}, std::byte{0}, std::byte{0xff}};
  ModelFolders folders;
};

TEST_F(Folders, HoldTheFilesOfAProgramWhileItIsUsed) {
  {
    const auto use = make("0a1b");
    ASSERT_TRUE(use.ok());
    EXPECT_EQ(text_of("0a1b/model.mil"), "program(1.3)");
    EXPECT_EQ(text_of("0a1b/weights/a.bin"), std::string("n\0\xff", 3));
    EXPECT_EQ(text_of("0a1b/weights/b.bin"), "");
  }
  EXPECT_TRUE(is_empty());
}

TEST_F(Folders, GoWithTheLastProgramThatUsesThem) {
  auto first = make("0a1b");
  auto second = make("0a1b");
  const auto other = make("ffff");
  ASSERT_TRUE(first.ok() && second.ok() && other.ok());
  (*first).reset();
  EXPECT_TRUE(fs::exists(parent.file("0a1b/model.mil")));
  (*second).reset();
  EXPECT_FALSE(fs::exists(parent.file("0a1b")));
  EXPECT_TRUE(fs::exists(parent.file("ffff/model.mil")));
}

TEST_F(Folders, ThatCannotBeWrittenLeaveNothing) {
  ASSERT_TRUE(write_file(parent.file("0a1b"), "a file in the way").ok());
  const auto blocked = make("0a1b");
  ASSERT_FALSE(blocked.ok());
  EXPECT_EQ(blocked.error().chain[0].domain, kFolderDomain);
  const MappedError mapped = map_error(blocked.error(), "k", "cannot compile");
  EXPECT_EQ(mapped.cause, Cause::kFolder);
  EXPECT_EQ(mapped.status.code(), Code::kIo);
  EXPECT_TRUE(is_empty());
}

// The folder is removed with all that is in it, so a name must not lead to another one.
TEST_F(Folders, HaveNamesThatStayBelowTheirParent) {
  ASSERT_TRUE(write_file(parent.file("kept"), "").ok());
  for (const char* name : {"", ".", "..", "a/b", "/", "../b"}) {
    const auto made = make(name);
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_EQ(made.error().chain[0].text,
              "expected the name of a folder, got \"" + std::string(name) + "\"");
  }
  EXPECT_TRUE(fs::exists(parent.file("kept")));
}

}  // namespace
}  // namespace anemone::exec::ane_direct::testing
