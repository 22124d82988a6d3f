// SPDX-License-Identifier: Apache-2.0
#include "ane/shard_plan.h"

#include <gtest/gtest.h>

#include "ane/limits.h"

namespace anemone::ane {
namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> plan(std::string_view spec,
                                                        const std::vector<std::uint64_t>& bytes) {
  const auto ranges = plan_layer_shards(spec, bytes);
  EXPECT_TRUE(ranges.ok()) << ranges.status().message();
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  if (ranges.ok())
    for (const Range& range : *ranges) out.emplace_back(range.begin, range.end);
  return out;
}

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(LayerShards, AutoTakesTheFewestPackagesAndFillsThemEvenly) {
  EXPECT_EQ(plan("auto", std::vector<std::uint64_t>(3, 1000)), (Pairs{{0, 3}}));
  // 24 layers of 15 MB are 360 MB: two packages, twelve layers each rather than sixteen and eight.
  EXPECT_EQ(plan("auto", std::vector<std::uint64_t>(24, 15'000'000)), (Pairs{{0, 12}, {12, 24}}));
}

TEST(LayerShards, ALayerAboveTheBudgetGetsAPackageOfItsOwn) {
  EXPECT_EQ(plan("auto", std::vector<std::uint64_t>(2, 2 * kShardBytes)), (Pairs{{0, 1}, {1, 2}}));
}

TEST(LayerShards, TakesANumberOrRanges) {
  const std::vector<std::uint64_t> bytes(5, 1);
  EXPECT_EQ(plan("2", bytes), (Pairs{{0, 2}, {2, 5}}));
  EXPECT_EQ(plan("5", bytes), (Pairs{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}));
  EXPECT_EQ(plan("0:4,4:5", bytes), (Pairs{{0, 4}, {4, 5}}));
}

TEST(LayerShards, TakesASize) {
  const std::vector<std::uint64_t> bytes(24, 15'000'000);
  EXPECT_EQ(plan("180MB", bytes), (Pairs{{0, 12}, {12, 24}}));
  EXPECT_EQ(plan("100MB", bytes), (Pairs{{0, 6}, {6, 12}, {12, 18}, {18, 24}}));
  EXPECT_EQ(plan("1GB", bytes), (Pairs{{0, 24}}));
  EXPECT_EQ(plan("1MB", bytes).size(), 24U);
}

TEST(LayerShards, RefusesSpecsThatDoNotCoverTheLayers) {
  const std::vector<std::uint64_t> bytes(5, 1);
  for (const char* spec : {"",
                           "0",
                           "6",
                           "-1",
                           "x",
                           "1.5",
                           "0:4",
                           "1:5",
                           "0:3,2:5",
                           "0:3,4:5",
                           "0:5,",
                           ":",
                           "0:",
                           "0:6",
                           "0:0,0:5",
                           "99999999999999999999",
                           "MB",
                           "0MB",
                           "-1MB",
                           "1.5GB",
                           "0x1MB",
                           "100 MB",
                           "99999999999GB"}) {
    const auto ranges = plan_layer_shards(spec, bytes);
    ASSERT_FALSE(ranges.ok()) << spec;
    EXPECT_EQ(ranges.status().code(), Code::kInvalidArgument);
  }
}

TEST(HeadShards, StayBelowTheLargestDimensionAndCoverTheVocabulary) {
  for (const std::int64_t vocab :
       {std::int64_t{1}, std::int64_t{33}, std::int64_t{512}, std::int64_t{65536},
        std::int64_t{65537}, std::int64_t{151936}, std::int64_t{262272}}) {
    const auto ranges = plan_head_shards(vocab, 896);
    std::int64_t expected = 0;
    for (const Range& range : ranges) {
      EXPECT_EQ(range.begin, expected);
      EXPECT_GT(range.end, range.begin);
      EXPECT_LE(range.end - range.begin, kMaxChannels);
      expected = range.end;
    }
    EXPECT_EQ(expected, vocab);
  }
  EXPECT_EQ(plan_head_shards(151936, 896).size(), 3u);
}

}  // namespace
}  // namespace anemone::ane
