// SPDX-License-Identifier: Apache-2.0
// What the commands say where there is Core ML: the executable runs over the double, whose plan and
// whose faults the environment sets (tests/exec/coreml/double_runtime.cc).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "tests/cli/process.h"
#include "tests/cli/serve_process.h"
#include "tests/serve/http_client.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

constexpr const char* kCoreMl = " --executor coreml";

Json json_of(const std::string& text) {
  const auto json = parse_json(text, "output");
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *json : Json::object();
}

// One model for all tests: each runs it with another plan.
class OverCoreMl : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder();
    const Outcome outcome = run_anemone("compile '" + source_path("models/pocket/checkpoint") +
                                        "' -o '" + model() + "'");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string model() { return folder_->file("pocket"); }
  static std::string file(const std::string& name) { return folder_->file(name); }
  // With Core ML planning operations elsewhere: "softmax=cpu".
  static Outcome run_with(const std::string& devices, const std::string& arguments) {
    return run_in("", "ANEMONE_DOUBLE_DEVICES='" + devices + "' ", arguments + kCoreMl);
  }
  static std::string measure(const std::string& devices, const std::string& name,
                             const std::string& more = "") {
    const Outcome outcome =
        run_with(devices, fmt::format("check '{}' --measure '{}' {}", model(), file(name), more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  static Outcome answer(const std::string& devices, const std::string& more) {
    return run_with(devices,
                    fmt::format("run '{}' --prompt-ids '5 6' --max-new 2 {}", model(), more));
  }

 private:
  static TemporaryFolder* folder_;
};
TemporaryFolder* OverCoreMl::folder_ = nullptr;

void expect_error(const Outcome& outcome, int code, const std::string& part) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST_F(OverCoreMl, CheckWritesWhatCoreMlPlansAndReadsItAnywhere) {
  const std::string text = measure("softmax=cpu", "plan.json");
  EXPECT_NE(text.find("planned by Core ML of Mac16,10 with "), std::string::npos) << text;
  const Json plan = json_of(contents(file("plan.json")));
  EXPECT_EQ(plan["format"], 1);
  EXPECT_EQ(plan["model"], "Mac16,10");
  ASSERT_EQ(plan["results"].size(), 6U);
  const Json& operations = plan["results"][0]["operations"];
  const auto softmax = std::ranges::find_if(
      operations, [](const Json& each) { return each["type"] == "ios18.softmax"; });
  ASSERT_NE(softmax, operations.end());
  EXPECT_EQ((*softmax)["device"], "cpu");

  // Without Core ML: only the file is read.
  const Outcome read =
      run_anemone(fmt::format("check --json '{}' --measured '{}'", model(), file("plan.json")));
  EXPECT_EQ(read.code, 0) << read.err;
  const Json measured = json_of(read.out)["measured"];
  EXPECT_EQ(measured["missing"].size(), 0U);
  ASSERT_EQ(measured["functions"].size(), 6U);
  for (const Json& function : measured["functions"]) {
    const bool has_softmax = function["package"] == "layers_00_05.mlpackage";
    EXPECT_EQ(function["verdict"], has_softmax ? "partly" : "resident") << function.dump(1);
    EXPECT_EQ(function["products"], function["products_on_ane"]);
    EXPECT_EQ(function["not_planned"], 0) << function.dump(1);
  }
  const Outcome strict =
      run_anemone(fmt::format("check --strict '{}' --measured '{}'", model(), file("plan.json")));
  EXPECT_EQ(strict.code, 0) << strict.err;
}

TEST_F(OverCoreMl, CheckNamesContradictedOperationsWithTheLaw) {
  measure("", "chip.json");
  // The laws leave so small a function to the CPU; the double plans it on the chip.
  const Outcome read =
      run_anemone(fmt::format("check --json '{}' --measured '{}'", model(), file("chip.json")));
  const Json functions = json_of(read.out)["measured"]["functions"];
  ASSERT_GT(functions.size(), 0U);
  for (const Json& function : functions) {
    EXPECT_EQ(function["verdict"], "resident");
    ASSERT_GT(function["contradicted"].size(), 0U) << function.dump(1);
    EXPECT_EQ(function["contradicted"][0]["law"], "tiny-function");
    EXPECT_EQ(function["contradicted"][0]["planned"], "ane");
    EXPECT_EQ(function["contradicted"][0]["predicted"], "cpu");
  }
  const std::string text = measure("conv=cpu", "cpu.json");
  EXPECT_NE(text.find("partly"), std::string::npos) << text;
  expect_error(
      run_anemone(fmt::format("check --strict '{}' --measured '{}'", model(), file("cpu.json"))), 1,
      "products on the Neural Engine");
}

// The report that a page holds.
Json report_of(const std::string& page) {
  const std::string begin = R"(<script type="application/json" id="report">)";
  const std::size_t at = page.find(begin);
  EXPECT_NE(at, std::string::npos);
  const std::size_t from = at + begin.size();
  return json_of(page.substr(from, page.find("</script>", from) - from));
}

TEST_F(OverCoreMl, CheckShowsOnThePageWhatAMacMeasured) {
  measure("conv=cpu", "page.json");
  const std::string check = fmt::format("check '{}' --html '{}'", model(), file("page.html"));
  const Outcome read =
      run_anemone(check + fmt::format(" --measured '{}' --json", file("page.json")));
  EXPECT_EQ(read.code, 0) << read.err;
  const Json measured = report_of(contents(file("page.html")))["measured"];
  EXPECT_EQ(measured, json_of(read.out)["measured"]);
  EXPECT_EQ(measured["model"], "Mac16,10");
  ASSERT_EQ(measured["functions"].size(), 6U);
  EXPECT_EQ(measured["functions"][0]["verdict"], "partly");
  EXPECT_EQ(measured["functions"][0]["products_elsewhere"].size(), 24U);
  EXPECT_EQ(measured["laws"].size(), 0U);
  // Without a file there is nothing to show.
  EXPECT_EQ(run_anemone(check).code, 0);
  EXPECT_TRUE(report_of(contents(file("page.html")))["measured"].is_null());
}

TEST_F(OverCoreMl, CheckKeepsThePlansOfTheOthersWhenOneFails) {
  // A cache of its own: what is compiled already is not compiled again.
  ASSERT_EQ(::setenv("ANEMONE_CACHE", file("failing_cache").c_str(), 1), 0);
  const auto measure_with = [&](const std::string& fault, const std::string& flags) {
    return run_in(
        "", "ANEMONE_DOUBLE_FAULT='" + fault + "' ",
        fmt::format("check '{}' --measure '{}' {}", model(), file("failed.json"), flags) + kCoreMl);
  };
  // The first package, with its two functions.
  const Outcome outcome = measure_with("compile=1", "--json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json measured = json_of(outcome.out)["measured"];
  ASSERT_EQ(measured["failed"].size(), 2U) << measured.dump(1);
  EXPECT_EQ(measured["functions"].size(), 4U);
  EXPECT_EQ(measured["missing"].size(), 0U);
  for (const Json& failed : measured["failed"]) {
    EXPECT_EQ(failed["package"], "layers_00_05.mlpackage");
    EXPECT_NE(failed["error"].get<std::string>().find("cannot compile"), std::string::npos);
  }
  EXPECT_EQ(json_of(contents(file("failed.json")))["results"].size(), 6U);
  // One function of each package.
  const Outcome one = measure_with("plan=decode", "--json");
  EXPECT_EQ(one.code, 0) << one.err;
  const Json failed = json_of(one.out)["measured"]["failed"];
  EXPECT_EQ(failed.size(), 3U) << one.out;
  for (const Json& each : failed) {
    EXPECT_EQ(each["function"], "decode");
    EXPECT_NE(each["error"].get<std::string>().find("cannot plan function decode"),
              std::string::npos);
  }
  expect_error(measure_with("plan=decode", "--strict"), 1, "got an error for layers_00_05");
  ASSERT_EQ(::unsetenv("ANEMONE_CACHE"), 0);
}

TEST_F(OverCoreMl, CheckAsksForNoPlanOfWhatIsCompiled) {
  const std::string compiled = file("small.mlmodelc");
  const std::string package = source_path("tests/mlpackage/data/coremltools/state.mlpackage");
  fs::create_directories(compiled);
  EXPECT_TRUE(
      write_file(compiled + "/model.mil", run_anemone("inspect --mil '" + package + "'").out).ok());
  EXPECT_TRUE(write_file(compiled + "/coremldata.bin", "").ok());
  expect_error(
      run_with("", fmt::format("check '{}' --measure '{}'", compiled, file("compiled.json"))), 4,
      "expected a package that Core ML compiles");
  EXPECT_FALSE(fs::exists(file("compiled.json")));
}

TEST_F(OverCoreMl, ModelsRunWhereCoreMlGivesNoPlan) {
  const auto run_failing = [&](const std::string& flags) {
    return run_in(
        "", "ANEMONE_DOUBLE_FAULT='plan=decode' ",
        fmt::format("run '{}' --prompt-ids '5 6' --max-new 2 {}", model(), flags) + kCoreMl);
  };
  const Outcome warned = run_failing("--verbose");
  EXPECT_EQ(warned.code, 0) << warned.err;
  EXPECT_EQ(warned.out, answer("", "").out);
  EXPECT_NE(warned.err.find("where Core ML runs pocket is not known: "), std::string::npos)
      << warned.err;
  const Outcome refused = run_failing("--require-ane");
  EXPECT_NE(refused.code, 0);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("cannot plan function decode"), std::string::npos) << refused.err;
}

TEST_F(OverCoreMl, CheckRefusesFilesOfOtherPackagesAndOtherExecutors) {
  measure("", "other.json");
  const std::string other = source_path("tests/mlpackage/data/coremltools/state.mlpackage");
  expect_error(run_anemone(fmt::format("check '{}' --measured '{}'", other, file("other.json"))), 3,
               "expected plans of");
  expect_error(run_anemone(fmt::format("check '{}' --measure '{}'", model(), file("none.json"))), 4,
               "[--executor] expected coreml");
  EXPECT_FALSE(fs::exists(file("none.json")));
  EXPECT_TRUE(write_file(file("broken.json"), "{\"format\": 1").ok());
  expect_error(run_anemone(fmt::format("check '{}' --measured '{}'", model(), file("broken.json"))),
               3, "broken.json");
}

TEST_F(OverCoreMl, RequireAneStartsOnlyWhereAllProductsAreOnTheChip) {
  const Outcome good = answer("softmax=cpu,gather=cpu", "--require-ane");
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_NE(good.out, "");
  for (const char* devices : {"conv=cpu", "conv=gpu", "conv=unknown", "matmul=cpu"}) {
    const Outcome bad = answer(devices, "--require-ane");
    EXPECT_EQ(bad.code, 1) << devices;
    EXPECT_EQ(bad.out, "");
    EXPECT_NE(bad.err.find("[--require-ane] expected all "), std::string::npos) << bad.err;
    EXPECT_NE(bad.err.find("layers_00_05.mlpackage decode"), std::string::npos) << bad.err;
    EXPECT_NE(bad.err.find("check --measure"), std::string::npos) << bad.err;
  }
  // Nobody asked for it.
  EXPECT_EQ(answer("conv=cpu", "").code, 0);
  expect_error(run_anemone("run '" + model() + "' --require-ane --prompt-ids 5"), 2,
               "[--require-ane] expected --executor coreml");
  expect_error(run_with("conv=cpu", "serve '" + model() + "' --require-ane --stdin"), 1,
               "[--require-ane] expected all ");
  const Outcome verbose = answer("softmax=cpu", "--verbose");
  EXPECT_NE(verbose.err.find("pocket is partly: "), std::string::npos) << verbose.err;
}

TEST_F(OverCoreMl, DoctorShowsTheVerdictOfAnArtifact) {
  const Outcome outcome = run_with("", "doctor '" + model() + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("resident: "), std::string::npos) << outcome.out;
  const Json json = json_of(run_with("conv=cpu", "doctor --json '" + model() + "'").out);
  EXPECT_EQ(json["artifact"]["placement"]["verdict"], "partly") << json.dump(1);
}

TEST_F(OverCoreMl, HealthTellsWhereAModelRuns) {
  ASSERT_EQ(::setenv("ANEMONE_DOUBLE_DEVICES", "softmax=cpu", 1), 0);
  const ServeProcess server(model(), file("ready"), {"--executor", "coreml"});
  ASSERT_EQ(::unsetenv("ANEMONE_DOUBLE_DEVICES"), 0);
  ASSERT_GT(server.port(), 0);
  const auto health = serve::testing::fetch(server.port(), serve::testing::get_text("/health"));
  const Json placement = json_of(health.body)["placement"]["one"];
  EXPECT_EQ(placement["verdict"], "partly") << health.body;
  EXPECT_GT(placement["operations"], placement["operations_on_ane"]);
  EXPECT_EQ(placement["products"], placement["products_on_ane"]);
}

TEST_F(OverCoreMl, CacheShowsAndClearsWhatCoreMlCompiled) {
  ASSERT_EQ(::setenv("ANEMONE_CACHE", file("cache").c_str(), 1), 0);
  ASSERT_EQ(answer("", "").code, 0);
  const Json list = json_of(run_anemone("cache list --json").out);
  ASSERT_EQ(list.size(), 3U);
  std::uint64_t bytes = 0;
  for (const Json& entry : list) {
    EXPECT_EQ(entry["kind"], "coreml");
    EXPECT_EQ(entry["name"], "pocket") << entry.dump();
    EXPECT_EQ(entry["machine"], "Mac16,10_25F71");
    EXPECT_EQ(entry["busy"], false);
    bytes += entry["bytes"].get<std::uint64_t>();
  }
  EXPECT_GT(bytes, 100'000U);
  const std::string text = run_anemone("cache list").out;
  EXPECT_NE(text.find("pocket head_0.mlpackage"), std::string::npos) << text;
  EXPECT_NE(text.find("0 models, 3 packages compiled by Core ML, "), std::string::npos) << text;
  EXPECT_TRUE(write_file(file("cache/coreml/mine"), "x").ok());
  EXPECT_EQ(json_of(run_anemone("cache clear --json").out)["freed_bytes"], bytes);
  EXPECT_EQ(json_of(run_anemone("cache list --json").out).size(), 0U);
  EXPECT_TRUE(fs::exists(file("cache/coreml/mine")));
  EXPECT_FALSE(fs::exists(file("cache/coreml/Mac16,10_25F71")));
  EXPECT_EQ(answer("", "").code, 0);
  ASSERT_EQ(::unsetenv("ANEMONE_CACHE"), 0);
}

TEST_F(OverCoreMl, CacheRemovesWhatCoreMlCompiledOfOneModel) {
  ASSERT_EQ(::setenv("ANEMONE_CACHE", file("cache").c_str(), 1), 0);
  const std::string other = file("other");
  fs::copy(model(), other, fs::copy_options::recursive);
  ASSERT_EQ(answer("", "").code, 0);
  ASSERT_EQ(run_anemone("run '" + other + "' hi -n 1" + kCoreMl).code, 0);
  const auto names = [] {
    std::multiset<std::string> out;
    for (const Json& entry : json_of(run_anemone("cache list --json").out))
      out.insert(entry["name"].get<std::string>());
    return out;
  };
  // Equal packages have one entry, named by the first that was compiled.
  ASSERT_EQ(names(), (std::multiset<std::string>{"pocket", "pocket", "pocket"}));
  EXPECT_EQ(run_anemone("cache rm other").code, 3);
  EXPECT_EQ(json_of(run_anemone("cache prune --json").out)["freed_bytes"], 0);
  EXPECT_EQ(names().size(), 3U);
  EXPECT_EQ(run_anemone("cache rm pocket nobody").code, 3);
  EXPECT_EQ(names().size(), 3U) << "nothing is removed where a name is unknown";
  EXPECT_GT(json_of(run_anemone("cache rm pocket --json").out)["freed_bytes"], 100'000);
  EXPECT_TRUE(names().empty());

  ASSERT_EQ(run_anemone("run '" + other + "' hi -n 1" + kCoreMl).code, 0);
  EXPECT_EQ(names(), (std::multiset<std::string>{"other", "other", "other"}));
  const std::string key = json_of(run_anemone("cache list --json").out)[0]["key"];
  EXPECT_EQ(run_anemone("cache rm " + key.substr(0, 32)).code, 0);
  EXPECT_EQ(names().size(), 2U);
  fs::remove_all(other);
  EXPECT_GT(json_of(run_anemone("cache prune --json").out)["freed_bytes"], 0);
  EXPECT_TRUE(names().empty());
  ASSERT_EQ(::unsetenv("ANEMONE_CACHE"), 0);
}

TEST(SelftestCommand, PassesAndNamesAnOperationThatIsMiscompiled) {
  const TemporaryFolder folder;
  const std::string json = folder.file("selftest.json");
  const std::string flags = "selftest --small --form portable --quant none --json '" + json + "'";
  const Outcome good = run_anemone(flags + kCoreMl);
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_NE(good.out.find("passed portable      none  small"), std::string::npos) << good.out;
  EXPECT_NE(good.out.find("resident: "), std::string::npos) << good.out;
  const Json results = json_of(contents(json));
  EXPECT_EQ(results["passed"], true);
  EXPECT_EQ(results["executor"], "coreml");
  EXPECT_EQ(results["builds"][0]["placement"]["verdict"], "resident");
  EXPECT_FALSE(results["machine"]["system"].get<std::string>().empty());

  const Outcome bad =
      run_in("", "ANEMONE_DOUBLE_MISCOMPILED='layer_1_mlp_activated=tanh' ", flags + kCoreMl);
  EXPECT_EQ(bad.code, 1) << bad.out;
  EXPECT_NE(bad.out.find("first at silu layer_1_mlp_activated"), std::string::npos) << bad.out;
  const Json found = json_of(contents(json))["builds"][0]["functions"];
  const auto decode = std::ranges::find_if(
      found, [](const Json& each) { return each.contains("first_difference"); });
  ASSERT_NE(decode, found.end());
  EXPECT_EQ((*decode)["first_difference"]["operation"], "layer_1_mlp_activated");
}

TEST(SelftestCommand, RefusesNamesThatThereAreNotAndTheInterpreterItself) {
  for (const char* flags : {"--form none", "--form portable,nonsense", "--quant int9",
                            "--quant none,int9", "--isa reference"}) {
    const Outcome outcome = run_anemone("selftest " + std::string(flags));
    const std::string flag = std::string(flags).substr(0, std::string(flags).find(' '));
    expect_error(outcome, 2, "[" + flag + "] expected ");
  }
}

TEST(SelftestCommand, SaysThatThereIsNoFolderForTemporaryFiles) {
  const Outcome outcome = run_in("", "TMPDIR=/nonexistent/folder ", "selftest --form portable");
  expect_error(outcome, 5, "[TMPDIR] expected a folder for temporary files, got none: ");
}

// One build, of which Core ML refuses something; its report comes with what was printed.
std::pair<Outcome, Json> selftest_with(const std::string& fault) {
  const TemporaryFolder folder;
  const std::string json = folder.file("selftest.json");
  const Outcome outcome = run_in(
      "", "ANEMONE_DOUBLE_FAULT='" + fault + "' ",
      "selftest --small --form portable --quant none --json '" + json + "'" + std::string(kCoreMl));
  return {outcome, json_of(contents(json))["builds"][0]};
}

TEST(SelftestCommand, DoesNotPassWhatCoreMlRefusesToLoad) {
  const auto [outcome, build] = selftest_with("load=prefill");
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_NE(outcome.out.find("Error code: -14"), std::string::npos) << outcome.out;
  EXPECT_EQ(build["passed"], false);
  for (const Json& function : build["functions"])
    EXPECT_EQ(function["passed"], function["function"] != "prefill") << function.dump(1);
}

TEST(SelftestCommand, SaysWhyThereIsNoPlacement) {
  const auto [outcome, build] = selftest_with("plan=");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("unknown: "), std::string::npos) << outcome.out;
  EXPECT_FALSE(build.contains("placement"));
  EXPECT_NE(build["placement_error"].get<std::string>().find("cannot plan"), std::string::npos);
}

}  // namespace
}  // namespace anemone::cli
