// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/plan_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace anemone::exec::coreml {
namespace {

Result<PlanFile> parsed(const std::string& text, const std::string& subject) {
  ANEMONE_ASSIGN_OR_RETURN(const Json json, parse_json(text, subject));
  return parse_plan_file(json, subject);
}

Result<PlanFile> parse(const std::string& results) {
  return parsed(
      R"-({"format": 1, "system": "macOS 15.1 (24B83)", "model": "Mac16,10", "results": [)-" +
          results + "]}",
      "plan.json");
}

TEST(PlanFile, SaysAgainWhatWasWritten) {
  PlanFile file;
  file.anemone = "0.1.0";
  file.system = "macOS 15.1 (24B83)";
  file.model = "Mac16,10";
  file.functions = {
      {"layers_00_01.mlpackage",
       "decode",
       "",
       {{"w", "const", Device::kUnknown, {}, 0},
        {"q", "ios18.conv", Device::kNeuralEngine, {Device::kCpu, Device::kNeuralEngine}, 0.75},
        {"s", "ios18.softmax", Device::kGpu, {Device::kGpu}, 0.25}}},
      {"head_0.mlpackage", "decode", "cannot plan: \"-14\"", {}}};
  const auto read = parsed(plan_text(file), "plan.json");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(plan_text(*read), plan_text(file));
  const PlannedFunction* decode = read->find("layers_00_01.mlpackage", "decode");
  ASSERT_NE(decode, nullptr);
  ASSERT_EQ(decode->operations.size(), 3U);
  EXPECT_EQ(decode->operations[1].supported,
            (std::vector<Device>{Device::kCpu, Device::kNeuralEngine}));
  EXPECT_EQ(decode->operations[1].cost, 0.75);
  // Constants are listed and not counted.
  const auto json = parse_json(plan_text(file), "plan");
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ((*json)["results"][0]["placement"],
            Json({{"ane", 1}, {"gpu", 1}, {"cpu", 0}, {"unknown", 0}}));
  EXPECT_EQ(read->find("head_0.mlpackage", "decode")->error, "cannot plan: \"-14\"");
}

TEST(PlanFile, FindsAPackageByTheEndOfItsPathWhateverTheEnding) {
  const auto file = parse(R"({"package": "b.mlpackage", "function": "f", "operations": []})");
  ASSERT_TRUE(file.ok()) << file.status().message();
  for (const char* package : {"b.mlpackage", "/x/b.mlmodelc", "/x/b.mlpackage/", "b"})
    EXPECT_NE(file->find(package, "f"), nullptr) << package;
  EXPECT_EQ(file->find("/x/a.mlpackage", "f"), nullptr);
  EXPECT_EQ(file->find("/x/ab.mlpackage", "f"), nullptr);
  EXPECT_EQ(file->find("/x/b.mlpackage", "g"), nullptr);
}

// Several probes of a kit have packages of one name.
TEST(PlanFile, TellsPackagesOfProbesApartByTheirFolders) {
  const auto file = parse(
      R"({"probe": "a", "package": "a/model/b.mlpackage", "function": "f", "operations": []})");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_NE(file->find("/kit/a/model/b.mlpackage", "f"), nullptr);
  EXPECT_EQ(file->find("/kit/c/model/b.mlpackage", "f"), nullptr);
  EXPECT_EQ(file->find("/elsewhere/b.mlpackage", "f"), nullptr);
}

TEST(PlanFile, LeavesOutResultsOfProbesThatListNothing) {
  const auto file = parse(
      R"({"probe": "states-1", "package": "p", "function": "main", "placement": {"ane": 3}},
         {"probe": "states-2", "package": "p", "function": "main", "error": "-14"})");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(file->functions.empty());
}

TEST(PlanFile, RefusesWhatItCannotBe) {
  const auto operation = [](const std::string& members) {
    return parse(
        fmt::format(R"({{"package": "p", "function": "f", "operations": [{{{}}}]}})", members));
  };
  EXPECT_TRUE(operation(R"("name": "a", "type": "conv")").ok());
  const std::pair<std::string, const char*> cases[] = {
      {R"("type": "conv")", "a text \"name\""},
      {R"("name": "a")", "a text \"type\""},
      {R"("name": "a", "type": "conv", "device": "tpu")", "one of ane, gpu, cpu and unknown"},
      {R"("name": "a", "type": "conv", "device": 7)", "one of ane, gpu, cpu and unknown"},
      {R"("name": "a", "type": "conv", "supported": ["ane", "x"])", "one of ane, gpu"},
      {R"("name": "a", "type": "conv", "supported": "ane")", "a list of devices"},
      {R"("name": "a", "type": "conv", "cost": 1.5)", "a cost from 0 to 1"},
      {R"("name": "a", "type": "conv", "cost": -1)", "a cost from 0 to 1"},
      {R"("name": "a", "type": "conv", "cost": "much")", "cost"}};
  for (const auto& [members, part] : cases) {
    const auto file = operation(members);
    ASSERT_FALSE(file.ok()) << members;
    EXPECT_EQ(file.status().code(), Code::kParseError);
    EXPECT_TRUE(file.status().message().starts_with("[plan.json] ")) << file.status().message();
    EXPECT_NE(file.status().message().find(part), std::string::npos) << file.status().message();
  }
  for (const char* text : {"[]", "{}", R"({"format": 2, "system": "", "model": "", "results": []})",
                           R"({"format": 1, "system": "", "model": "", "results": {}})",
                           R"({"format": 1, "model": "", "results": []})",
                           R"({"format": 1, "system": "", "model": "", "results": [1]})"})
    EXPECT_EQ(parsed(text, "x").status().code(), Code::kParseError) << text;
}

}  // namespace
}  // namespace anemone::exec::coreml
