// SPDX-License-Identifier: Apache-2.0
#include "base/folder_lock.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "tests/support/shared_data.h"

namespace anemone {
namespace {

using Mode = FolderLock::Mode;

// Two locks of one process stand for those of two: each opens the folder for itself.
struct FolderLockTest : ::testing::Test {
  Code take(Mode mode) const { return FolderLock::take(folder.path(), mode).status().code(); }
  testing::TemporaryFolder folder;
};

TEST_F(FolderLockTest, OfOneThatIsAloneKeepsAllOthersOut) {
  {
    const auto lock = FolderLock::take(folder.path());
    ASSERT_TRUE(lock.ok()) << lock.status().message();
    EXPECT_EQ(take(Mode::kAlone), Code::kBusy);
    EXPECT_EQ(take(Mode::kShared), Code::kBusy);
  }
  EXPECT_EQ(take(Mode::kAlone), Code::kOk);
}

TEST_F(FolderLockTest, ThatIsSharedLetsOthersShareIt) {
  const auto lock = FolderLock::take(folder.path(), Mode::kShared);
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  EXPECT_EQ(take(Mode::kShared), Code::kOk);
  EXPECT_EQ(take(Mode::kAlone), Code::kBusy);
}

TEST_F(FolderLockTest, CanBeSharedLater) {
  auto lock = FolderLock::take(folder.path());
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  ASSERT_TRUE(lock->share().ok());
  EXPECT_EQ(take(Mode::kShared), Code::kOk);
  EXPECT_EQ(take(Mode::kAlone), Code::kBusy);
}

TEST_F(FolderLockTest, IsNotSharedOnceTheFolderIsAnother) {
  const std::string path = folder.file("entry");
  std::filesystem::create_directory(path);
  auto lock = FolderLock::take(path);
  ASSERT_TRUE(lock.ok()) << lock.status().message();
  std::filesystem::rename(path, folder.file("old"));
  EXPECT_EQ(lock->share().code(), Code::kNotFound);
  std::filesystem::create_directory(path);
  EXPECT_EQ(lock->share().code(), Code::kNotFound);
}

}  // namespace
}  // namespace anemone
