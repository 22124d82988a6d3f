// SPDX-License-Identifier: Apache-2.0
// The cache of compiled checkpoints gives the right model, checks it, compiles it once, and is
// private to the user.
#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "tests/cli/interrupted.h"
#include "tests/cli/process.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

constexpr const char* kWeights = "/head_0.mlpackage/Data/com.apple.CoreML/weights/weight.bin";

class CacheOfModels : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::setenv("ANEMONE_CACHE", cache().c_str(), 1), 0);
    fs::copy(source_path("models/pocket/checkpoint"), model());
  }
  void TearDown() override { ::unsetenv("ANEMONE_CACHE"); }

  std::string cache() const { return folder_.file("cache"); }
  std::string model() const { return folder_.file("model"); }
  std::vector<std::string> entries() const {
    std::vector<std::string> all;
    for (const std::string& name : names_in(cache() + "/models"))
      all.push_back(cache() + "/models/" + name);
    return all;
  }
  std::string artifact() const {
    EXPECT_EQ(entries().size(), 1U);
    return entries().empty() ? "" : entries().front() + "/artifact";
  }
  static Outcome run(const std::string& model, const std::string& flags = "") {
    return run_anemone(
        fmt::format("run '{}' --prompt-ids '5 6 7 8' --max-new 6 --ignore-eos {}", model, flags));
  }
  static std::string answer(const std::string& model, const std::string& flags = "") {
    const Outcome outcome = run(model, flags);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }
  // Runs of the model at the same time, each of them by a thread. All give the same output.
  std::vector<Outcome> run_together(std::size_t count) const {
    std::vector<Outcome> outcomes(count);
    std::vector<std::thread> threads;
    for (Outcome& outcome : outcomes)
      threads.emplace_back([&outcome, this] { outcome = run(model()); });
    for (std::thread& thread : threads) thread.join();
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_EQ(outcome.out, outcomes.front().out);
    }
    return outcomes;
  }
  // Flips a bit in place, without a trace in names or sizes.
  static void damage(const std::string& path, std::uint64_t offset) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 0x40));
    ASSERT_TRUE(file.good());
  }
  static void set_times_of(const std::string& from, const std::string& to) {
    struct stat info {};
    ASSERT_EQ(::stat(from.c_str(), &info), 0);
    const timespec times[] = {info.st_atim, info.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, to.c_str(), times, 0), 0);
  }
  // Two stretches of the weights change places: names, sizes and the file itself stay.
  static void change_weights(const std::string& model) {
    const std::string path = model + "/model.safetensors";
    const std::string before = contents(path);
    std::string bytes = before;
    const std::size_t length = bytes.size() / 8 / 8 * 8;
    std::swap_ranges(bytes.end() - static_cast<std::ptrdiff_t>(2 * length),
                     bytes.end() - static_cast<std::ptrdiff_t>(length),
                     bytes.end() - static_cast<std::ptrdiff_t>(length));
    ASSERT_NE(bytes, before);
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out) << bytes;
  }

  TemporaryFolder folder_;
};

TEST_F(CacheOfModels, EqualNamesSizesAndTimesDoNotMakeOneModelOfTwo) {
  const std::string other = folder_.file("elsewhere/model");
  fs::create_directories(folder_.file("elsewhere"));
  fs::copy(model(), other);
  change_weights(other);
  for (const std::string& file : names_in(model()))
    set_times_of(model() + "/" + file, other + "/" + file);
  const std::string first = answer(model());
  const std::string second = answer(other);
  EXPECT_NE(first, second);
  EXPECT_EQ(entries().size(), 2U);
  EXPECT_EQ(answer(model()), first);
  EXPECT_EQ(answer(other), second);
}

TEST_F(CacheOfModels, AChangeBehindTimesThatAreSetBackShows) {
  const std::string before = answer(model());
  const std::string weights = model() + "/model.safetensors";
  fs::copy(weights, folder_.file("times"));
  set_times_of(weights, folder_.file("times"));
  change_weights(model());
  set_times_of(folder_.file("times"), weights);
  EXPECT_NE(answer(model()), before);
}

// What no size and no header can mean is refused before all of it is read.
TEST_F(CacheOfModels, AFileThatIsTooLargeIsNotReadToItsEnd) {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 40;
  std::vector<std::string> names = names_in(model());
  names.push_back("chat_template.jinja");
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string path = model() + "/" + name;
    const std::string before = contents(path);
    std::ofstream(path, std::ios::app).close();
    fs::resize_file(path, kHuge);
    const Outcome outcome = run(model());
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_NE(outcome.err.find(name), std::string::npos) << outcome.err;
    ASSERT_TRUE(write_file(path, before).ok());
  }
  const std::string header =
      R"({"model.embed_tokens.weight":{"dtype":"F32","shape":[1024,268435456],)"
      R"("data_offsets":[0,1099511627776]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  ASSERT_LT(header.size(), 128u);
  const std::string path = model() + "/model.safetensors";
  ASSERT_TRUE(write_file(path, file + header).ok());
  fs::resize_file(path, 8 + header.size() + kHuge);
  EXPECT_EQ(run(model()).code, 3);
}

TEST_F(CacheOfModels, EqualCheckpointsShareAnEntry) {
  const std::string first = answer(model());
  const std::string other = folder_.file("elsewhere/model");
  fs::create_directories(folder_.file("elsewhere"));
  fs::copy(model(), other);
  // What no compile reads is no part of it.
  ASSERT_TRUE(write_file(other + "/README.md", "Hello").ok());
  EXPECT_EQ(answer(other), first);
  EXPECT_EQ(entries().size(), 1U);
  ASSERT_TRUE(write_file(other + "/generation_config.json", "{\"top_k\": 7}").ok());
  EXPECT_EQ(answer(other), first);
  EXPECT_EQ(entries().size(), 2U);
}

// It has the hashes of the other files; its own lies beside it.
TEST_F(CacheOfModels, ADamagedManifestIsNotBelieved) {
  const std::string right = answer(model());
  const std::string manifest = artifact() + "/manifest.json";
  const std::string before = contents(manifest);
  std::string other = before;
  const std::size_t at = other.find("0.56234133");
  ASSERT_NE(at, std::string::npos);
  other[at + 2] = '1';  // a rope that turns at another speed
  for (const bool has_record : {true, false}) {
    ASSERT_TRUE(write_file(manifest, other).ok());
    if (!has_record) fs::remove(entries().front() + "/checked");
    const Outcome outcome = run(model());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, right);
    EXPECT_NE(outcome.err.find("damaged and is compiled again"), std::string::npos) << outcome.err;
    EXPECT_EQ(contents(manifest), before);
  }
  EXPECT_EQ(answer(model()), right);
}

// Names of 32 hex digits are hashes of anything, in a folder that the user chose.
TEST_F(CacheOfModels, ClearLeavesWhatIsNotItsOwn) {
  answer(model());
  const std::string name = "/0123456789abcdef0123456789abcdef";
  fs::create_directory(cache() + "/models" + name);
  ASSERT_TRUE(write_file(cache() + "/models" + name + "/dear.txt", "dear").ok());
  ASSERT_TRUE(write_file(cache() + "/files" + name, "dear").ok());
  const Outcome outcome = run_anemone("cache clear");
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("it contains dear.txt, which anemone did not write"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(contents(cache() + "/models" + name + "/dear.txt"), "dear");
  EXPECT_EQ(names_in(cache() + "/files"), std::vector<std::string>{name.substr(1)});
  EXPECT_EQ(entries().size(), 1U);
}

TEST_F(CacheOfModels, ADamagedEntryIsMadeAgain) {
  const std::string right = answer(model());
  const std::string weights = artifact() + kWeights;
  const auto size = fs::file_size(weights);
  const auto expect_mended = [&](const std::string& what) {
    SCOPED_TRACE(what);
    const Outcome outcome = run(model());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, right);
    EXPECT_NE(outcome.err.find("damaged and is compiled again"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
    EXPECT_EQ(answer(model()), right);
  };
  damage(weights, size / 2);
  expect_mended("weight.bin");
  // The next damage is hidden: the times of the file are set back.
  fs::copy(weights, folder_.file("times"));
  set_times_of(weights, folder_.file("times"));
  damage(weights, size / 3);
  set_times_of(folder_.file("times"), weights);
  expect_mended("weight.bin");
  fs::resize_file(weights, size / 2);
  expect_mended("weight.bin");
  fs::remove(weights);
  expect_mended("weight.bin");
  ASSERT_TRUE(write_file(artifact() + "/manifest.json", "{").ok());
  expect_mended("manifest.json");
  ASSERT_TRUE(write_file(artifact() + "/chat_template.jinja", "another").ok());
  expect_mended("chat_template.jinja");
  fs::remove(artifact() + "/tokenizer.json");
  fs::create_symlink(model() + "/tokenizer.json", artifact() + "/tokenizer.json");
  expect_mended("tokenizer.json");
}

TEST_F(CacheOfModels, FilesThatOnlyLookChangedAreCheckedAndKept) {
  const std::string right = answer(model());
  const std::string weights = artifact() + kWeights;
  fs::copy(weights, folder_.file("copy"));
  fs::rename(folder_.file("copy"), weights);
  const auto manifest = fs::last_write_time(artifact() + "/manifest.json");
  EXPECT_EQ(answer(model()), right);
  EXPECT_EQ(fs::last_write_time(artifact() + "/manifest.json"), manifest);
  // What is known of the files is lost, the hash of the manifest is not.
  const std::string checked = entries().front() + "/checked";
  const std::string before = contents(checked);
  ASSERT_TRUE(write_file(checked, "unknown" + before.substr(before.find('\n'))).ok());
  EXPECT_EQ(answer(model()), right);
  EXPECT_EQ(contents(checked), before);
  EXPECT_EQ(fs::last_write_time(artifact() + "/manifest.json"), manifest);
}

TEST_F(CacheOfModels, VerifyReadsEverythingAgain) {
  const std::string right = answer(model());
  EXPECT_EQ(answer(model(), "--check-hashes"), right);
  // The files change as if the disk had altered them: the stamp still says that all is well.
  for (const std::string& name : names_in(cache() + "/files")) {
    const std::string path = cache() + "/files/" + name;
    std::string text = contents(path);
    text.replace(text.size() - 65, 8, "00000000");
    ASSERT_TRUE(write_file(path, text).ok());
  }
  EXPECT_EQ(answer(model()), right);
  EXPECT_EQ(entries().size(), 2U) << "under another key";
  EXPECT_EQ(answer(model(), "--check-hashes"), right);
  EXPECT_EQ(entries().size(), 2U);
  EXPECT_EQ(answer(model()), right) << "what is remembered is mended";
  EXPECT_EQ(entries().size(), 2U);
  // An artifact that was named is checked as well.
  const std::string copy = folder_.file("artifact");
  fs::copy(entries().front() + "/artifact", copy, fs::copy_options::recursive);
  EXPECT_EQ(answer(copy, "--check-hashes"), right);
  damage(copy + kWeights, fs::file_size(copy + kWeights) / 2);
  const Outcome outcome = run(copy, "--verify");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("sha256"), std::string::npos) << outcome.err;
  EXPECT_EQ(run(copy).code, 0);
}

TEST_F(CacheOfModels, FirstRunsWaitForEachOther) {
  for (const Outcome& outcome : run_together(4))
    EXPECT_TRUE(outcome.err.empty() ||
                outcome.err == "anemone: another process is compiling this model: waiting\n")
        << outcome.err;
  EXPECT_EQ(entries().size(), 1U);
  EXPECT_EQ(names_in(entries().front()).size(), 2U);
}

// An entry stays from the moment it is found until it is open.
TEST_F(CacheOfModels, RunsAndClearDoNotDisturbEachOther) {
  std::atomic<bool> is_over = false;
  std::thread clears([&] {
    while (!is_over) EXPECT_EQ(run_anemone("cache clear").code, 0);
  });
  for (int i = 0; i < 8; ++i) run_together(2);
  is_over = true;
  clears.join();
}

TEST_F(CacheOfModels, AnInterruptedFirstRunLeavesNothingThatCounts) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
    fs::remove_all(cache());
    const int status = interrupted({"run", model(), "--prompt-ids", "5 6 7 8", "--max-new", "1"},
                                   cache() + "/models", signal);
    if (WIFSIGNALED(status) && !entries().empty()) {
      EXPECT_FALSE(fs::exists(entries().front() + "/checked"));
    }
    EXPECT_FALSE(answer(model()).empty());
    EXPECT_EQ(names_in(entries().front()).size(), 2U) << "artifact and checked";
  }
}

// Whatever state killed runs leave, nobody has to remove anything by hand.
TEST_F(CacheOfModels, KillsInARowLeaveNothingThatIsInTheWay) {
  const std::string right = answer(model());
  const std::string entry = entries().front();
  for (int moment = 0; moment < 4; ++moment) {
    fs::remove_all(entry);
    for (int kill = 0; kill < 2; ++kill)
      interrupted({"run", model(), "--prompt-ids", "5 6 7 8", "--max-new", "1"},
                  entry + "/artifact.partial" + (moment % 2 == 0 ? "" : "/artifact"), SIGKILL);
    EXPECT_EQ(run(model()).out, right);
    EXPECT_EQ(names_in(entry).size(), 2U) << "artifact and checked";
  }
  // What a journal that was lost no longer names, and pieces of a run that removed such a folder.
  fs::remove_all(entry);
  fs::create_directories(entry + "/artifact.partial/artifact/layers_00_05.mlpackage");
  ASSERT_TRUE(write_file(entry + "/artifact.partial/artifact/embedding.bin", "half").ok());
  fs::permissions(entry, fs::perms::owner_all);
  EXPECT_EQ(answer(model()), right);
  // A run that was killed between the artifact and the record of its hashes.
  fs::remove(entry + "/checked");
  EXPECT_EQ(run(model()).out, right);
}

TEST_F(CacheOfModels, IsRemovedByNameAndPrunedByAge) {
  answer(model());
  const std::string other = folder_.file("other");
  fs::copy(model(), other);
  answer(other);
  ASSERT_EQ(entries().size(), 2U);
  EXPECT_EQ(run_anemone("cache rm nobody").code, 3);
  EXPECT_EQ(run_anemone("cache prune").out, "0 B are free again\n");
  // The one that was used last stays.
  for (const std::string& entry : entries())
    if (contents(entry + "/artifact/manifest.json").find("\"name\": \"model\"") !=
        std::string::npos)
      fs::last_write_time(entry + "/checked",
                          fs::file_time_type::clock::now() - std::chrono::hours(50));
  EXPECT_NE(run_anemone("cache list").out.find("used 2 days ago"), std::string::npos)
      << run_anemone("cache list").out;
  const Outcome pruned = run_anemone("cache prune --max-size 4mb");
  EXPECT_EQ(pruned.code, 0);
  EXPECT_TRUE(pruned.out.starts_with("removed model ")) << pruned.out;
  EXPECT_EQ(std::ranges::count(pruned.out, '\n'), 2) << pruned.out;
  ASSERT_EQ(entries().size(), 1U);
  const std::string list = run_anemone("cache list").out;
  EXPECT_TRUE(list.starts_with("other ")) << list;
  // What is not complete goes in any case.
  fs::create_directories(cache() + "/models/0123456789abcdef0123456789abcdef/artifact.partial");
  EXPECT_EQ(run_anemone("cache prune").code, 0);
  EXPECT_EQ(entries().size(), 1U);
  const std::string key = fs::path(entries().front()).filename().string();
  const Outcome outcome = run_anemone("cache rm other --json");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(entries().empty());
  const auto removed = parse_json(outcome.out, "cache rm");
  ASSERT_TRUE(removed.ok()) << outcome.out;
  ASSERT_EQ((*removed)["removed"].size(), 1U) << outcome.out;
  EXPECT_EQ((*removed)["removed"][0]["name"], "other");
  EXPECT_EQ((*removed)["removed"][0]["key"], key);
  EXPECT_EQ((*removed)["removed"][0]["bytes"], (*removed)["freed_bytes"]);
}

// Both are used in turn, so that the order of their keys, or of their making, is refuted once.
TEST_F(CacheOfModels, IsListedByLastUse) {
  const std::string other = folder_.file("other");
  fs::copy(model(), other);
  for (const std::string& used : {model(), other, model()}) {
    answer(used);
    const auto list = parse_json(run_anemone("cache list --json").out, "cache list");
    ASSERT_TRUE(list.ok());
    EXPECT_EQ((*list)[0]["name"], last_name(used));
    EXPECT_LT((*list)[0]["unused_days"], 0.5);
  }
  fs::create_directories(cache() + "/models/0123456789abcdef0123456789abcdef/artifact.partial");
  const auto list = parse_json(run_anemone("cache list --json").out, "cache list");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ((*list)[2]["name"], "") << "what is not complete comes last";
  EXPECT_TRUE((*list)[2]["unused_days"].is_null());
}

TEST_F(CacheOfModels, IsPrivateToTheUser) {
  answer(model());
  for (const std::string& folder : {cache(), cache() + "/models", cache() + "/files"})
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << folder;

  const auto expect_refused = [&](const std::string& what) {
    SCOPED_TRACE(what);
    const Outcome outcome = run(model());
    EXPECT_EQ(outcome.code, 5);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
  };
  fs::permissions(cache() + "/models", fs::perms::all);
  expect_refused("nobody else may write to");
  fs::permissions(cache() + "/models", fs::perms::owner_all);
  fs::permissions(entries().front(), fs::perms::owner_all | fs::perms::group_write);
  // The rights of the entry are checked when it is used: a stamp there is believed.
  fs::remove(entries().front() + "/checked");
  expect_refused("nobody else may write to");
  fs::permissions(entries().front(), fs::perms::owner_all);

  fs::rename(cache(), folder_.file("real"));
  fs::create_directory_symlink("real", cache());
  expect_refused("got a link");
  fs::remove(cache());
  fs::create_directory(cache());
  fs::create_directory_symlink("../real/models", cache() + "/models");
  expect_refused("got a link");
  fs::remove_all(cache());
  ASSERT_TRUE(write_file(cache(), "x").ok());
  EXPECT_EQ(run(model()).code, 5);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  fs::remove(cache());
  fs::create_directory(cache());
  ASSERT_EQ(::chown(cache().c_str(), 12345, 12345), 0);
  expect_refused("one of the user 12345");
}

TEST_F(CacheOfModels, IsShownAndCleared) {
  EXPECT_EQ(run_anemone("cache list").out, "0 models, 0 B\n");
  answer(model());
  const Outcome list = run_anemone("cache list --json");
  ASSERT_EQ(list.code, 0) << list.err;
  const auto json = parse_json(list.out, "list");
  ASSERT_TRUE(json.ok() && json->is_array() && json->size() == 1);
  EXPECT_EQ((*json)[0]["name"], "model");
  EXPECT_GT((*json)[0]["bytes"], 1'000'000);
  ASSERT_TRUE(write_file(cache() + "/models/notes.txt", "dear").ok());
  const Outcome cleared = run_anemone("cache clear");
  EXPECT_EQ(cleared.code, 0) << cleared.err;
  EXPECT_EQ(names_in(cache() + "/models"), std::vector<std::string>{"notes.txt"});
  EXPECT_TRUE(names_in(cache() + "/files").empty());
  EXPECT_EQ(run_anemone("cache").code, 2);
  EXPECT_EQ(run_anemone("cache burn").code, 2);
}

}  // namespace
}  // namespace anemone::cli
