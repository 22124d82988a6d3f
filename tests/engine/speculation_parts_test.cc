// SPDX-License-Identifier: Apache-2.0
// What speculation is made of: n-gram lookup, times of steps, the length of proposals.
#include <gtest/gtest.h>
#include <random>

#include "engine/speculation/draft_length.h"
#include "engine/speculation/ngram_proposer.h"
#include "engine/speculation/step_times.h"

namespace anemone::engine {
namespace {

using Ids = std::vector<std::int32_t>;

Ids proposed(NgramProposer& proposer, const Ids& ids, std::int64_t most) {
  Ids out;
  if (!proposer.look(ids)) return out;
  EXPECT_TRUE(proposer.propose(most, out).ok());
  return out;
}

TEST(NgramProposer, ProposesWhatFollowedTheLongestRunThatComesAgain) {
  NgramProposer proposer(3);
  const Ids ids = {9, 2, 3, 7, 7, 1, 2, 3, 4, 5, 8, 1, 2, 3};
  EXPECT_EQ(proposer.look(ids), 3);
  EXPECT_EQ(proposed(proposer, ids, 2), (Ids{4, 5})) << "of 1 2 3, not of the earlier 2 3";
  EXPECT_EQ(proposed(proposer, ids, 4), (Ids{4, 5, 8, 1}));
}

TEST(NgramProposer, TakesTheLastPlaceOfARun) {
  NgramProposer proposer(2);
  EXPECT_EQ(proposed(proposer, {1, 2, 3, 1, 2, 4, 1, 2}, 1), (Ids{4}));
}

TEST(NgramProposer, GoesOnWithWhatRepeatsItself) {
  NgramProposer proposer(4);
  EXPECT_EQ(proposed(proposer, {6, 6, 6}, 5), (Ids{6, 6, 6, 6, 6}));
  EXPECT_EQ(proposed(proposer, {6, 6, 6, 1, 2, 1, 2, 1}, 5), (Ids{2, 1, 2, 1, 2}));
}

TEST(NgramProposer, HasNothingForATextWithoutRepetitions) {
  NgramProposer proposer(4);
  Ids ids;
  for (std::int32_t i = 0; i < 2000; ++i) {
    ids.push_back(i);
    EXPECT_EQ(proposer.look(ids), std::nullopt);
  }
  EXPECT_EQ(NgramProposer(4).look(Ids{}), std::nullopt);
  EXPECT_EQ(NgramProposer(4).look(Ids{3}), std::nullopt);
}

// Against the plain search, over a growing text of few different tokens.
TEST(NgramProposer, FindsWhatAPlainSearchFinds) {
  std::mt19937 random(5);
  NgramProposer proposer(5);
  Ids ids;
  int found = 0;
  for (int step = 0; step < 600; ++step) {
    ids.push_back(static_cast<std::int32_t>(random() % 6));
    if (random() % 4 == 0) continue;  // several tokens between looks
    std::optional<int> expected;
    std::int32_t follows = 0;
    for (std::size_t length = 5; length >= 2 && !expected; --length)
      for (std::size_t end = ids.size() - 1; end >= length && end < ids.size(); --end)
        if (std::equal(ids.end() - static_cast<std::ptrdiff_t>(length), ids.end(),
                       ids.begin() + static_cast<std::ptrdiff_t>(end - length))) {
          expected = static_cast<int>(length);
          follows = ids[end];
          break;
        }
    const auto got = proposer.look(ids);
    // An entry that another run has overwritten is not found.
    if (!got) continue;
    ASSERT_LE(*got, expected.value_or(0));
    if (got != expected) continue;
    ++found;
    EXPECT_EQ(proposed(proposer, ids, 1), (Ids{follows}));
  }
  EXPECT_GT(found, 300);
}

TEST(NgramProposer, HoldsABoundedMemoryHoweverLongTheText) {
  NgramProposer proposer(NgramProposer::kMaxLongest);
  Ids ids(200'000);
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(i * 7919 % 50'021);
  EXPECT_TRUE(proposer.look(ids).has_value());
  EXPECT_EQ(proposer.bytes(), NgramProposer::kMaxEntries * sizeof(std::uint32_t));
}

TEST(StepTimes, ExpectsTheMedianOrAValueBetweenNeighbours) {
  StepTimes times;
  EXPECT_EQ(times.expected(1), 0);
  for (const double seconds : {0.01, 0.5, 0.012}) times.add(1, seconds);
  EXPECT_DOUBLE_EQ(times.expected(1), 0.012) << "one that was disturbed does not count";
  EXPECT_GT(times.expected(3), 0.012);
  EXPECT_LT(times.expected(3), 0.02);
  times.add(9, 0.02);
  EXPECT_NEAR(times.expected(5), 0.016, 1e-9);
  times.add(500, 1);
  EXPECT_DOUBLE_EQ(times.expected(64), 1) << "all longer ones count together";
  StepTimes wide;
  wide.add(8, 0.02);
  EXPECT_LT(wide.expected(1), 0.02);
}

// Steps of n tokens that take 1 + cost * (n - 1).
StepTimes times_of(double cost) {
  StepTimes times;
  for (std::int64_t n = 1; n <= 32; ++n) times.add(n, 1 + cost * static_cast<double>(n - 1));
  return times;
}

// Tokens per second of `steps` steps that all have a proposal, as a multiple of those without any;
// each proposed token is right with this probability.
double gain(double right, double cost, int steps) {
  const StepTimes times = times_of(cost);
  const StepForecast step{.tokens = 1, .made = 1};
  std::mt19937 random(3);
  std::bernoulli_distribution is_right(right);
  DraftLength length;
  double tokens = 0, seconds = 0;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t proposed = length.choose(4, 15, step, times);
    std::int64_t accepted = 0;
    while (accepted < proposed && is_right(random)) ++accepted;
    if (proposed > 0) length.add(4, proposed, accepted);
    tokens += 1 + static_cast<double>(accepted);
    seconds += times.expected(1 + proposed);
  }
  return tokens / seconds;
}

TEST(DraftLength, LosesNextToNothingWhereProposalsAreWrong) {
  for (const double cost : {0.05, 0.15, 0.4, 1.0}) EXPECT_GT(gain(0, cost, 200), 0.98) << cost;
  EXPECT_GT(gain(0.1, 0.3, 300), 0.98);
}

TEST(DraftLength, GainsWhereProposalsAreRight) {
  EXPECT_GT(gain(1, 0.1, 200), 5);
  EXPECT_GT(gain(0.8, 0.1, 400), 2);
  EXPECT_GT(gain(0.5, 0.1, 400), 1.2);
}

TEST(DraftLength, NeverPaysWhereAStepCostsByItsTokens) {
  EXPECT_GT(gain(1, 1, 2000), 0.97);
  EXPECT_LT(gain(1, 1, 2000), 1.001);
}

TEST(DraftLength, ComesBackWhenTheTextChanges) {
  const StepTimes times = times_of(0.1);
  const StepForecast step{.tokens = 1, .made = 1};
  DraftLength length;
  int waited = 0;
  for (int i = 0; i < 300; ++i)
    if (const auto proposed = length.choose(2, 15, step, times); proposed > 0)
      length.add(2, proposed, 0);
  while (length.choose(2, 15, step, times) == 0) ++waited;
  EXPECT_LT(waited, 513);
  length.add(2, 2, 2);
  std::int64_t longest = 0;
  for (int i = 0; i < 100; ++i)
    if (const auto proposed = length.choose(2, 15, step, times); proposed > 0) {
      length.add(2, proposed, proposed);
      longest = std::max(longest, proposed);
    }
  EXPECT_GT(longest, 4);
}

TEST(DraftLength, ProposesNothingBeforeAStepWasMeasured) {
  DraftLength length;
  EXPECT_EQ(length.choose(3, 15, {.tokens = 1, .made = 1}, StepTimes()), 0);
}

TEST(DraftLength, CountsWhatAProposedTokenCosts) {
  const StepTimes times = times_of(0.01);
  DraftLength cheap, dear;
  EXPECT_GT(cheap.choose(0, 15, {.tokens = 1, .made = 1, .draft_s = 0.01}, times), 0);
  EXPECT_EQ(dear.choose(0, 15, {.tokens = 1, .made = 1, .draft_s = 0.9}, times), 0);
}

}  // namespace
}  // namespace anemone::engine
