// SPDX-License-Identifier: Apache-2.0
#include "ane/measured.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "tests/ane/law_programs.h"

namespace anemone::ane {
namespace {

using ir::Builder;

// What probe.swift writes of one function.
std::string result(const char* probe, int ane, int cpu, double median_ms, double cosine) {
  return fmt::format(
      R"({{"probe": "{}", "package": "p", "function": "main", "placement": {{"ane": {}, "gpu": 0,
          "cpu": {}, "unknown": 2}}, "median_ms": {}, "runs": 20, "cosine": {}}})",
      probe, ane, cpu, median_ms, cosine);
}

std::string failure(const char* probe) {
  return fmt::format(
      R"({{"probe": "{}", "package": "p", "function": "main", "error": "code -14"}})", probe);
}

Result<Measurements> parsed(const std::string& text) {
  ANEMONE_ASSIGN_OR_RETURN(const Json json, parse_json(text, "results.json"));
  return parse_measurements(json, "results.json");
}

Measurements measured(const std::string& results) {
  auto out = parsed(
      R"({"format": 1, "anemone": "0.1.0", "system": "macOS 26.1", "model": "Mac16,1", "results": [)" +
      results + "]}");
  EXPECT_TRUE(out.ok()) << out.status().message();
  return out.ok() ? *out : Measurements{};
}

const MeasuredLaw* law_of(const Measurements& measured, const char* id) {
  return measured.of(*find_law(id));
}

TEST(Measured, AnErrorOrOtherNumbersRefuse) {
  const Measurements failed =
      measured(failure("states-2l") + "," + result("states-1", 24, 0, 1, 1));
  ASSERT_NE(law_of(failed, "many-states"), nullptr);
  EXPECT_TRUE(law_of(failed, "many-states")->holds);
  EXPECT_EQ(law_of(failed, "many-states")->severity, Severity::kRefused);
  EXPECT_EQ(law_of(failed, "many-states")->what, "states-2l fails (code -14), states-1 runs");
  const Measurements wrong = measured(result("softplus-operation", 24, 0, 1, 0.4) + "," +
                                      result("softplus-arithmetic", 24, 0, 1, 0.9999));
  EXPECT_EQ(law_of(wrong, "softplus")->severity, Severity::kRefused);
}

TEST(Measured, FewerOperationsOnTheChipOrMoreTimeAreSlow) {
  const Measurements placed =
      measured(result("taps-depthwise", 20, 4, 1, 1) + "," + result("taps-sum", 24, 0, 1, 1));
  EXPECT_EQ(law_of(placed, "depthwise-conv")->severity, Severity::kSlow);
  EXPECT_TRUE(law_of(placed, "depthwise-conv")->holds);
  const Measurements timed =
      measured(result("notch-whole", 24, 0, 1.3, 1) + "," + result("notch-split", 24, 0, 1.0, 1));
  EXPECT_EQ(law_of(timed, "dma-notch")->what, "notch-whole takes 1.3 ms, notch-split 1 ms");
}

TEST(Measured, NothingOfItAcquits) {
  const Measurements same =
      measured(result("head-64k", 24, 0, 1.1, 1) + "," + result("head-64k-split", 24, 0, 1.0, 1));
  ASSERT_NE(law_of(same, "wide-output"), nullptr);
  EXPECT_FALSE(law_of(same, "wide-output")->holds);
  // One probe of two, or a pair whose second one fails itself, says nothing.
  EXPECT_EQ(law_of(measured(result("head-64k", 0, 24, 9, 1)), "wide-output"), nullptr);
  EXPECT_EQ(law_of(measured(failure("head-64k") + "," + failure("head-64k-split")), "wide-output"),
            nullptr);
}

// Two pairs of probes ask about scales of blocks: one that is refused is enough.
TEST(Measured, TheWorstOfSeveralPairsCounts) {
  const Measurements both = measured(result("quant-int8-block", 24, 0, 1, 1) + "," +
                                     result("quant-int4-block", 0, 24, 9, 1) + "," +
                                     result("quant-int8-channel", 24, 0, 1, 1));
  EXPECT_TRUE(law_of(both, "block-scales")->holds);
  EXPECT_EQ(law_of(both, "block-scales")->severity, Severity::kSlow);
}

TEST(Measured, OverridesTheFindings) {
  const ir::Program program =
      program_of({{"main", [](Builder& b) {
                     for (const char* name : {"a", "b", "c"})
                       b.input(name, ir::Type::state(DType::kFp16, {1, 64}));
                     return b.op("softplus", {{"x", fp16_input(b, "x", {1, 64})}}, "y");
                   }}});
  const auto severities = [&](const Measurements* each) {
    std::vector<std::string> out;
    for (const Finding& finding : check({program}, {.measured = each}))
      out.push_back(std::string(finding.law->id) + " " +
                    std::string(severity_name(finding.severity)));
    return out;
  };
  EXPECT_EQ(severities(nullptr), (std::vector<std::string>{"softplus refused", "tiny-function slow",
                                                           "many-states contested"}));
  const Measurements each = measured(failure("states-2l") + "," + result("states-1", 24, 0, 1, 1) +
                                     "," + result("softplus-operation", 24, 0, 1, 1) + "," +
                                     result("softplus-arithmetic", 24, 0, 1, 1));
  EXPECT_EQ(severities(&each),
            (std::vector<std::string>{"many-states refused", "tiny-function slow"}));
}

TEST(Measured, RefusesOtherFiles) {
  for (const char* text :
       {"", "[]", "{}", R"({"format": 2, "results": []})",
        R"({"format": 1, "results": {}, "system": "a", "model": "b"})",
        R"({"format": 1, "results": [1], "system": "a", "model": "b"})",
        R"({"format": 1, "results": [{"probe": 1}], "system": "a", "model": "b"})",
        R"({"format": 1, "results": []})"}) {
    const auto out = parsed(text);
    ASSERT_FALSE(out.ok()) << text;
    EXPECT_TRUE(out.status().message().starts_with("[results.json] expected "))
        << out.status().message();
  }
  EXPECT_TRUE(measured("").laws.empty());
}

// The plan of a package that was checked decides no law.
TEST(Measured, LeavesResultsWithoutAProbeAlone) {
  EXPECT_TRUE(measured(R"({"package": "p", "function": "main", "operations": []})").laws.empty());
}

}  // namespace
}  // namespace anemone::ane
