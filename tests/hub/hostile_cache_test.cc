// SPDX-License-Identifier: Apache-2.0
// A cache in which somebody else writes: damaged contents are noticed, nothing is written through a
// link, and several pulls do not meet.
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include "base/file.h"
#include "hub/blob_check.h"
#include "tests/hub/hub_fixture.h"

namespace anemone::hub {
namespace {

namespace fs = std::filesystem;
using testing::FakeHub;
using testing::text_of;
using testing::Variable;

class HostileCache : public testing::HubTest {
 protected:
  fs::path blob(const std::string& path) const { return fs::canonical(in_snapshot(path)); }
  void write(const fs::path& path, std::string_view text) const {
    std::ofstream(path, std::ios::binary) << text;
  }
  // Wrong bytes, as many as the weights have.
  std::string other_bytes() const { return std::string(weights_.size(), 'x'); }
  HubCache cache() const { return {folder_ / "hub", {"Owner", "Model"}}; }
  fs::path victim() const { return folder_ / "victim"; }
};

TEST_F(HostileCache, ADamagedContentIsNotUsedAndBroughtAgain) {
  ASSERT_TRUE(run().ok());
  for (const char* name : {"model.safetensors", "config.json"}) {
    const fs::path path = blob(name);
    const std::string content = text_of(path);
    const auto time = fs::last_write_time(path);
    write(path, std::string(content.size(), 'x'));
    // The file gets its old time back, too.
    fs::last_write_time(path, time);
    const auto found = find_pulled({"Owner", "Model"});
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.status().code(), Code::kCorrupt);
    EXPECT_NE(found.status().message().find(name), std::string::npos) << found.status().message();
    {
      const Variable offline("HF_HUB_OFFLINE", "1");
      EXPECT_EQ(run().status().code(), Code::kCorrupt);
    }
    const auto again = run();
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(last_done_, again->bytes);
    EXPECT_EQ(text_of(in_snapshot(name)), content);
    EXPECT_TRUE(find_pulled({"Owner", "Model"}).ok());
  }
}

TEST_F(HostileCache, ADamagedContentOfTheHubsToolsIsBroughtAgain) {
  ASSERT_TRUE(run().ok());
  // Nothing is known about it.
  fs::remove_all(folder_ / "hub" / ".locks");
  write(blob("model.safetensors"), other_bytes());
  ASSERT_TRUE(run().ok());
  EXPECT_TRUE(text_of(in_snapshot("model.safetensors")) == weights_);
}

TEST_F(HostileCache, WhatWasHashedIsNotHashedAgainUntilItChanges) {
  ASSERT_TRUE(run().ok());
  const std::string etag = blob("model.safetensors").filename().string();
  EXPECT_EQ(*check_blob(cache(), etag), BlobState::kRight);
  // A reader that does not hash takes this for right.
  write(blob("model.safetensors"), other_bytes());
  remember_blob(cache(), etag);
  EXPECT_EQ(*check_blob(cache(), etag), BlobState::kRight);
  write(blob("model.safetensors"), weights_ + "!");
  EXPECT_EQ(*check_blob(cache(), etag), BlobState::kWrong);
  write(blob("model.safetensors"), weights_);
  EXPECT_EQ(*check_blob(cache(), etag), BlobState::kRight);
  fs::remove(blob("model.safetensors"));
  EXPECT_EQ(*check_blob(cache(), etag), BlobState::kAbsent);
}

// The cache is one that several users share.
TEST_F(HostileCache, WhatAnotherUserWroteDownIsNotBelieved) {
  ASSERT_TRUE(run().ok());
  const std::string etag = blob("model.safetensors").filename().string();
  const std::string record = cache().verified(etag).string();
  write(blob("model.safetensors"), other_bytes());
  remember_blob(cache(), etag);
  ASSERT_EQ(*check_blob(cache(), etag), BlobState::kRight);
  ASSERT_EQ(::chmod(record.c_str(), 0666), 0);
  EXPECT_EQ(*check_blob(cache(), etag), BlobState::kWrong);
  ASSERT_EQ(::chmod(record.c_str(), 0644), 0);
  ASSERT_EQ(*check_blob(cache(), etag), BlobState::kRight);
  fs::rename(record, record + ".other");
  fs::create_symlink(record + ".other", record);
  EXPECT_EQ(*check_blob(cache(), etag), BlobState::kWrong);
}

TEST_F(HostileCache, ALinkInThePlaceOfAContentIsNotFollowed) {
  ASSERT_TRUE(run().ok());
  const fs::path path = blob("model.safetensors");
  write(victim(), other_bytes());
  fs::remove(path);
  fs::create_symlink(victim(), path);
  EXPECT_EQ(find_pulled({"Owner", "Model"}).status().code(), Code::kCorrupt);
  ASSERT_TRUE(run().ok());
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path)));
  EXPECT_TRUE(text_of(path) == weights_);
  EXPECT_EQ(text_of(victim()), other_bytes());
}

TEST_F(HostileCache, ASnapshotThatLinksElsewhereIsNotUsed) {
  ASSERT_TRUE(run().ok());
  write(victim(), "{}");
  fs::remove(in_snapshot("config.json"));
  fs::create_symlink(victim(), in_snapshot("config.json"));
  const auto found = find_pulled({"Owner", "Model"});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), Code::kCorrupt);
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(text_of(in_snapshot("config.json")), R"({"model_type":"qwen2"})");
  EXPECT_EQ(text_of(victim()), "{}");
}

TEST_F(HostileCache, DownloadsAreNotWrittenThroughLinks) {
  ASSERT_TRUE(run().ok());
  const fs::path path = blob("model.safetensors");
  fs::remove(path);
  write(victim(), "precious");
  write(folder_ / "other victim", "precious");
  fs::create_symlink(victim(), path.string() + ".incomplete");
  fs::create_hard_link(folder_ / "other victim", path.string() + ".1.incomplete");
  fs::create_symlink(victim(), in_snapshot("model.safetensors").string() + ".linking");
  fs::remove(in_snapshot("model.safetensors"));
  ASSERT_TRUE(run().ok());
  EXPECT_TRUE(text_of(path) == weights_);
  EXPECT_EQ(text_of(victim()), "precious");
  EXPECT_EQ(text_of(folder_ / "other victim"), "precious");
}

TEST_F(HostileCache, FoldersAreNotFollowedThroughLinks) {
  for (const std::string inner : {"snapshots", "blobs", "refs", "snapshots/COMMIT"}) {
    fs::remove_all(repo());
    fs::create_directories(victim());
    std::string path = inner;
    if (const auto at = path.find("COMMIT"); at != path.npos) path.replace(at, 6, FakeHub::kCommit);
    fs::create_directories((repo() / path).parent_path());
    fs::create_directory_symlink(victim(), repo() / path);
    const auto failed = run();
    ASSERT_FALSE(failed.ok()) << inner;
    EXPECT_EQ(failed.status().code(), Code::kIo) << failed.status().message();
    EXPECT_TRUE(fs::is_empty(victim())) << inner;
  }
}

TEST_F(HostileCache, ALockIsNotTakenThroughALink) {
  ASSERT_TRUE(run().ok());
  const fs::path path = blob("model.safetensors");
  fs::remove(path);
  fs::remove(cache().lock(path.filename().string()));
  fs::create_symlink(victim(), cache().lock(path.filename().string()));
  EXPECT_EQ(run().status().code(), Code::kIo);
  EXPECT_FALSE(fs::exists(victim()));
}

TEST_F(HostileCache, WhatAKilledDownloadLeftIsGoneOnWith) {
  ASSERT_TRUE(run().ok());
  const fs::path path = blob("model.safetensors");
  fs::remove(path);
  write(path.string() + ".0123456789abcdef.incomplete", weights_.substr(0, 200'000));
  write(path.string() + ".incomplete", weights_.substr(0, 1000));
  ASSERT_TRUE(run().ok());
  EXPECT_TRUE(text_of(path) == weights_);
  EXPECT_EQ(hub_.seen().back().headers.at("range"), "bytes=200000-");
  expect_no_leftovers();
}

TEST_F(HostileCache, SeveralPullsOfOneRepositoryAllSucceed) {
  // The content has two names, which one pull downloads with two of its threads.
  hub_.add("model-copy.safetensors", weights_, true);
  for (int round = 0; round < 5; ++round) {
    fs::remove_all(repo());
    const int before = hub_.count("/cdn/model");
    std::vector<std::thread> pulls;
    std::vector<Status> outcomes(6);
    for (Status& outcome : outcomes)
      pulls.emplace_back([&outcome] {
        outcome = pull({"Owner", "Model"}, {}, [](std::uint64_t, std::uint64_t) {}).status();
      });
    for (std::thread& each : pulls) each.join();
    for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.message();
    EXPECT_TRUE(text_of(in_snapshot("model.safetensors")) == weights_);
    EXPECT_TRUE(text_of(in_snapshot("model-copy.safetensors")) == weights_);
    EXPECT_EQ(hub_.count("/cdn/model"), before + 1);
    expect_no_leftovers();
  }
}

}  // namespace
}  // namespace anemone::hub
