// SPDX-License-Identifier: Apache-2.0
#include "base/inner_file.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/support/shared_data.h"

namespace anemone {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

class InnerFile : public ::testing::Test {
 protected:
  void SetUp() override {
    put("secret");
    put("model/config.json");
    put("model/sub/part");
  }
  std::string at(const std::string& name) const { return folder_.file(name); }
  void put(const std::string& name) {
    fs::create_directories(fs::path(at(name)).parent_path());
    ASSERT_TRUE(write_file(at(name), name).ok());
  }
  void link(const std::string& target, const std::string& name) {
    fs::create_directories(fs::path(at(name)).parent_path());
    fs::create_symlink(target, at(name));
  }
  Code code_of(const std::string& folder, const std::string& name) const {
    return inner_file(at(folder), name).status().code();
  }
  TemporaryFolder folder_;
};

TEST_F(InnerFile, TakesWhatLiesInTheFolder) {
  EXPECT_EQ(inner_file(at("model"), "config.json").value(), at("model/config.json"));
  EXPECT_EQ(code_of("model", "sub/part"), Code::kOk);
  link("sub/part", "model/inner");
  EXPECT_EQ(code_of("model", "inner"), Code::kOk);
  link(at("model/sub"), "model/absolute");
  EXPECT_EQ(code_of("model", "absolute/part"), Code::kOk);
  EXPECT_EQ(code_of("model", "absent"), Code::kOk) << "for the reader to say";
  EXPECT_EQ(code_of("absent", "absent"), Code::kOk);
}

TEST_F(InnerFile, TakesAFolderThatIsReachedThroughALink) {
  link("model", "named");
  EXPECT_EQ(inner_file(at("named"), "config.json").value(), at("named/config.json"));
  EXPECT_EQ(code_of("named/", "config.json"), Code::kOk);
}

TEST_F(InnerFile, RefusesLinksThatLeadOut) {
  link("../secret", "model/relative");
  link("/etc/passwd", "model/absolute");
  link("..", "model/up");
  link("relative", "model/twice");
  link(at("model-of-another-name"), "model/prefix");
  put("model-of-another-name");
  for (const char* name : {"relative", "absolute", "up/secret", "twice", "prefix", "../secret"})
    EXPECT_EQ(code_of("model", name), Code::kCorrupt) << name;
  EXPECT_NE(inner_file(at("model"), "relative").status().message().find("its link leads out"),
            std::string::npos);
}

TEST_F(InnerFile, TakesBlobsOfTheRepositoryInTheHubsCache) {
  const std::string snapshot = "hub/models--o--n/snapshots/c0ffee";
  put("hub/models--o--n/blobs/123");
  put("hub/models--o--n/refs/main");
  put("hub/models--other--m/blobs/456");
  link("../../blobs/123", snapshot + "/config.json");
  link("../../../blobs/123", snapshot + "/onnx/model.onnx");
  link("../../refs/main", snapshot + "/ref");
  link("../../../models--other--m/blobs/456", snapshot + "/other");
  link("../../../../secret", snapshot + "/out");
  link("../../../secret", "hub/models--o--n/blobs/link");
  link("../../blobs/link", snapshot + "/through");
  EXPECT_EQ(code_of(snapshot, "config.json"), Code::kOk);
  EXPECT_EQ(code_of(snapshot + "/onnx", "model.onnx"), Code::kOk);
  link("hub/models--o--n/snapshots/c0ffee", "named");
  EXPECT_EQ(code_of("named", "config.json"), Code::kOk);
  for (const char* name : {"ref", "other", "out"})
    EXPECT_EQ(code_of(snapshot, name), Code::kCorrupt) << name;
  put("hub/secret");
  EXPECT_EQ(code_of(snapshot, "through"), Code::kCorrupt);
  // A folder that only looks like the cache, from inside.
  put("model/models--o--n/blobs/1");
  link("../../../../secret", "model/models--o--n/snapshots/x/config.json");
  EXPECT_EQ(code_of("model/models--o--n/snapshots/x", "config.json"), Code::kCorrupt);
}

}  // namespace
}  // namespace anemone
