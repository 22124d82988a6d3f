// SPDX-License-Identifier: Apache-2.0
// `run --profile`, `--trace` and `--warmup`, on the pocket model.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "tests/cli/pocket_model.h"
#include "tests/support/folder_bytes.h"

namespace anemone::cli {
namespace {

using anemone::testing::TemporaryFolder;

constexpr const char* kSumPrompt = "'What is 17 + 25?'";
constexpr const char* kSumAnswer = "17 + 25 = 42.\n";

TEST_F(PocketModel, ShowsAProfileAfterTheAnswer) {
  const Outcome outcome = run(std::string(kSumPrompt) + " --profile --warmup");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, kSumAnswer) << "the profile goes to stderr";
  for (const char* part :
       {"load ", "tokenize ", "warmup ", "prefill ", "decode ", "tok/s", "ms per token",
        "embedding ", "layers ", "head ", "sampling ", "other ", "operation ", " %"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << "\n" << outcome.err;
  const auto lines = std::count(outcome.err.begin(), outcome.err.end(), '\n');
  EXPECT_LE(lines, 1 + 6 + 1 + 6 + 1 + 11) << "ten kinds of operations at most\n" << outcome.err;
}

TEST_F(PocketModel, TheProfileOfJsonAddsUp) {
  const Json plain = run_json(kSumPrompt);
  EXPECT_FALSE(plain.contains("profile"));
  const Json json = run_json(std::string(kSumPrompt) + " --profile");
  EXPECT_EQ(json["text"], plain["text"]);
  EXPECT_EQ(json["ids"], plain["ids"]);
  const Json& profile = json["profile"];
  EXPECT_GT(profile["load_s"], 0);
  EXPECT_GT(profile["tokenize_s"], 0);
  EXPECT_FALSE(profile.contains("warmup_s"));
  EXPECT_EQ(profile["prefill"]["tokens"], json["prompt_tokens"]);
  EXPECT_EQ(profile["decode"]["tokens"], json["ids"].size() - 1) << "the prompt gives the first";
  for (const char* part : {"prefill", "decode"}) {
    const Json& figures = profile[part];
    double sum = 0;
    for (const auto& [name, seconds] : figures["phases"].items()) sum += seconds.get<double>();
    EXPECT_NEAR(sum, figures["seconds"].get<double>(), 1e-6) << figures;
    EXPECT_GT(figures["phases"]["layers"], 0);
    EXPECT_GT(figures["phases"]["head"], 0);
    EXPECT_GT(figures["tok_s"], 0);
  }
  double share = 0, seconds = 0;
  for (const Json& kind : profile["operations"]) {
    share += kind["share"].get<double>();
    seconds += kind["prefill_s"].get<double>() + kind["decode_s"].get<double>();
  }
  EXPECT_NEAR(share, 1, 1e-6);
  EXPECT_GT(seconds, 0);
  double in_packages = 0;
  for (const char* part : {"prefill", "decode"})
    for (const char* phase : {"layers", "head"})
      in_packages += profile[part]["phases"][phase].get<double>();
  EXPECT_LE(seconds, in_packages) << "operations run in packages";
}

TEST_F(PocketModel, WritesATraceOfNestedSpans) {
  const TemporaryFolder folder;
  const std::string file = folder.file("trace.json");
  const Outcome outcome = run(std::string(kSumPrompt) + " --warmup --trace " + quoted(file));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, kSumAnswer);
  EXPECT_EQ(outcome.err, "");
  const auto trace = parse_json(contents(file), "trace");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ((*trace)["otherData"]["dropped_spans"], 0);
  std::map<std::string, int> categories;
  std::map<std::string, int> names;
  double end_of_step = 0;
  for (const Json& event : (*trace)["traceEvents"]) {
    if (event["ph"] == "M") continue;
    ASSERT_EQ(event["ph"], "X");
    ++categories[event["cat"]];
    ++names[event["name"]];
    const double begin = event["ts"], end = begin + event["dur"].get<double>();
    EXPECT_GE(begin, 0);
    if (event["cat"] == "step") {
      EXPECT_GE(begin, end_of_step) << "one step after the other";
      end_of_step = end;
    } else if (event["cat"] != "command") {
      EXPECT_LE(end, end_of_step + 0.002) << event;
    }
  }
  EXPECT_EQ(names["load"], 1);
  EXPECT_EQ(names["tokenize"], 1);
  EXPECT_EQ(names["warmup"], 1);
  EXPECT_EQ(names["prefill"], 1);
  const int steps = categories["step"];
  EXPECT_GT(steps, 5);
  EXPECT_EQ(names["decode"], steps - 1);
  EXPECT_EQ(names["layers"], steps);
  EXPECT_EQ(names["sampling"], steps);
  EXPECT_GE(categories["function"], 2 * steps) << "layers and head of each";
  EXPECT_GE(categories["operation"], categories["function"]);
  // Written under another name first, of which nothing is left.
  EXPECT_EQ(anemone::testing::files_in(folder.path()).size(), 1U);
}

TEST_F(PocketModel, MeasuresIdsAndSampledTextsWithoutChangingThem) {
  const TemporaryFolder folder;
  const std::string ids = "--prompt-ids '5 6 7 8' --max-new 3 --ignore-eos";
  EXPECT_EQ(run(ids + " --profile --warmup --trace " + quoted(folder.file("t"))).out, run(ids).out);
  const std::string sampled = "--raw 'How' --max-new 20 --temperature 1.5 --ignore-eos --seed 7";
  EXPECT_EQ(run_json(sampled + " --profile --warmup")["ids"], run_json(sampled)["ids"]);
  const Json proposed =
      run_json("--raw 'one two one two one two' --max-new 20 --draft-ngram --profile");
  EXPECT_GT(proposed["profile"]["decode"]["phases"]["proposals"], 0);
  EXPECT_EQ(run_json("--raw 'one two one two one two' --max-new 20")["ids"], proposed["ids"]);
  const Json none = run_json("--prompt-ids '5 6' --max-new 0 --profile");
  EXPECT_EQ(none["profile"]["decode"]["tokens"], 0);
}

TEST_F(PocketModel, RefusesMeasuresOfNothing) {
  for (const char* flag : {"--profile", "--warmup", "--trace t.json"})
    expect_error(run(flag), 2, "expected --prompt-ids or PROMPT");
  expect_error(run("x --trace /nonexistent/t.json"), 5, "/nonexistent");
  expect_error(run("x --trace " + quoted(model() + "/t.json")), 2, "outside");
  const TemporaryFolder folder;
  const std::string file = quoted(folder.file("one"));
  expect_error(run("--prompt-ids 5 --trace " + file + " --logits-out " + file), 2, "two flags");
  // A prompt that is refused is refused in the same words.
  EXPECT_EQ(run("--prompt-ids '1 2 1024' --warmup").err, run("--prompt-ids '1 2 1024'").err);
}

TEST(LabelModel, HasNoProfile) {
  const TemporaryFolder folder;
  const std::string model = quoted(folder.file("labels"));
  ASSERT_EQ(run_anemone("compile " +
                        quoted(anemone::testing::source_path(
                            "tests/compiler/data/tiny/openai_privacy_filter")) +
                        " -o " + model)
                .code,
            0);
  expect_error(run_anemone("run " + model + " --prompt-ids '5 6' --profile"), 2, "labels tokens");
}

}  // namespace
}  // namespace anemone::cli
