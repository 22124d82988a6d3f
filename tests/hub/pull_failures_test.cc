// SPDX-License-Identifier: Apache-2.0
// Downloads from a hub that fails: what is tried again, what goes on where it stopped, and that
// nothing wrong is ever taken for whole.
#include "tests/hub/hub_fixture.h"

namespace anemone::hub {
namespace {

namespace fs = std::filesystem;
using testing::FakeHub;
using testing::Fault;
using testing::text_of;
using Kind = testing::Fault::Kind;

class PullFailures : public testing::HubTest {
 protected:
  // The ranges that were asked for of the weights' content.
  std::vector<std::string> ranges() {
    std::vector<std::string> out;
    for (const auto& request : hub_.seen()) {
      if (!request.path.starts_with("/cdn/")) continue;
      const auto range = request.headers.find("range");
      out.push_back(range == request.headers.end() ? "" : range->second);
    }
    return out;
  }
  void expect_whole(const Result<Pulled>& pulled) {
    ASSERT_TRUE(pulled.ok()) << pulled.status().message();
    EXPECT_TRUE(text_of(in_snapshot("model.safetensors")) == weights_);
    EXPECT_EQ(last_done_, pulled->bytes);
    expect_no_leftovers();
  }
};

TEST_F(PullFailures, GoesOnAfterDroppedConnections) {
  hub_.fail("model.safetensors", {{Kind::kDrop, 0, 100'000}, {Kind::kDrop, 0, 50'000}});
  expect_whole(run());
  ASSERT_EQ(ranges().size(), 3u);
  EXPECT_EQ(ranges()[0], "");
  EXPECT_NE(ranges()[1], "");
  EXPECT_NE(ranges()[2], ranges()[1]);
}

TEST_F(PullFailures, GoesOnInTheNextRun) {
  hub_.fail("model.safetensors", {{Kind::kDrop, 0, 100'000}, {Kind::kStatus, 404, 0}});
  const auto failed = run();
  ASSERT_FALSE(failed.ok());
  EXPECT_FALSE(fs::exists(in_snapshot("model.safetensors")));
  // A branch is known when all of it is here.
  EXPECT_FALSE(fs::exists(repo() / "refs" / "main"));
  expect_whole(run());
  EXPECT_EQ(ranges().back(), "bytes=100000-");
}

TEST_F(PullFailures, AServerWithoutRangesSendsTheWholeAgain) {
  hub_.fail("model.safetensors", {{Kind::kDrop, 0, 100'000}, {Kind::kNoRange, 0, 0}});
  expect_whole(run());
}

TEST_F(PullFailures, AnotherRangeThanAskedForIsNotTaken) {
  hub_.fail("model.safetensors", {{Kind::kDrop, 0, 100'000}, {Kind::kWrongRange, 0, 0}});
  expect_whole(run());
}

TEST_F(PullFailures, WaitsForABusyHub) {
  hub_.fail_lists({{Kind::kStatus, 429, 0}, {Kind::kStatus, 503, 0}, {Kind::kSilence, 0, 0}});
  hub_.fail("model.safetensors",
            {{Kind::kStatus, 429, 0}, {Kind::kStatus, 500, 0}, {Kind::kSilence, 0, 0}});
  expect_whole(run());
}

TEST_F(PullFailures, GivesUpOnAHubThatStaysBusy) {
  hub_.fail("model.safetensors", std::vector<Fault>(50, {Kind::kStatus, 503, 0}));
  const auto failed = run();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kIo);
  EXPECT_NE(failed.status().message().find("HTTP 503"), std::string::npos);
  EXPECT_LT(ranges().size(), 10u);
}

TEST_F(PullFailures, WrongBytesAreThrownAwayOnce) {
  hub_.fail("model.safetensors", {{Kind::kWrongBytes, 0, 0}});
  expect_whole(run());
}

TEST_F(PullFailures, WrongBytesTwiceAreAnError) {
  hub_.fail("model.safetensors", {{Kind::kWrongBytes, 0, 0}, {Kind::kWrongBytes, 0, 0}});
  const auto failed = run();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kCorrupt);
  EXPECT_FALSE(fs::exists(in_snapshot("model.safetensors")));
  expect_whole(run());
}

TEST_F(PullFailures, WrongBytesOfASmallFileAreNoticedToo) {
  hub_.fail("config.json", {{Kind::kWrongBytes, 0, 0}});
  expect_whole(run());
  EXPECT_EQ(text_of(in_snapshot("config.json")), R"({"model_type":"qwen2"})");
}

TEST_F(PullFailures, TooManyBytesAreAnError) {
  hub_.fail("model.safetensors", {{Kind::kTooLong, 0, 0}});
  const auto failed = run();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kCorrupt);
}

TEST_F(PullFailures, AShortAnswerIsGoneOnWith) {
  hub_.fail("model.safetensors", {{Kind::kShort, 0, 1000}});
  expect_whole(run());
}

TEST_F(PullFailures, WhatIsLongerThanTheFileBeginsAgain) {
  ASSERT_TRUE(run().ok());
  const fs::path blob = fs::canonical(in_snapshot("model.safetensors"));
  fs::remove(blob);
  std::ofstream(blob.string() + ".incomplete") << weights_ << weights_;
  expect_whole(run());
}

TEST_F(PullFailures, ADamagedPartIsNoticed) {
  ASSERT_TRUE(run().ok());
  const fs::path blob = fs::canonical(in_snapshot("model.safetensors"));
  fs::remove(blob);
  std::ofstream(blob.string() + ".incomplete") << std::string(1000, 'x');
  expect_whole(run());
}

TEST_F(PullFailures, NobodyAnswers) {
  const testing::Variable nobody("HF_ENDPOINT", "http://127.0.0.1:1");
  const auto failed = run();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kIo);
}

TEST_F(PullFailures, ListsThatMeanHarmAreRefused) {
  const std::string hash(40, 'a');
  const auto entry = [&](const std::string& path, const std::string& size, const std::string& oid) {
    return R"([{"type":"file","oid":")" + oid + R"(","size":)" + size + R"(,"path":")" + path +
           R"("}])";
  };
  for (const std::string& list :
       {entry("../../evil.json", "1", hash), entry("/etc/evil.json", "1", hash),
        entry("a/../evil.json", "1", hash), entry("a//b.json", "1", hash), entry("", "1", hash),
        entry("a\\u0000b.json", "1", hash), entry("..\\\\evil.json", "1", hash),
        entry("config.json", "-1", hash), entry("config.json", "1e99", hash),
        entry("config.json", "1", "../../x"), entry("config.json", "1", std::string(40, 'Z')),
        std::string("{}"), std::string("[1,2]"), std::string("[{\"type\":\"file\"}]"),
        std::string("not json"), std::string(200, '[')}) {
    hub_.set_list(list);
    const auto failed = run();
    ASSERT_FALSE(failed.ok()) << list;
    EXPECT_FALSE(fs::exists(repo() / "snapshots")) << list;
  }
}

}  // namespace
}  // namespace anemone::hub
