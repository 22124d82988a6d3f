// SPDX-License-Identifier: Apache-2.0
// `anemone check` on the pocket model as it is compiled today, and on packages of coremltools.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "cli/check_report.h"
#include "tests/cli/process.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;
using Ids = std::set<std::string>;

std::string coremltools_package(const std::string& name) {
  return source_path("tests/mlpackage/data/coremltools/" + name + ".mlpackage");
}

Json json_of(const std::string& path, int code) {
  const Outcome outcome = run_anemone("check --json '" + path + "'");
  EXPECT_EQ(outcome.code, code) << outcome.err;
  const auto json = parse_json(outcome.out, "report");
  EXPECT_TRUE(json.ok()) << outcome.out;
  return json.ok() ? *json : Json::object();
}

// But notes and what is said of the size: the packages of these tests are small.
Ids broken(const Json& report) {
  Ids ids;
  for (const Json& law : report["laws"])
    if (law["severity"] != "note") ids.insert(law["law"].get<std::string>());
  EXPECT_EQ(ids.erase("tiny-function"), 1U) << report["laws"].dump();
  ids.erase("small-package");
  return ids;
}

// Places of a law, as "package function name", with what was found there.
std::set<std::string> places(const Json& report, const std::string& law) {
  std::set<std::string> out;
  for (const Json& finding : report["findings"])
    if (finding["law"] == law)
      out.insert(finding["package"].get<std::string>() + " " +
                 finding["function"].get<std::string>() + " " + finding["name"].get<std::string>() +
                 ": " + finding["found"].get<std::string>());
  return out;
}

std::string compiled(const TemporaryFolder& folder, const std::string& flags) {
  std::string path = folder.file("pocket");
  const Outcome outcome = run_anemone("compile '" + source_path("models/pocket/checkpoint") +
                                      "' -o '" + path + "' " + flags);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return path;
}

TEST(CheckModel, FindsNarrowAxesAndManyStatesInBlendStates) {
  const TemporaryFolder folder;
  const std::string model = compiled(folder, "--form blend-states");
  const Json report = json_of(model, 0);
  EXPECT_EQ(broken(report), (Ids{"many-states", "narrow-axis"}));
  EXPECT_EQ(places(report, "many-states"),
            (std::set<std::string>{"layers_00_05.mlpackage decode : 12 states",
                                   "layers_00_05.mlpackage prefill : 12 states"}));
  const auto narrow = places(report, "narrow-axis");
  for (const char* place :
       {"layers_00_05.mlpackage prefill hidden: [1, 128, 64, 1] of fp16: 16.4 kB, padded to "
        "524.3 kB",
        "layers_00_05.mlpackage decode cache_write_mask: [1, 1, 512, 1] of fp16: 1.02 kB, padded "
        "to 32.8 kB",
        "head_0.mlpackage prefill hidden: [1, 128, 64, 1] of fp16: 16.4 kB, padded to 524.3 kB"})
    EXPECT_TRUE(narrow.contains(place)) << place;
  EXPECT_EQ(report["refused"], 0);
  EXPECT_EQ(report["slow"], 2);
  EXPECT_EQ(report["contested"], 2);
}

// Layers and heads, one after the other; the package of embeddings is not in a step.
TEST(CheckModel, AddsUpWhatAStepTakes) {
  const TemporaryFolder folder;
  const std::string model = compiled(folder, "--shards 3");
  const Json report = json_of(model, 0);
  const std::string page = folder.file("report.html");
  EXPECT_EQ(run_anemone("check '" + model + "' --html '" + page + "'").code, 0);
  EXPECT_NE(read_file(page)->find(R"("steps":[{"function":"decode")"), std::string::npos);
  ASSERT_EQ(report["steps"].size(), 2U);
  for (const Json& step : report["steps"]) {
    EXPECT_EQ(step["packages"], 4);
    EXPECT_EQ(step["tokens"], step["function"] == "decode" ? 1 : 64);
    double sum = 0;
    for (const Json& function : report["functions"])
      if (function["function"] == step["function"] && function["package"] != "embed.mlpackage")
        sum += function["estimated_ms"].get<double>();
    EXPECT_NEAR(step["estimated_ms"].get<double>(), sum, 1e-9);
    EXPECT_GT(sum, 4 * 0.095);
  }
}

TEST(CheckModel, RefusesBlocksOfInputsAndSaysItInOneLine) {
  const TemporaryFolder folder;
  const std::string model = compiled(folder, "--quant int4-block");
  const Outcome outcome = run_anemone("check '" + model + "'");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(outcome.err,
            "anemone: [" + model + "] expected nothing that the chip refuses, got block-scales\n");
  // Four matrices in each of six layers and the head, in two functions.
  EXPECT_NE(outcome.out.find("\n  50 operations  int4, a scale for every 32 inputs  first: "
                             "layers_00_05.mlpackage decode layer_0_attention_qkv_conv\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("\n1 refused, 1 slow, 1 contested\n")) << outcome.out;
  const Json report = json_of(model, 1);
  EXPECT_EQ(places(report, "block-scales").size(), 50U);
  // A finding names its operation by the index in the placement, too.
  for (const Json& finding : report["findings"]) {
    if (finding["law"] != "block-scales") continue;
    const Json& functions = report["functions"];
    const auto function = std::ranges::find_if(functions, [&](const Json& each) {
      return each["package"] == finding["package"] && each["function"] == finding["function"];
    });
    ASSERT_NE(function, functions.end());
    const Json& placed = (*function)["placement"].at(finding["operation"].get<std::size_t>());
    EXPECT_EQ(placed["name"], finding["name"]);
    EXPECT_EQ(placed["law"], "block-scales");
  }
}

TEST(CheckModel, FollowsTheFormThatWasCompiled) {
  const TemporaryFolder folder;
  // With tokens in the width the hidden state has a long last axis in prefill.
  const auto narrow =
      places(json_of(compiled(folder, "--form blend-states --layout width"), 0), "narrow-axis");
  EXPECT_FALSE(narrow.empty());
  EXPECT_TRUE(std::ranges::none_of(narrow, [](const std::string& place) {
    return place.find("prefill hidden") != std::string::npos;
  }));
  EXPECT_EQ(broken(json_of(compiled(folder, "--argmax --draft-width 8"), 0)),
            (Ids{"argmax", "many-functions"}));
  EXPECT_EQ(broken(json_of(compiled(folder, "--form blend-states --range-dim"), 0)),
            (Ids{"many-states", "narrow-axis", "range-shapes"}));
  // What the remedies of both laws name.
  const std::string form = folder.file("form.json");
  std::ofstream(form)
      << R"({"form": "blend-states", "layout": "width", "cache": "readonly", "logits": "last-axis"})";
  EXPECT_EQ(broken(json_of(compiled(folder, "--form '" + form + "'"), 0)), Ids{});
}

// Every architecture, as `compile` writes it by default, quantized checkpoints among them.
TEST(CheckModel, FindsNothingRefusedInTheDefault) {
  std::size_t models = 0;
  for (const auto& entry : fs::directory_iterator(source_path("tests/compiler/data/tiny"))) {
    if (!fs::exists(entry.path() / "config.json")) continue;
    SCOPED_TRACE(entry.path().filename());
    const TemporaryFolder folder;
    const Outcome compiled = run_anemone("compile '" + entry.path().string() + "' -o '" +
                                         folder.file("model") + "' --prefill 8 --context 32");
    ASSERT_EQ(compiled.code, 0) << compiled.err;
    const Json report = json_of(folder.file("model"), 0);
    EXPECT_EQ(report["refused"], 0) << report["laws"].dump();
    ++models;
  }
  EXPECT_GE(models, 22U);
}

TEST(CheckPackage, ReadsWhatCoremltoolsWrote) {
  const std::pair<const char*, Ids> cases[] = {
      {"int4_blocks_ios18", {"block-scales"}},
      {"int8_ios18", {}},
      {"palette4_scales_ios18", {"palette-scales"}},
      {"palette3_ios18", {}},
      {"state", {"state-width"}},
      {"range", {"host-operation", "range-shapes"}},
      {"listed_shapes", {"host-operation", "list-shapes"}}};
  for (const auto& [name, ids] : cases) {
    SCOPED_TRACE(name);
    const bool is_refused =
        !ids.empty() && !ids.contains("range-shapes") && !ids.contains("list-shapes");
    EXPECT_EQ(broken(json_of(coremltools_package(name), is_refused ? 1 : 0)), ids);
  }
}

// What coremlcompiler made of a package has its program as text.
TEST(CheckPackage, ReadsACompiledOne) {
  const TemporaryFolder folder;
  const std::string package = coremltools_package("int4_blocks_ios18");
  const std::string compiled = folder.file("model.mlmodelc");
  fs::create_directories(compiled + "/weights");
  std::ofstream(compiled + "/model.mil") << run_anemone("inspect --mil '" + package + "'").out;
  std::ofstream(compiled + "/coremldata.bin") << "";
  fs::copy_file(package + "/Data/com.apple.CoreML/weights/weight.bin",
                compiled + "/weights/weight.bin");
  EXPECT_EQ(broken(json_of(compiled, 1)), Ids{"block-scales"});
  std::ofstream(compiled + "/model.mil") << "program(1.0)";
  EXPECT_EQ(run_anemone("check '" + compiled + "'").code, 3);
}

// Where operations run, for a reader and for a program.
TEST(CheckPackage, SaysWhereOperationsRun) {
  const TemporaryFolder folder;
  const std::string page = folder.file("report.html");
  const std::string package = coremltools_package("int8_ios18");
  const Outcome strict = run_anemone("check --strict '" + package + "' --html '" + page + "'");
  EXPECT_EQ(strict.code, 1);
  EXPECT_EQ(strict.err,
            "anemone: [" + package + "] expected all products on the chip, got 2 on the CPU\n");
  EXPECT_NE(strict.out.find("\n  main      0 of 3"), std::string::npos) << strict.out;
  const auto text = read_file(page);
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(text->starts_with("<!DOCTYPE html>"));
  EXPECT_NE(text->find("\"law\":\"tiny-function\""), std::string::npos);
  // Nothing is fetched.
  EXPECT_NE(text->find("Content-Security-Policy\" content=\"default-src 'none'"),
            std::string::npos);
  const Json report = json_of(package, 0);
  EXPECT_EQ(report["functions"][0]["placement"].size(), 3U);
  EXPECT_EQ(report["functions"][0]["placement"][0]["device"], "cpu");
  for (const auto& [flags, code] :
       std::vector<std::pair<std::string, int>>{{"--chip m4-max", 0},
                                                {"--chip m9", 2},
                                                {"--target ios18", 0},
                                                {"--target macos14", 1},
                                                {"--target ios3", 2},
                                                {"--measured /nonexistent.json", 5},
                                                {"--html /nonexistent/report.html", 5},
                                                {"--html /tmp/one --measure /tmp/one", 2}})
    EXPECT_EQ(run_anemone("check '" + package + "' " + flags).code, code) << flags;
  EXPECT_EQ(run_anemone("check").code, 2);
  EXPECT_TRUE(run_anemone("check --laws").out.starts_with("# The laws of the chip\n"));
}

TEST(CheckPackage, WithoutFindingsHasItsSizeAlone) {
  const std::string package = coremltools_package("int8_ios18");
  const Outcome outcome = run_anemone("check '" + package + "'");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  // But for its size.
  EXPECT_TRUE(outcome.out.ends_with("\n0 refused, 1 slow, 1 contested\n")) << outcome.out;
}

// Names come from the package, and a law may be broken in thousands of ways.
TEST(CheckReport, KeepsItsLinesAndEscapesNames) {
  const ane::Law& law = *ane::laws().front();
  ane::CheckedPackage package{"p\x1b[2J", 1, {}, {}};
  for (int i = 0; i < 10; ++i)
    for (const char* name : {"a\nb", "c"})
      package.findings.push_back({&law,
                                  {ane::Place::Kind::kOperation, "main", name},
                                  "form " + std::to_string(i),
                                  law.severity});
  const Report report = check_report("p\x1b[2J", {package});
  EXPECT_EQ(report.text.find('\x1b'), std::string::npos) << report.text;
  EXPECT_NE(
      report.text.find("\n  2 operations  form 7  first: main a\\nb\n  and 2 more (--json has "
                       "all)\n  source: "),
      std::string::npos)
      << report.text;
  EXPECT_EQ(report.text.find("form 8"), std::string::npos) << report.text;
  EXPECT_EQ(report.json["findings"].size(), 20U);
  EXPECT_TRUE(report.text.ends_with("\n1 refused, 0 slow, 0 contested\n")) << report.text;
  EXPECT_EQ(broken_laws({package}, ane::Severity::kRefused),
            std::vector<std::string>{std::string(law.id)});
  EXPECT_TRUE(broken_laws({package}, ane::Severity::kSlow).empty());
  std::istringstream lines(report.text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 96U) << line;
}

TEST(CheckPackage, RefusesOtherFilesInOneLine) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("notes.txt")) << "text";
  fs::create_directory(folder.file("empty"));
  fs::copy(coremltools_package("state"), folder.file("damaged.mlpackage"),
           fs::copy_options::recursive);
  std::ofstream(folder.file("damaged.mlpackage/Manifest.json")) << "{}";
  fs::copy(compiled(folder, ""), folder.file("artifact"), fs::copy_options::recursive);
  fs::remove_all(folder.file("artifact/head_0.mlpackage"));
  const std::tuple<const char*, int, const char*> cases[] = {
      {"nothing", 5, "got nothing"},
      {"notes.txt", 4, "got another file"},
      {"empty", 4, "got another folder"},
      {"damaged.mlpackage", 3, "damaged.mlpackage"},
      {"artifact", 5, "head_0.mlpackage"}};
  for (const auto& [name, code, part] : cases) {
    SCOPED_TRACE(name);
    const Outcome outcome = run_anemone("check '" + folder.file(name) + "'");
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
}

// A law that did not hold on the Mac breaks nothing, and is named as one that was measured.
TEST(CheckCommand, NamesTheLawsThatAMacMeasured) {
  const TemporaryFolder folder;
  const auto result = [](const char* probe, const char* what) {
    return std::string(R"({"probe": ")") + probe + R"(", "package": "p", "function": "main", )" +
           what + "}";
  };
  // The plans of the probes' own packages say nothing of this one.
  const char* ran =
      R"("placement": {"ane": 24, "gpu": 0, "cpu": 0}, "median_ms": 1, "cosine": 1,)"
      R"( "operations": [{"name": "y", "type": "ios18.conv", "device": "ane", "supported": ["ane"], "cost": 1}])";
  std::ofstream(folder.file("results.json"))
      << R"({"format": 1, "anemone": "1", "system": "macOS 26.1", "model": "Mac16,1", "results": [)"
      << result("states-2l", R"("error": "code <-14>")") << "," << result("states-1", ran) << ","
      << result("layout-height", ran) << "," << result("layout-width", ran) << "]}";
  const std::string model = compiled(folder, "--form blend-states");
  const std::string check =
      "check '" + model + "' --measured '" + folder.file("results.json") + "'";
  const Outcome text = run_anemone(check + " --html '" + folder.file("page.html") + "'");
  EXPECT_EQ(text.code, 1) << text.err;
  EXPECT_NE(
      text.out.find("\nmeasured with the probes on Mac16,1 with macOS 26.1\n\n"
                    "  many-states  refused        states-2l fails (code <-14>), states-1 runs\n"
                    "  narrow-axis  does not hold  layout-height runs as layout-width does\n"),
      std::string::npos)
      << text.out;
  const auto json = parse_json(run_anemone(check + " --json").out, "report");
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(broken(*json), Ids{"many-states"});
  EXPECT_EQ((*json)["measured"]["laws"][0]["severity"], "refused");
  EXPECT_EQ((*json)["measured"]["laws"][1]["holds"], false);
  const std::string page = contents(folder.file("page.html"));
  EXPECT_NE(page.find(R"("measured":"states-2l fails (code \u003c-14>), states-1 runs")"),
            std::string::npos);
}

// A dry run tells before anything is written what `check` tells of the same folder afterwards.
TEST(CheckCommand, SaysWhatADryRunSaid) {
  const TemporaryFolder folder;
  for (const std::string flags : {"--quant int4-block --context 128,512", "--layout width"}) {
    const Outcome planned =
        run_anemone("compile '" + source_path("models/pocket/checkpoint") + "' -o '" +
                    folder.file("pocket") + "' --dry-run --json " + flags);
    EXPECT_EQ(planned.code, 0) << planned.err;
    const auto report = parse_json(planned.out, "report");
    ASSERT_TRUE(report.ok()) << planned.out;
    const std::string path = compiled(folder, flags);
    const bool is_refused = (*report)["check"]["refused"] != 0;
    EXPECT_EQ(is_refused, flags.starts_with("--quant"));
    Json checked = json_of(path, is_refused ? 1 : 0);
    for (Json& function : checked["functions"]) function.erase("placement");
    EXPECT_EQ((*report)["check"], checked);
  }
}

TEST(CheckCommand, ADryRunNamesWhatWouldBeRefused) {
  const TemporaryFolder folder;
  const std::string compile = "compile '" + source_path("models/pocket/checkpoint") + "' -o '" +
                              folder.file("out") + "' --dry-run ";
  const Outcome refused = run_anemone(compile + "--quant int4-block");
  EXPECT_EQ(refused.code, 0) << refused.err;
  EXPECT_NE(refused.out.find("refused block-scales: a weight has a scale"), std::string::npos)
      << refused.out;
  EXPECT_TRUE(refused.out.ends_with("anemone check would refuse it: block-scales\n"))
      << refused.out;
  const Outcome fine = run_anemone(compile + "--quant lut4");
  EXPECT_EQ(fine.code, 0) << fine.err;
  EXPECT_TRUE(fine.out.ends_with("anemone check would refuse nothing\n")) << fine.out;
}

}  // namespace
}  // namespace anemone::cli
