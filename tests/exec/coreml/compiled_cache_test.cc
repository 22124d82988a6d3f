// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/compiled_cache.h"

#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/file.h"
#include "tests/exec/coreml/checked_runtime.h"
#include "tests/support/shared_data.h"

namespace anemone::exec::coreml {
namespace {

namespace fs = std::filesystem;
using testing::CheckedRuntime;
using testing::Fault;

struct CompiledCacheTest : ::testing::Test {
  void SetUp() override {
    ASSERT_TRUE(make_directories(package).ok());
    ASSERT_TRUE(write_file(package + "/Manifest.json", "{}").ok());
    ASSERT_TRUE(write_file(package + "/model.mlmodel", "a model").ok());
  }
  void TearDown() override { EXPECT_EQ(runtime->violations(), std::vector<std::string>()); }

  CompiledCache cache() { return CompiledCache(runtime, {.folder = place, .cancel = &cancel}); }
  // Names of all entries, of all systems.
  std::vector<std::string> entries() const {
    std::vector<std::string> out;
    for (const auto& machine : fs::directory_iterator(place)) {
      if (machine.path().filename() == "hashes") continue;
      for (const auto& entry : fs::directory_iterator(machine.path()))
        if (entry.path().extension() != ".lock") out.push_back(entry.path().filename().string());
    }
    return out;
  }

  anemone::testing::TemporaryFolder folder;
  const std::string package = folder.file("small.mlpackage");
  const std::string place = folder.file("cache");
  std::shared_ptr<CheckedRuntime> runtime = std::make_shared<CheckedRuntime>();
  std::atomic<bool> cancel = false;
};

TEST_F(CompiledCacheTest, CompilesOnceAndFindsItAfterwards) {
  std::vector<CompileStage> stages;
  CompiledCache first = cache();
  const auto made = first.get(package, [&](const CompileEvent& event) {
    stages.push_back(event.stage);
    EXPECT_EQ(event.package, package);
  });
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(fs::exists(made->path + "/coremldata.bin"));
  EXPECT_EQ(stages,
            (std::vector{CompileStage::kHashing, CompileStage::kCompiling, CompileStage::kReady}));
  const auto again = cache().get(package);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->path, made->path);
  EXPECT_EQ(again->id, made->id);
  EXPECT_EQ(runtime->compiles(), 1);
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(CompiledCacheTest, EveryContentHasAnEntryOfItsOwn) {
  ASSERT_TRUE(cache().get(package).ok());
  ASSERT_TRUE(write_file(package + "/model.mlmodel", "b model").ok());
  ASSERT_TRUE(cache().get(package).ok());
  EXPECT_EQ(runtime->compiles(), 2);
  EXPECT_EQ(entries().size(), 2u);
  // The same content under another name is the same model.
  fs::copy(package, folder.file("copy.mlpackage"), fs::copy_options::recursive);
  ASSERT_TRUE(cache().get(folder.file("copy.mlpackage")).ok());
  EXPECT_EQ(runtime->compiles(), 2);
}

TEST_F(CompiledCacheTest, AChangeWhileItCompilesLeavesNoEntry) {
  runtime->in_compile = [&](const std::string&) {
    EXPECT_TRUE(write_file(package + "/model.mlmodel", "another model").ok());
  };
  const auto made = cache().get(package);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::kIo) << made.status().message();
  EXPECT_TRUE(entries().empty());
}

TEST_F(CompiledCacheTest, UpgradeOfTheSystemCompilesAgainAndRemovesTheOld) {
  ASSERT_TRUE(cache().get(package).ok());
  runtime->set_machine({"26A12", "Mac16,10", true});
  const auto made = cache().get(package);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(runtime->compiles(), 2);
  EXPECT_NE(made->path.find("Mac16,10_26A12"), std::string::npos) << made->path;
  EXPECT_EQ(entries().size(), 1u);
  // What another machine compiled into the same folder stays.
  runtime->set_machine({"26A12", "Mac15,3", true});
  ASSERT_TRUE(cache().get(package).ok());
  EXPECT_EQ(entries().size(), 2u);
}

TEST_F(CompiledCacheTest, DamagedEntryIsMadeAgain) {
  const auto made = cache().get(package);
  ASSERT_TRUE(made.ok());
  fs::remove(made->path + "/coremldata.bin");
  const auto again = cache().get(package);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(fs::exists(again->path + "/coremldata.bin"));
  EXPECT_NE(again->id, made->id);
  EXPECT_EQ(runtime->compiles(), 2);
  EXPECT_EQ(entries().size(), 1u);
}

// Too many open files would be another such error: a compilation would take hours for nothing.
TEST_F(CompiledCacheTest, AnEntryThatCannotBeLockedIsNotCompiledAgain) {
  const auto made = cache().get(package);
  ASSERT_TRUE(made.ok());
  const fs::path entry = fs::path(made->path).parent_path();
  fs::rename(entry, folder.file("elsewhere"));
  fs::create_directory_symlink(folder.file("elsewhere"), entry);
  const auto again = cache().get(package);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code(), Code::kIo) << again.status().message();
  EXPECT_EQ(runtime->compiles(), 1);
}

TEST_F(CompiledCacheTest, KilledCompilationLeavesNothingThatIsUsed) {
  const pid_t child = ::fork();
  if (child == 0) {
    runtime->in_compile = [](const std::string& target) {
      if (!write_file(target + "/half", "half").ok()) ::_exit(2);
      ::_exit(1);
    };
    const auto unused = cache().get(package);
    ::_exit(unused.ok() ? 3 : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 1);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_NE(entries()[0].find(".scratch"), std::string::npos);
  // Also where a later compilation has not taken it away, and its lock is gone.
  fs::copy(place, folder.file("copy"), fs::copy_options::recursive);
  const fs::path copied = fs::path(folder.file("copy")) / "Mac16,10_25F71";
  for (const auto& entry : fs::directory_iterator(copied))
    if (entry.path().extension() == ".lock") fs::remove_all(entry.path());
  ASSERT_TRUE(make_directories((copied / "mine.0.scratch").string()).ok());
  const auto freed = clear_compiled(folder.file("copy"));
  ASSERT_TRUE(freed.ok()) << freed.status().message();
  EXPECT_EQ(*freed, 4u);  // "half"
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(copied))
    left.push_back(entry.path().filename().string());
  EXPECT_EQ(left, std::vector<std::string>{"mine.0.scratch"});
  const auto made = cache().get(package);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(runtime->compiles(), 1);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(entries()[0].find(".scratch"), std::string::npos);
}

TEST_F(CompiledCacheTest, SecondProcessWaitsForTheFirst) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    runtime->in_compile = [&](const std::string&) {
      if (::write(pipe[1], "c", 1) != 1) ::_exit(2);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    };
    ::_exit(cache().get(package).ok() ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
  bool waited = false;
  const auto made = cache().get(package, [&](const CompileEvent& event) {
    waited = waited || event.stage == CompileStage::kWaiting;
    EXPECT_FALSE(event.was_compiled);
  });
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(waited);
  EXPECT_EQ(runtime->compiles(), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(CompiledCacheTest, WaitingEndsWithPatienceOrWhenItIsCancelled) {
  std::atomic<bool> is_compiling = false;
  std::atomic<bool> may_end = false;
  runtime->in_compile = [&](const std::string&) {
    is_compiling = true;
    while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  std::thread first([&] { EXPECT_TRUE(cache().get(package).ok()); });
  while (!is_compiling) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CompiledCache hasty(runtime, {.folder = place, .max_wait = std::chrono::milliseconds(50)});
  EXPECT_EQ(hasty.get(package).status().code(), Code::kBusy);
  cancel = true;
  EXPECT_EQ(cache().get(package).status().code(), Code::kCancelled);
  may_end = true;
  first.join();
  EXPECT_EQ(runtime->compiles(), 1);
}

TEST_F(CompiledCacheTest, FailedCompilationLeavesNothing) {
  runtime->inject({.call = Fault::Call::kCompile,
                   .error = runtime_error("NSPOSIXErrorDomain", 28, "No space left on device")});
  const auto made = cache().get(package);
  EXPECT_EQ(made.status().code(), Code::kIo);
  EXPECT_TRUE(made.status().message().starts_with(
      "[small.mlpackage] cannot compile: no space left on device;"))
      << made.status().message();
  EXPECT_TRUE(entries().empty());
  EXPECT_TRUE(cache().get(package).ok());
}

TEST_F(CompiledCacheTest, RenewMakesABrokenOneAgainOnceForAllWhoHoldIt) {
  CompiledCache one = cache();
  const auto broken = one.get(package);
  ASSERT_TRUE(broken.ok());
  const auto mended = one.renew(package, *broken);
  ASSERT_TRUE(mended.ok());
  EXPECT_NE(mended->id, broken->id);
  EXPECT_EQ(runtime->compiles(), 2);
  const auto other = cache().renew(package, *broken);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->id, mended->id);
  EXPECT_EQ(runtime->compiles(), 2);
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(CompiledCacheTest, NoPackageIsAnError) {
  EXPECT_EQ(cache().get(folder.file("absent.mlpackage")).status().code(), Code::kIo);
  ASSERT_TRUE(make_directories(folder.file("empty.mlpackage")).ok());
  EXPECT_EQ(cache().get(folder.file("empty.mlpackage")).status().code(), Code::kCorrupt);
}

TEST_F(CompiledCacheTest, ListsAndClearsWhatNobodyUses) {
  EXPECT_TRUE(list_compiled(place).empty());
  auto made = cache().get(package);
  ASSERT_TRUE(made.ok()) << made.status().message();
  auto listed = list_compiled(place);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].machine, "Mac16,10_25F71");
  EXPECT_EQ(listed[0].source, package);
  EXPECT_TRUE(listed[0].is_complete);
  EXPECT_TRUE(listed[0].is_busy);
  EXPECT_GT(listed[0].bytes, 0u);
  // Somebody holds it.
  auto freed = clear_compiled(place);
  ASSERT_TRUE(freed.ok()) << freed.status().message();
  EXPECT_EQ(*freed, 0u);
  EXPECT_TRUE(fs::exists(made->path));
  made->held.reset();
  ASSERT_TRUE(write_file(place + "/mine", "x").ok());
  ASSERT_TRUE(make_directories(place + "/Mac16,10_25F71/mine").ok());
  listed = list_compiled(place);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_FALSE(listed[0].is_busy);
  freed = clear_compiled(place);
  ASSERT_TRUE(freed.ok()) << freed.status().message();
  EXPECT_EQ(*freed, listed[0].bytes);
  EXPECT_TRUE(list_compiled(place).empty());
  EXPECT_FALSE(fs::exists(made->path));
  EXPECT_TRUE(fs::exists(place + "/mine"));
  EXPECT_TRUE(fs::exists(place + "/Mac16,10_25F71/mine"));
  EXPECT_TRUE(cache().get(package).ok());
  EXPECT_EQ(runtime->compiles(), 2);
}

TEST_F(CompiledCacheTest, ClearingLeavesAnEntryInTheMaking) {
  runtime->in_compile = [&](const std::string& target) {
    const auto freed = clear_compiled(place);
    EXPECT_TRUE(freed.ok());
    EXPECT_TRUE(fs::exists(target));
  };
  EXPECT_TRUE(cache().get(package).ok());
  EXPECT_EQ(list_compiled(place).size(), 1u);
}

}  // namespace
}  // namespace anemone::exec::coreml
