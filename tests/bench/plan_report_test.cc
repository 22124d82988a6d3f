// SPDX-License-Identifier: Apache-2.0
#include "bench/plan_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/exec/program_fixture.h"

namespace anemone::bench {
namespace {

using exec::Literal;
using exec::Type;
using exec::Value;

// Two projections of 16 channels and a sum of them.
struct Plan : exec::ProgramFixture {
  std::shared_ptr<const exec::LoadedProgram> build() {
    ir::Builder b = function();
    Value* x = b.input("x", Type::tensor(DType::kFp16, {1, 16, 3, 1}));
    const auto projection = [&](const char* name) {
      Value* weight = b.constant(Literal::of(Tensor(DType::kFp16, {16, 16, 1, 1})), "weight");
      return b.op("conv", {{"x", x}, {"weight", weight}}, name);
    };
    Value* y = b.op("add", {{"x", projection("one")}, {"y", projection("two")}}, "y");
    EXPECT_TRUE(b.finish({y}).ok()) << b.status().message();
    return load();
  }
};

TEST_F(Plan, StepsOfAKindAreTogether) {
  const auto program_loaded = build();
  PlanReport report("a function");
  ASSERT_TRUE(report.add("a.mlpackage", *program_loaded, "").ok());
  const Json json = report.json();
  EXPECT_EQ(json["title"], "a function");
  EXPECT_EQ(json["runs"], 0);
  ASSERT_EQ(json["kinds"].size(), 2U);
  EXPECT_EQ(json["kinds"][0]["kind"], "projection fp16");
  EXPECT_EQ(json["kinds"][0]["count"], 2);
  EXPECT_EQ(json["kinds"][0]["weight_bytes"], 2 * 16 * 16 * 2);
  EXPECT_EQ(json["kinds"][0]["flops"], 2 * 2 * 16 * 16 * 3);
  EXPECT_FALSE(json["kinds"][0].contains("ms"));
  EXPECT_EQ(json["steps"].size(), 3U);
  const std::string text = report.text(1);
  EXPECT_NE(text.find("a function: 3 steps, 3 of them fused"), std::string::npos) << text;
  EXPECT_EQ(text.find("GB/s"), std::string::npos) << text;
}

TEST_F(Plan, TimesAreThereAfterTimedRuns) {
  const auto program_loaded = build();
  ASSERT_TRUE(bench::set_timed(*program_loaded, true).ok());
  const Tensor x(DType::kFp16, {1, 16, 3, 1});
  for (int i = 0; i < 2; ++i) run(*program_loaded, {{"x", x.view()}}, "y");
  PlanReport report("a function");
  ASSERT_TRUE(report.add("a.mlpackage", *program_loaded, "").ok());
  EXPECT_EQ(report.json()["runs"], 2);
  EXPECT_TRUE(report.json()["kinds"][0].contains("ms"));
  EXPECT_NE(report.text().find("GB/s"), std::string::npos);
}

TEST_F(Plan, AnUnknownFunctionIsSaid) {
  PlanReport report("");
  EXPECT_FALSE(report.add("a.mlpackage", *build(), "decode").ok());
}

TEST(Aligned, NumbersStandToTheRight) {
  EXPECT_EQ(aligned({{"name", "n"}, {"a", "100"}}, "  ", 1), "  name    n\n  a     100\n");
  EXPECT_EQ(aligned({}, "", 1), "");
}

}  // namespace
}  // namespace anemone::bench
