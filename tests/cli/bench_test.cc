// SPDX-License-Identifier: Apache-2.0
// `anemone bench` on the pocket model: what is printed, never how fast it is.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "tests/cli/process.h"

namespace anemone::cli {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

class Bench : public ::testing::Test {
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
  static Outcome bench(const std::string& arguments) {
    return run_anemone("bench '" + model() + "' " + arguments);
  }
  static Json bench_json(const std::string& arguments) {
    const Outcome outcome = bench(arguments + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto json = parse_json(outcome.out, "bench");
    EXPECT_TRUE(json.ok()) << outcome.out;
    return json.ok() ? *json : Json::array();
  }

 private:
  static TemporaryFolder* folder_;
};
TemporaryFolder* Bench::folder_ = nullptr;

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> out;
  for (const auto& item : object.items()) out.insert(item.key());
  return out;
}

const std::set<std::string> kCommon = {"test", "tokens", "depth", "streams", "threads"};
std::set<std::string> with_common(std::set<std::string> keys) {
  keys.insert(kCommon.begin(), kCommon.end());
  return keys;
}

TEST_F(Bench, GivesARecordForEachCombination) {
  const Json records =
      bench_json("--prefill 16 --decode 2,3 --depth 0,64 --streams 1,3 --threads 1,2 --reps 2");
  // Each number of threads: the machine, the load, 2 prompts, 2 * 2 * 2 times of decoding.
  ASSERT_EQ(records.size(), 24U);
  std::set<std::string> seen;
  for (const Json& record : records) {
    const std::string test = record["test"];
    EXPECT_TRUE(seen.insert(dump_json(Json::array({test, record["tokens"], record["depth"],
                                                   record["streams"], record["threads"]})))
                    .second)
        << dump_json(record);
    if (test == "machine") {
      EXPECT_EQ(keys_of(record),
                with_common({"read_gb_s", "int8_tops", "bf16_tflops", "int8_with", "bf16_with"}));
    } else if (test == "load") {
      EXPECT_EQ(keys_of(record),
                with_common({"ready_ms", "first_token_ms", "rss_mb", "rss_anon_mb", "mapped_mb",
                             "peak_rss_mb", "weights_mb", "caches_mb"}));
      EXPECT_GE(record["first_token_ms"], record["ready_ms"]);
      EXPECT_GT(record["ready_ms"], 0);
    } else {
      EXPECT_EQ(keys_of(record), with_common({"tok_s", "stddev", "limit_tok_s", "share_of_limit",
                                              "bytes_per_token"}));
      for (const char* key : {"tok_s", "limit_tok_s", "bytes_per_token"})
        EXPECT_GT(record[key], 0) << key;
    }
  }
}

TEST_F(Bench, PrintsATableAndWhatDidNotFit) {
  const Outcome outcome =
      bench("--prefill 8 --decode 2 --depth 0,510,4000 --reps 1 --threads 1 --isa plain");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"lut6, head lut8, context 512; unverified", "machine, 1 thread: reads",
                           "(plain)", "load, 1 thread: ready in", "tok/s", "prefill", "decode",
                           "skipped: prefill of 8 tokens at depth 510, the context is 512",
                           "skipped: decode of 2 tokens at depth 4000, the context is 512"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  EXPECT_EQ(outcome.out.find("decode of 2 tokens at depth 510"), std::string::npos);
}

TEST_F(Bench, DrawsAPlot) {
  const TemporaryFolder folder;
  const Outcome outcome =
      bench("--prefill 8 --decode 4 --reps 1 --plot '" + folder.file("speed.html") + "'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = contents(folder.file("speed.html"));
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>")) << page;
  EXPECT_TRUE(page.ends_with("</html>\n"));
  const auto charts = [&] {
    std::size_t count = 0;
    for (std::size_t at = page.find("<svg"); at != std::string::npos;
         at = page.find("<svg", at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(charts(), 2U);
  // The finished file is the only one there.
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.exists() ? 1 : 0;
  EXPECT_EQ(files, 1U);
}

TEST_F(Bench, TheSuiteHasItsFields) {
  const Json suite = bench_json("--suite --reps 1");
  EXPECT_EQ(keys_of(suite),
            (std::set<std::string>{"hardware", "system", "macos", "memory_gb", "model", "mode",
                                   "cold_start_ms", "avg_prefill_tps", "avg_decode_tps",
                                   "avg_inference_ms", "avg_roundtrip_ms", "avg_ttft_ms", "results",
                                   "consistency"}));
  std::vector<std::string> names;
  for (const Json& result : suite["results"]) {
    names.push_back(result["name"]);
    for (const char* key : {"prompt_tokens", "gen_tokens", "prefill_tps", "decode_tps", "ttft_ms",
                            "inference_ms", "roundtrip_ms"})
      EXPECT_GT(result[key], 0) << key;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"tiny", "short", "medium", "long", "stress"}));
  EXPECT_EQ(suite["consistency"]["decode_tps"].size(), 5U);
  EXPECT_GT(suite["cold_start_ms"], 0);
}

TEST_F(Bench, ExplainsThePlan) {
  const Json plans = bench_json("--explain --decode 3 --reps 1");
  ASSERT_EQ(plans.size(), 2U);
  for (const Json& plan : plans) {
    EXPECT_GT(plan["runs"], 0);
    ASSERT_FALSE(plan["steps"].empty());
    std::int64_t count = 0;
    for (const Json& kind : plan["kinds"]) count += kind["count"].get<std::int64_t>();
    EXPECT_EQ(count, static_cast<std::int64_t>(plan["steps"].size()));
    EXPECT_TRUE(plan["steps"][0].contains("ms"));
  }
  const Outcome text = bench("--explain --decode 3 --reps 1");
  for (const char* part : {"prefill of 64 tokens", "decode after 0 tokens", "projection lut6",
                           "cached_attention", "GB/s"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
}

// A token runs the active experts of each layer, however many there are.
TEST_F(Bench, ExplainsExpertsInPackagesOfTheirOwn) {
  const TemporaryFolder folder;
  const std::string artifact = folder.file("packs");
  const std::string tiny = anemone::testing::source_path("tests/compiler/data/tiny/lfm2_moe");
  ASSERT_EQ(run_anemone("compile '" + tiny + "' -o '" + artifact +
                        "' --experts packs --context 32 --prefill 4")
                .code,
            0);
  const auto manifest = read_json_file(artifact + "/manifest.json");
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ((*manifest)["format_version"], 3);
  const auto explained = [&](const std::string& command) {
    const Outcome outcome = run_anemone(command + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json(outcome.out, "plan").value_or(Json());
  };
  // The bytes that one function of one expert reads.
  std::int64_t wanted = 0;
  std::int64_t experts = 0;
  for (const Json& shard : (*manifest)["shards"]) {
    if (!shard.contains("experts")) continue;
    const Json& packs = shard["experts"];
    experts += packs["count"].get<std::int64_t>();
    const Json of_pack = explained("inspect --explain '" + artifact + "/" +
                                   packs["packs"][0]["package"].get<std::string>() + "'");
    for (const Json& kind : of_pack["functions"][0]["kinds"])
      wanted += packs["chosen"].get<std::int64_t>() * kind["weight_bytes"].get<std::int64_t>();
  }
  ASSERT_GT(wanted, 0);
  const Json decode = explained("bench '" + artifact + "' --explain --decode 5 --reps 1").back();
  std::int64_t got = 0;
  std::int64_t rows = 0;
  for (const Json& step : decode["steps"])
    if (step["kind"].get<std::string>().starts_with("expert ")) {
      got += step["weight_bytes"].get<std::int64_t>();
      rows += 1;
      EXPECT_TRUE(step["package"].get<std::string>().starts_with("experts_"));
    }
  EXPECT_GT(rows, 0);
  // Each of an expert's steps is rounded to a whole byte.
  EXPECT_NEAR(static_cast<double>(got), static_cast<double>(wanted),
              static_cast<double>(rows * experts) / 2);
}

TEST_F(Bench, TakesInputsOfAPackageAsPredictDoes) {
  const std::string package = "'" + model() + "/head_0.mlpackage' --function decode --reps 1 ";
  const auto interface =
      parse_json(run_anemone("inspect --json '" + model() + "/head_0.mlpackage'").out, "inspect");
  ASSERT_TRUE(interface.ok());
  const std::string input = (*interface)["functions"][0]["inputs"][0]["name"];
  const Outcome random = run_anemone("bench " + package);
  EXPECT_EQ(random.code, 0) << random.err;
  EXPECT_NE(random.out.find("function decode, random inputs\n"), std::string::npos) << random.out;
  const Outcome given = run_anemone("bench " + package + "--input " + input + "=zeros");
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_NE(given.out.find("random inputs but for those of --input\n"), std::string::npos)
      << given.out;
  for (const auto& [flags, part] :
       {std::pair("--input nothing=zeros", "[--input] expected one of the inputs "),
        {"--input zeros", "[--input] expected NAME=VALUE, got zeros"},
        {"--input a=ones --input a=zeros", "[--input] expected one value for a, got two"}}) {
    const Outcome wrong = run_anemone("bench " + package + flags);
    EXPECT_EQ(wrong.code, 2);
    EXPECT_NE(wrong.err.find(part), std::string::npos) << wrong.err;
  }
  const Outcome of_model = bench("--input x=zeros");
  EXPECT_EQ(of_model.code, 2);
  EXPECT_NE(of_model.err.find("[--input] expected a package"), std::string::npos) << of_model.err;
}

TEST_F(Bench, PackagesAreExplainedByInspectAndPredict) {
  const std::string package = "'" + model() + "/head_0.mlpackage'";
  const Outcome plan = run_anemone("inspect --explain " + package);
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("function decode:"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("function prefill:"), std::string::npos) << plan.out;
  const Outcome reference = run_anemone("inspect --explain --isa reference " + package);
  EXPECT_NE(reference.out.find("0 of them fused"), std::string::npos) << reference.out;
  EXPECT_EQ(run_anemone("inspect --explain '" + model() + "'").code, 2);

  // One token's hidden state, all zeros.
  const TemporaryFolder folder;
  const std::string header =
      R"({"hidden":{"dtype":"F16","shape":[1,128,1,1],"data_offsets":[0,256]}}   )";
  std::ofstream(folder.file("in"), std::ios::binary)
      << static_cast<char>(header.size()) << std::string(7, '\0') << header
      << std::string(256, '\0');
  const Outcome run =
      run_anemone("predict " + package + " --function decode --inputs '" + folder.file("in") +
                  "' --outputs '" + folder.file("out") + "' --explain --json");
  EXPECT_EQ(run.code, 0) << run.err;
  const auto json = parse_json(run.out, "plan");
  ASSERT_TRUE(json.ok()) << run.out;
  EXPECT_EQ((*json)["runs"], 1);
}

TEST_F(Bench, ChecksWhatItIsAskedFor) {
  const TemporaryFolder folder;
  const std::string twice = "1" + std::string(200, ',');
  std::string many = "1";
  for (int i = 0; i < 100; ++i) many += ",1";
  const std::pair<std::string, int> cases[] = {
      {"--prefill x", 2},
      {"--prefill ''", 2},
      {"--prefill 128,", 2},
      {"--prefill ,128", 2},
      {"--prefill 1.5", 2},
      {"--prefill -1", 2},
      {"--prefill 99999999999999999999999", 2},
      {"--prefill " + twice, 2},
      {"--prefill " + many, 2},
      {"--prefill 0 --decode 0", 2},
      {"--prefill 4000 --decode 0", 2},
      {"--decode 4 --prefill 0 --depth 510", 2},
      {"--depth ' 1'", 2},
      {"--streams 0", 2},
      {"--streams 1000000", 2},
      {"--threads 0", 2},
      {"--threads 1,0", 2},
      {"--threads 100000", 2},
      {"--reps 0", 2},
      {"--reps 1000000", 2},
      {"--reps many", 2},
      {"--suite --explain", 2},
      {"--suite --plot x.svg", 2},
      {"--explain --depth 600", 2},
      {"--plot '" + folder.file("speed.png") + "'", 2},
      {"--plot ''/x", 2},
      {"--plot '" + folder.file("nothing/speed.svg") + "'", 5},
      {"--isa vax", 2},
      {"--delta-net slow", 2},
      {"--delta-net chunked --isa reference", 2},
      {"--executor gpu", 2},
#ifndef __APPLE__
      {"--executor coreml", 4},
#endif
  };
  for (const auto& [arguments, code] : cases) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = bench(arguments);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("anemone: ")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_LE(outcome.err.size(), 401U);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(run_anemone("bench").code, 2);
  EXPECT_EQ(run_anemone("bench /nonexistent").code, 5);
  EXPECT_EQ(run_anemone("bench '" + folder.path() + "'").code, 4);
}

}  // namespace
}  // namespace anemone::cli
