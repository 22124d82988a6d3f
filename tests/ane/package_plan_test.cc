// SPDX-License-Identifier: Apache-2.0
#include "ane/package_plan.h"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <string_view>

#include "ane/shard_plan.h"
#include "base/file.h"
#include "tests/support/shared_data.h"

namespace anemone::ane {
namespace {

using anemone::testing::TemporaryFolder;

Result<PackagePlan> plan_of(const std::string& json) {
  const TemporaryFolder folder;
  EXPECT_TRUE(write_file(folder.file("plan.json"), json).ok());
  return read_plan(folder.file("plan.json"));
}

TEST(PackagePlan, HasNames) {
  std::set<std::string_view> names;
  for (const NamedPlan& each : named_plans()) {
    EXPECT_TRUE(names.insert(each.name).second);
    EXPECT_FALSE(each.what.empty());
    EXPECT_FALSE(each.plan.is_automatic());
    EXPECT_EQ(*read_plan(std::string(each.name)), each.plan);
  }
  EXPECT_EQ(names.size(), 8U);
  EXPECT_FALSE(read_plan("no-such-plan").ok());
}

TEST(PackagePlan, IsReadFromAFile) {
  const auto plan = plan_of(R"({"layers": "0:20,20:32", "experts": 8, "heads": 4})");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(*plan, (PackagePlan{"0:20,20:32", "8", 4}));
  EXPECT_EQ(*plan_of("{}"), PackagePlan{});
  EXPECT_TRUE(plan_of(R"({"layers": 2, "heads": "inside"})")->has_head_inside);
  EXPECT_FALSE(plan_of(R"({"heads": "inside"})")->is_automatic());
  for (const char* text :
       {"[]", R"({"layer": 3})", R"({"layers": -1})", R"({"layers": [1]})", R"({"heads": "4"})",
        R"({"heads": "outside"})", R"({"heads": 4096})", R"({"measured": {}})",
        R"({"measured": [{"layers": "0:4"}]})", R"({"measured": [{"layers": "4:0", "ms": 1}]})",
        R"({"measured": [{"layers": "0:4", "ms": -1}]})", R"({"measured": []})",
        R"({"measured": [{"layers": "0:4", "ms": 1}], "layers": 2})"})
    EXPECT_FALSE(plan_of(text).ok()) << text;
  for (const char* number : {"-1", "1.5"})
    EXPECT_TRUE(
        plan_of(R"({"layers": )" + std::string(number) + "}")
            .status()
            .message()
            .ends_with("expected \"layers\" to be a text or a whole number of packages, got " +
                       std::string(number)))
        << number;
}

// The figures of the ane-book for packages of Phi-4-mini on an M4 Max: the whole, and its parts.
TEST(PackagePlan, TakesTheRangesThatWereMeasuredFastest) {
  const auto plan = plan_of(R"({"measured": [
    {"layers": "0:16", "ms": 27.2}, {"layers": "16:24", "ms": 13.6}, {"layers": "0:20", "ms": 33.1},
    {"layers": "20:24", "ms": 6.7}, {"layers": "24:30", "ms": 10.0}, {"layers": "20:25", "ms": 8.6},
    {"layers": "25:30", "ms": 8.7}, {"layers": "30:32", "ms": 3.2}, {"layers": "8:16", "ms": 0.1}],
    "heads": 4})");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->layers, "0:20,20:24,24:30,30:32");
  // Nothing leads to layer 8, and nothing beyond a gap.
  EXPECT_FALSE(cheapest_ranges({{0, 4, 1}, {5, 8, 1}}, "plan").ok());
  EXPECT_EQ(*cheapest_ranges({{0, 1, 1}, {1, 2, 1}, {0, 2, 2.5}}, "plan"), "0:1,1:2");
  EXPECT_EQ(*cheapest_ranges({{0, 1, 1}, {1, 2, 1}, {0, 2, 1.5}}, "plan"), "0:2");
}

TEST(PackagePlan, OfShardsCutsExpertsBySizeAlone) {
  EXPECT_EQ(plan_of_shards("100MB"), (PackagePlan{"100MB", "100MB", 0}));
  EXPECT_EQ(plan_of_shards("4"), (PackagePlan{"4", "auto", 0}));
  EXPECT_TRUE(plan_of_shards("auto").is_automatic());
}

TEST(Experts, ArePackedByNumber) {
  const std::vector<std::uint64_t> bytes(128, 2'400'000);
  EXPECT_EQ(plan_expert_packs("8", bytes)->size(), 8U);
  EXPECT_EQ(plan_expert_packs("each", bytes)->size(), 128U);
  for (const char* spec : {"0", "129", "some", "-1"})
    EXPECT_FALSE(plan_expert_packs(spec, bytes).ok()) << spec;
}

// Phi-4-mini has 200,064 words, Hy-MT 120,818.
TEST(Heads, AreCutByNumber) {
  using artifact::HeadOutputs;
  const auto one = *plan_heads(HeadOutputs::kOne, 200'064, 3072, nullptr, 4);
  ASSERT_EQ(one.size(), 4U);
  // 50,016 is a multiple of 32.
  for (const auto& package : one) {
    ASSERT_EQ(package.size(), 1U);
    EXPECT_EQ(package.front().end - package.front().begin, 50'016);
  }
  const auto split = *plan_heads(HeadOutputs::kSplit, 120'818, 2048, nullptr, 2);
  ASSERT_EQ(split.size(), 2U);
  std::int64_t next = 0;
  for (const auto& package : split)
    for (const Range& output : package) {
      EXPECT_EQ(output.begin, next);
      EXPECT_LE(output.end - output.begin, 16'384);
      next = output.end;
    }
  EXPECT_EQ(next, 120'818);
}

}  // namespace
}  // namespace anemone::ane
