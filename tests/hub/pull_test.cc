// SPDX-License-Identifier: Apache-2.0
// Downloads from a hub that works: what is taken, where it lies, what is asked for again.
#include "tests/hub/hub_fixture.h"

namespace anemone::hub {
namespace {

namespace fs = std::filesystem;
using testing::FakeHub;
using testing::text_of;
using testing::Variable;

class PullTest : public testing::HubTest {};

TEST_F(PullTest, BringsWhatAModelNeedsInTheLayoutOfTheHubsTools) {
  const auto pulled = run();
  ASSERT_TRUE(pulled.ok()) << pulled.status().message();
  EXPECT_EQ(fs::path(pulled->folder), repo() / "snapshots" / FakeHub::kCommit);
  EXPECT_EQ(pulled->files.size(), 4u);
  EXPECT_EQ(last_done_, pulled->bytes);
  EXPECT_EQ(text_of(in_snapshot("model.safetensors")), weights_);
  EXPECT_EQ(text_of(in_snapshot("config.json")), R"({"model_type":"qwen2"})");
  EXPECT_TRUE(fs::exists(in_snapshot("empty.json")));
  EXPECT_FALSE(fs::exists(in_snapshot("pytorch_model.bin")));
  EXPECT_EQ(text_of(repo() / "refs" / "main"), FakeHub::kCommit);
  // Links to contents that are named by their hashes.
  const fs::path link = fs::read_symlink(in_snapshot("config.json"));
  EXPECT_EQ(link.parent_path(), fs::path("../../blobs"));
  EXPECT_EQ(link.filename().string().size(), 40u);
  EXPECT_EQ(fs::read_symlink(in_snapshot("model.safetensors")).filename().string().size(), 64u);
  expect_no_leftovers();
}

TEST_F(PullTest, TakesWhatIsThere) {
  ASSERT_TRUE(run().ok());
  const int before = hub_.count("/cdn/");
  const auto again = run();
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(hub_.count("/cdn/"), before);
  EXPECT_EQ(last_done_, again->bytes);
}

TEST_F(PullTest, ReadsListsOfSeveralPages) {
  hub_.set_page(2);
  const auto pulled = run();
  ASSERT_TRUE(pulled.ok()) << pulled.status().message();
  EXPECT_EQ(pulled->files.size(), 4u);
  EXPECT_EQ(hub_.count("cursor="), 3);
}

TEST_F(PullTest, TheTokenGoesToTheHubAlone) {
  hub_.require_token("hf_secret");
  const auto refused = run();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("HF_TOKEN"), std::string::npos);
  const Variable token("HF_TOKEN", "hf_secret");
  const auto pulled = run();
  ASSERT_TRUE(pulled.ok()) << pulled.status().message();
  for (const auto& request : hub_.seen()) {
    const bool is_elsewhere = request.path.starts_with("/cdn/");
    EXPECT_FALSE(is_elsewhere && request.headers.contains("authorization")) << request.path;
  }
}

TEST_F(PullTest, ReadsTheTokenThatTheHubsToolsWrote) {
  hub_.require_token("hf_file");
  std::ofstream(folder_ / "token") << "hf_file\n";
  const auto pulled = run();
  EXPECT_TRUE(pulled.ok()) << pulled.status().message();
}

TEST_F(PullTest, OfflineFindsWhatWasPulled) {
  const Variable offline("HF_HUB_OFFLINE", "1");
  const auto missing = run();
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  {
    ::unsetenv("HF_HUB_OFFLINE");
    ASSERT_TRUE(run().ok());
  }
  const Variable again("HF_HUB_OFFLINE", "1");
  const std::size_t asked = hub_.seen().size();
  const auto pulled = run();
  ASSERT_TRUE(pulled.ok()) << pulled.status().message();
  EXPECT_EQ(pulled->folder, *find_pulled({"Owner", "Model"}));
  EXPECT_EQ(hub_.seen().size(), asked);
}

TEST_F(PullTest, ACommitCanBeNamed) {
  PullOptions options;
  options.revision = FakeHub::kCommit;
  ASSERT_TRUE(run(options).ok());
  EXPECT_FALSE(fs::exists(repo() / "refs" / FakeHub::kCommit));
  EXPECT_TRUE(find_pulled({"Owner", "Model"}, FakeHub::kCommit)->has_value());
  options.revision = "no-such-branch";
  const auto missing = run(options);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_NE(missing.status().message().find("no-such-branch"), std::string::npos);
}

TEST_F(PullTest, PatternsChooseFiles) {
  PullOptions options;
  options.patterns.include = {"*.md", "onnx/*"};
  options.patterns.exclude = {"README*"};
  const auto pulled = run(options);
  ASSERT_TRUE(pulled.ok()) << pulled.status().message();
  ASSERT_EQ(pulled->files.size(), 1u);
  EXPECT_EQ(text_of(in_snapshot("onnx/model.onnx")), "onnx");
}

}  // namespace
}  // namespace anemone::hub
