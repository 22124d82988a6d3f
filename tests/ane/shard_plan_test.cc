// SPDX-License-Identifier: Apache-2.0
#include "ane/shard_plan.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ane/limits.h"

namespace anemone::ane {
namespace {

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Layers that cannot be cut.
std::vector<Piece> whole(const std::vector<std::uint64_t>& bytes) {
  std::vector<Piece> pieces;
  for (const std::uint64_t size : bytes) pieces.push_back({.bytes = size});
  return pieces;
}

// Layers of these parts.
std::vector<Piece> in_parts(std::size_t layers, const std::vector<std::uint64_t>& parts) {
  std::vector<Piece> pieces;
  for (std::size_t layer = 0; layer < layers; ++layer)
    for (std::size_t i = 0; i < parts.size(); ++i)
      pieces.push_back({.bytes = parts[i], .ends_layer = i + 1 == parts.size()});
  return pieces;
}

Pairs plan(std::string_view spec, const std::vector<Piece>& pieces,
           artifact::PackageForm form = artifact::PackageForm::kBySize) {
  const auto ranges = plan_layer_shards(spec, pieces, form);
  EXPECT_TRUE(ranges.ok()) << ranges.status().message();
  Pairs out;
  if (ranges.ok())
    for (const Range& range : *ranges) out.emplace_back(range.begin, range.end);
  return out;
}

Pairs plan(std::string_view spec, const std::vector<std::uint64_t>& bytes) {
  return plan(spec, whole(bytes));
}

TEST(LayerShards, AutoTakesTheFewestPackagesAndFillsThemEvenly) {
  EXPECT_EQ(plan("auto", std::vector<std::uint64_t>(3, 1000)), (Pairs{{0, 3}}));
  // 24 layers of 15 MB are 360 MB: two packages, twelve layers each rather than sixteen and eight.
  EXPECT_EQ(plan("auto", std::vector<std::uint64_t>(24, 15'000'000)), (Pairs{{0, 12}, {12, 24}}));
}

TEST(LayerShards, ALayerAboveTheBudgetGetsAPackageOfItsOwn) {
  EXPECT_EQ(plan("auto", std::vector<std::uint64_t>(2, 2 * kShardBytes)), (Pairs{{0, 1}, {1, 2}}));
}

TEST(LayerShards, ALayerAboveTheBudgetIsCutWhereItCanBe) {
  // 2 x 360 MB: three packages of 240 MB, the second with the end of one layer and the start of the
  // next.
  EXPECT_EQ(plan("auto", in_parts(2, std::vector<std::uint64_t>(6, 60'000'000))),
            (Pairs{{0, 4}, {4, 8}, {8, 12}}));
}

TEST(LayerShards, ALayerIsCutOnlyWhereThatSavesAPackage) {
  // 120 MB per layer: two fit, whole; a third package takes the last one.
  EXPECT_EQ(plan("auto", in_parts(5, {40'000'000, 40'000'000, 40'000'000})),
            (Pairs{{0, 6}, {6, 12}, {12, 15}}));
  // 150 MB per layer: four packages in place of five, and one cut is enough for that.
  EXPECT_EQ(plan("auto", in_parts(5, std::vector<std::uint64_t>(4, 37'500'000))),
            (Pairs{{0, 6}, {6, 12}, {12, 16}, {16, 20}}));
}

TEST(LayerShards, APieceThatEndsItsPackageIsTheLastInIt) {
  std::vector<Piece> pieces = in_parts(3, {10, 1});
  pieces[0].ends_package = true;
  pieces[4].ends_package = true;
  EXPECT_EQ(plan("auto", pieces), (Pairs{{0, 1}, {1, 5}, {5, 6}}));
  EXPECT_EQ(plan("2", pieces), (Pairs{{0, 1}, {1, 2}, {2, 5}, {5, 6}}));
  EXPECT_EQ(plan("0:3", pieces), (Pairs{{0, 1}, {1, 5}, {5, 6}}));
}

TEST(LayerShards, BoundedPackagesHaveFewLayersAndOperations) {
  using enum artifact::PackageForm;
  std::vector<Piece> pieces = whole(std::vector<std::uint64_t>(28, 1000));
  EXPECT_EQ(plan("auto", pieces), (Pairs{{0, 28}}));
  EXPECT_EQ(plan("auto", pieces, kBounded), (Pairs{{0, 14}, {14, 28}}));
  EXPECT_EQ(plan("1GB", pieces, kBounded), (Pairs{{0, 14}, {14, 28}}));
  // A number and ranges are what somebody wants.
  EXPECT_EQ(plan("1", pieces, kBounded), (Pairs{{0, 28}}));
  for (Piece& piece : pieces) piece.operations = 200;
  EXPECT_EQ(plan("auto", pieces, kBounded), (Pairs{{0, 7}, {7, 14}, {14, 21}, {21, 28}}));
  // A layer above the limit has a package of its own.
  pieces.resize(3);
  pieces[1].operations = kMaxOperations + 1;
  EXPECT_EQ(plan("auto", pieces, kBounded), (Pairs{{0, 1}, {1, 2}, {2, 3}}));
  // Parts of layers count as layers.
  EXPECT_EQ(plan("auto", in_parts(17, {1, 1}), kBounded), (Pairs{{0, 18}, {18, 34}}));
}

// Every plan of few pieces, tried out: none has fewer packages, or as few and fewer cut layers.
TEST(LayerShards, NoPlanIsBetter) {
  std::uint64_t random = 1;
  const auto next = [&](std::uint64_t limit) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return (random >> 33U) % limit;
  };
  constexpr std::uint64_t kBudget = 20'000;
  for (int round = 0; round < 300; ++round) {
    std::vector<Piece> pieces(1 + next(11));
    for (Piece& piece : pieces) piece = {1 + next(12'000), next(3) == 0, next(12) == 0};
    pieces.back().ends_layer = true;
    using Judged = std::tuple<std::size_t, std::size_t, std::uint64_t>;  // packages, cuts, heaviest
    const auto judge = [&](const std::vector<bool>& is_end) -> Judged {
      std::size_t packages = 0;
      std::size_t cuts = 0;
      std::uint64_t used = 0;
      std::uint64_t heaviest = 0;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        used += pieces[i].bytes;
        heaviest = std::max(heaviest, used);
        if (!is_end[i]) {
          if (pieces[i].ends_package) return {99, 0, 0};
          continue;
        }
        ++packages;
        if (!pieces[i].ends_layer) ++cuts;
        used = 0;
      }
      return heaviest > kBudget ? Judged{99, 0, 0} : Judged{packages, cuts, heaviest};
    };
    Judged best = {99, 0, 0};
    for (std::size_t bits = 0; bits < std::size_t{1} << (pieces.size() - 1); ++bits) {
      std::vector<bool> is_end(pieces.size(), true);
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i) is_end[i] = (bits >> i & 1U) != 0;
      best = std::min(best, judge(is_end));
    }
    std::vector<bool> is_end(pieces.size(), false);
    for (const auto& [begin, end] : plan("20KB", pieces))
      is_end[static_cast<std::size_t>(end - 1)] = true;
    EXPECT_EQ(judge(is_end), best) << round;
  }
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
  EXPECT_EQ(plan("180000KB", bytes), (Pairs{{0, 12}, {12, 24}}));
}

TEST(LayerShards, RefusesSpecsThatDoNotCoverTheLayers) {
  const std::vector<Piece> bytes = whole(std::vector<std::uint64_t>(5, 1));
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
                           "KB",
                           "5B",
                           "-1MB",
                           "1.5GB",
                           "0x1MB",
                           "100 MB",
                           "99999999999GB"}) {
    const auto ranges = plan_layer_shards(spec, bytes, artifact::PackageForm::kBySize);
    ASSERT_FALSE(ranges.ok()) << spec;
    EXPECT_EQ(ranges.status().code(), Code::kInvalidArgument);
  }
}

TEST(ExpertPacks, StayBelowTheirLimitAndAreFilledEvenly) {
  const std::vector<std::uint64_t> bytes(32, 11'000'000);
  const auto packs = *plan_expert_packs("auto", bytes);
  ASSERT_EQ(packs.size(), 2U);
  EXPECT_EQ(packs[0].end, 16);
  EXPECT_EQ(packs[1].end, 32);
  EXPECT_EQ(plan_expert_packs("22MB", bytes)->size(), 16U);
  EXPECT_EQ(plan_expert_packs("1", bytes)->size(), 1U);
}

using Heads = std::vector<std::vector<Range>>;

// The plan of heads that fit the limits.
Heads heads(artifact::HeadOutputs outputs, std::int64_t vocab, std::uint64_t bytes_per_row,
            const std::function<bool(std::int64_t rows)>& is_slow = nullptr,
            std::uint64_t max_bytes = kShardBytes) {
  auto planned = plan_heads(outputs, vocab, bytes_per_row, is_slow, 0, max_bytes);
  EXPECT_TRUE(planned.ok()) << planned.status().message();
  return planned.ok() ? *std::move(planned) : Heads();
}

constexpr std::int64_t kVocabularies[] = {1,      33,     512,     16'384, 16'385,
                                          65'536, 65'537, 151'936, 262'272};

TEST(HeadPlan, CoversTheVocabularyWithinItsLimits) {
  for (const auto outputs : {artifact::HeadOutputs::kOne, artifact::HeadOutputs::kSplit})
    for (const std::int64_t vocab : kVocabularies) {
      const bool is_split = outputs == artifact::HeadOutputs::kSplit;
      std::int64_t expected = 0;
      for (const auto& package : heads(outputs, vocab, 896)) {
        EXPECT_TRUE(is_split || package.size() == 1U);
        for (const Range& range : package) {
          EXPECT_EQ(range.begin, expected);
          EXPECT_GT(range.end, range.begin);
          EXPECT_LE(range.end - range.begin, is_split ? kMaxChannels : kMaxWholeHead);
          EXPECT_EQ(range.begin % kChannelMultiple, 0);
          expected = range.end;
        }
        const std::int64_t rows = package.back().end - package.front().begin;
        EXPECT_LE(static_cast<std::uint64_t>(rows) * 896, kShardBytes);
      }
      EXPECT_EQ(expected, vocab);
    }
}

TEST(HeadPlan, SplitsOutputsEvenlyAndPackagesByBytesAlone) {
  EXPECT_EQ(heads(artifact::HeadOutputs::kOne, 151'936, 896).size(), 3U);
  const auto small = heads(artifact::HeadOutputs::kSplit, 151'936, 896);
  ASSERT_EQ(small.size(), 1U);
  ASSERT_EQ(small.front().size(), 10U);
  for (const Range& range : small.front()) {
    EXPECT_LE(range.end - range.begin, 15'200);
    EXPECT_GE(range.end - range.begin, 15'136);
  }
  // One more range where those of the fewest would be slow.
  const auto is_slow = [&](std::int64_t rows) { return rows == small.front().front().end; };
  const auto other = heads(artifact::HeadOutputs::kSplit, 151'936, 896, is_slow);
  ASSERT_EQ(other.size(), 1U);
  EXPECT_EQ(other.front().size(), small.front().size() + 1);
  EXPECT_EQ(other.front().back().end, 151'936);
  // There are no others: the fewest stay.
  EXPECT_EQ(heads(artifact::HeadOutputs::kSplit, 151'936, 896, [](std::int64_t) { return true; })
                .front()
                .size(),
            small.front().size());
  // 622 MB: three packages, of which none is much larger than the others.
  const auto large = heads(artifact::HeadOutputs::kSplit, 151'936, 4096);
  ASSERT_EQ(large.size(), 3U);
  std::size_t outputs = 0;
  for (const auto& package : large) {
    EXPECT_GE(package.size(), 3U);
    EXPECT_LE(package.size(), 4U);
    outputs += package.size();
  }
  EXPECT_EQ(outputs, 10U);
}

TEST(HeadPlan, KeepsToASizeThatIsGiven) {
  const auto bytes_of = [](const std::vector<Range>& package, std::uint64_t row) {
    return static_cast<std::uint64_t>(package.back().end - package.front().begin) * row;
  };
  for (const auto outputs : {artifact::HeadOutputs::kOne, artifact::HeadOutputs::kSplit})
    for (const std::uint64_t size : {1'000'000U, 20'000'000U, 100'000'000U}) {
      const Heads plan = heads(outputs, 151'937, 896, nullptr, size);
      for (const auto& package : plan) EXPECT_LE(bytes_of(package, 896), size);
      // As few as there can be, but for rounding to a multiple of 32 rows; of outputs that fit an
      // axis, it may be that only one fits a package.
      const std::uint64_t all = std::uint64_t{151'937} * 896;
      EXPECT_GE(plan.size(), (all + size - 1) / size);
      const std::uint64_t outputs_of_one_axis = (151'937 + kMaxChannels - 1) / kMaxChannels;
      EXPECT_LE(plan.size(), std::max(all / (size - 32 * 896) + 1, outputs_of_one_axis));
      EXPECT_EQ(plan.back().back().end, 151'937);
    }
  // Larger than the usual limit, too: one package, whose outputs still fit an axis.
  const auto large = heads(artifact::HeadOutputs::kSplit, 151'936, 4096, nullptr, 1 << 30);
  ASSERT_EQ(large.size(), 1U);
  for (const Range& range : large.front()) EXPECT_LE(range.end - range.begin, kMaxChannels);
  // Not less than a multiple of channels.
  const auto least = heads(artifact::HeadOutputs::kOne, 100, 896, nullptr, 1000);
  ASSERT_EQ(least.size(), 4U);
  EXPECT_EQ(least.front().front().end, kChannelMultiple);
}

// Millions of heads would take memory and time before anything could be said about them.
TEST(HeadPlan, RefusesMoreHeadsThanAnybodyCanRun) {
  using artifact::HeadOutputs;
  constexpr std::int64_t kRows = 151'936;
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const auto message = [](const auto& planned) {
    return planned.ok() ? std::string("planned") : std::string(planned.status().message());
  };
  for (const auto outputs : {HeadOutputs::kOne, HeadOutputs::kSplit}) {
    const auto tiny = plan_heads(outputs, kRows, 896, nullptr, 0, 1000);
    EXPECT_EQ(tiny.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(message(tiny),
              "[--shards, --plan] expected at most 1024 heads for a vocabulary of 151936, got 4748 "
              "of about 32 rows");
    for (const std::int64_t packages : {0, 1, 1024}) {
      const bool is_whole = outputs == HeadOutputs::kOne && packages != 0;
      EXPECT_EQ(plan_heads(outputs, kHuge, 1, nullptr, packages, std::uint64_t{1} << 50).ok(),
                is_whole)
          << packages;
    }
    EXPECT_EQ(plan_heads(outputs, 1024 * 32, 896, nullptr, 0, 1000)->size(), kMaxHeads);
    EXPECT_FALSE(plan_heads(outputs, 1024 * 32 + 1, 896, nullptr, 0, 1000).ok());
  }
}

TEST(SizeOfSpec, KnowsSizesAlone) {
  EXPECT_EQ(size_of_spec("500KB"), 500'000U);
  EXPECT_EQ(size_of_spec("2GB"), 2'000'000'000U);
  for (const char* other : {"auto", "each", "4", "0:12", "0MB", "-1MB", "MB", "1.5MB", "9999999MB"})
    EXPECT_FALSE(size_of_spec(other).has_value()) << other;
}

}  // namespace
}  // namespace anemone::ane
