// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json.h"
#include "tests/cli/package_fixture.h"

namespace anemone::cli {
namespace {

using Floats = std::vector<float>;

struct Predict : PackageFixture {
  void SetUp() override {
    write_package_file();
    write_inputs({1, 2}, 10);
  }
};

TEST_F(Predict, WritesTheOutputsByName) {
  const Outcome outcome = run_anemone("predict " + flags());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(read(outputs, "y"), (Floats{11, 12}));
}

TEST_F(Predict, CarriesStatesFromRunToRun) {
  const std::string state = folder.file("state.safetensors");
  EXPECT_EQ(run_anemone("predict " + flags() + " --state-out " + state).code, 0);
  EXPECT_EQ(read(state, "sum"), (Floats{1, 2}));
  EXPECT_EQ(
      run_anemone("predict " + flags() + " --state-in " + state + " --state-out " + state).code, 0);
  EXPECT_EQ(read(outputs, "y"), (Floats{12, 14}));
  EXPECT_EQ(read(state, "sum"), (Floats{2, 4}));
}

TEST_F(Predict, RefusesInputsThatDoNotFitAndLeavesNoFile) {
  write_inputs({1, 2, 3}, 10);
  Outcome outcome = run_anemone("predict " + flags());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err, "anemone: [x] expected shape [2], got [3] (" + inputs + ")\n");
  write_inputs({1, 2}, 10, DType::kFp32);
  outcome = run_anemone("predict " + flags());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("expected fp16, got fp32"), std::string::npos) << outcome.err;
  EXPECT_FALSE(exists(outputs));
}

TEST_F(Predict, RefusesAnUnknownFunctionAndAnIncompleteStateFile) {
  EXPECT_NE(run_anemone("predict " + flags() + " --function other")
                .err.find("expected one of the functions main"),
            std::string::npos);
  const Outcome outcome = run_anemone("predict " + flags() + " --state-in " + inputs);
  EXPECT_NE(outcome.code, 0);
  EXPECT_FALSE(exists(outputs));
}

TEST_F(Predict, WritesNoTwoOutputsToOneFileAndNoneIntoThePackage) {
  const std::string model = package + "/Data/com.apple.CoreML/model.mlmodel";
  const std::string before = contents(model);
  for (const std::string& more :
       {" --state-out " + outputs, " --state-out " + folder.path() + "/./out.safetensors",
        " --state-out " + model, " --state-out " + package + "/new"}) {
    const Outcome outcome = run_anemone("predict " + flags() + more);
    EXPECT_EQ(outcome.code, 2) << more << outcome.err;
    EXPECT_FALSE(exists(outputs));
  }
  const Outcome outcome =
      run_anemone("predict " + package + " --inputs " + inputs + " --outputs " + model);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(contents(model), before);
}

TEST_F(Predict, RefusesEmptyMembersOfALine) {
  const std::string line = R"({"package": ")" + package + R"(", "inputs": ")" + inputs +
                           R"(", "outputs": ")" + outputs + R"(", ")";
  for (const char* member : {"state_in", "state_out", "function"}) {
    const Outcome outcome = run_anemone("predict --serve", line + member + "\": \"\"}\n");
    EXPECT_NE(outcome.out.find(member), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("\"ok\":false"), std::string::npos) << outcome.out;
  }
}

TEST_F(Predict, RefusesADamagedPackage) {
  const std::string model = package + "/Data/com.apple.CoreML/model.mlmodel";
  ASSERT_TRUE(exists(model));
  std::ofstream(model, std::ios::binary) << "no model";
  const Outcome outcome = run_anemone("predict " + flags());
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_FALSE(exists(outputs));
}

TEST_F(Predict, ServesRequestsLineByLine) {
  const std::string state = folder.file("state.safetensors");
  const std::string good = "{\"package\":\"" + package + "\",\"inputs\":\"" + inputs +
                           "\",\"outputs\":\"" + outputs + "\",\"state_out\":\"" + state + "\"}\n";
  const Outcome outcome =
      run_anemone("predict --serve", good + "no json\n{\"package\":\"" + package + "\"}\n" +
                                         "{\"packet\":1}\n" + good);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::vector<Json> answers;
  for (std::string line; std::getline(lines, line);) {
    auto answer = parse_json(line, "answer");
    ASSERT_TRUE(answer.ok()) << line;
    answers.push_back(*answer);
  }
  ASSERT_EQ(answers.size(), 5u) << outcome.out;
  EXPECT_EQ(answers[0], (Json{{"ok", true}}));
  EXPECT_EQ(answers[1]["ok"], false);
  EXPECT_EQ(answers[2]["error"], "[request] expected \"inputs\", got none");
  EXPECT_EQ(answers[3]["error"], "[request] expected no member \"packet\"");
  EXPECT_EQ(answers[4], (Json{{"ok", true}}));
  // Each request starts from zero states unless it brings its own.
  EXPECT_EQ(read(outputs, "y"), (Floats{11, 12}));
}

}  // namespace
}  // namespace anemone::cli
