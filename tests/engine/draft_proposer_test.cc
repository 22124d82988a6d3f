// SPDX-License-Identifier: Apache-2.0
// When a draft model proposes, and when it only reads.
#include "engine/speculation/draft_proposer.h"

#include <gtest/gtest.h>

#include "tests/engine/fake_model.h"
#include "tests/engine/loaded_fake.h"

namespace anemone::engine {
namespace {

using testing::FakeOptions;
using testing::LoadedFake;
using Ids = std::vector<std::int32_t>;

class DraftProposerTest : public ::testing::Test {
 protected:
  static FakeOptions small() {
    FakeOptions options;
    options.vocab = 40;
    return options;
  }
  Ids proposed(const Ids& ids) {
    Ids out;
    EXPECT_TRUE(proposer_->look(ids).has_value());
    const Status status = proposer_->propose(3, out);
    EXPECT_TRUE(status.ok()) << status.message();
    return out;
  }

  LoadedFake fake_{small()};
  StepRunner runner_{fake_.model};
  std::unique_ptr<DraftProposer> proposer_ = *DraftProposer::create(runner_);
};

TEST_F(DraftProposerTest, ProposesOnlyInACallThatReadsLittle) {
  Ids ids;
  for (std::int32_t i = 0; i < 60; ++i) ids.push_back(i % 40);
  EXPECT_TRUE(proposed(ids).empty()) << "the time of reading is not that of proposing";
  ids.push_back(1);
  const Ids found = proposed(ids);
  EXPECT_EQ(found.size(), 3U);
  // After a pause it reads what was made meanwhile, and what was accepted is read already.
  ids.insert(ids.end(), found.begin(), found.end());
  ids.insert(ids.end(), {5, 6, 7, 8, 9});
  EXPECT_EQ(proposed(ids).size(), 3U);
}

TEST_F(DraftProposerTest, ProposesNothingForATokenThatItDoesNotHave) {
  EXPECT_EQ(proposed({1, 2, 39}).size(), 3U);
  EXPECT_TRUE(proposed({1, 2, 40}).empty());
  EXPECT_TRUE(proposed({1, 2, 1'000'000, 3}).empty());
  EXPECT_EQ(proposed({1, 2, 3}).size(), 3U);
}

}  // namespace
}  // namespace anemone::engine
