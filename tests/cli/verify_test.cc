// SPDX-License-Identifier: Apache-2.0
// `anemone verify` on the pocket model and on the tiny checkpoints.
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "tests/cli/interrupted.h"
#include "tests/cli/process.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

// Ids that are in the vocabulary of every tiny checkpoint.
constexpr const char* kIds =
    "'1 9 17 25 33 41 49 4 12 20 28 36 44 52 7 15 23 31 39 47 2 10 18 26 34 42'";

class Verify : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::setenv("ANEMONE_CACHE", cache().c_str(), 1), 0); }
  void TearDown() override {
    ASSERT_EQ(::unsetenv("ANEMONE_CACHE"), 0);
    EXPECT_TRUE(names_in(cache()).empty()) << "the reference is left behind";
  }

  std::string cache() const { return folder_.file("cache"); }
  static std::string pocket() { return source_path("models/pocket/checkpoint"); }
  static std::string tiny(const std::string& name) {
    return source_path("tests/compiler/data/tiny/" + name);
  }
  std::string compile(const std::string& checkpoint, const std::string& flags = "") {
    const std::string out = folder_.file("artifact");
    const Outcome outcome = run_anemone("compile " + checkpoint + " -o " + out + " " + flags);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return out;
  }
  static Outcome verify(const std::string& artifact, const std::string& checkpoint,
                        const std::string& flags = "") {
    return run_anemone("verify " + artifact + " --against " + checkpoint + " " + flags);
  }

  TemporaryFolder folder_;
};

TEST_F(Verify, AGoodArtifactPassesAndSaysSoFromThenOn) {
  const std::string artifact = compile(pocket(), "--context 128");
  EXPECT_NE(run_anemone("inspect " + artifact).out.find("unverified"), std::string::npos);
  const Outcome outcome = verify(artifact, pocket());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("passed against checkpoint over 128 tokens (built-in)"),
            std::string::npos)
      << outcome.out;
  // inspect hashes every file, so the record left them all as they were.
  const Outcome inspected = run_anemone("inspect " + artifact);
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_NE(inspected.out.find("passed against checkpoint over 128 tokens"), std::string::npos)
      << inspected.out;
  EXPECT_EQ(run_anemone("run " + artifact + " 'What is 17 + 25?'").code, 0);
}

TEST_F(Verify, NoRecordLeavesTheManifestAlone) {
  const std::string artifact = compile(tiny("qwen2"));
  const std::string before = contents(artifact + "/manifest.json");
  const Outcome outcome =
      verify(artifact, tiny("qwen2"), "--no-record --json --ids " + std::string(kIds));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(contents(artifact + "/manifest.json"), before);
  const auto json = parse_json(outcome.out, "verdict");
  ASSERT_TRUE(json.ok()) << outcome.out;
  EXPECT_EQ((*json)["passed"], true);
  EXPECT_EQ((*json)["recorded"], false);
  EXPECT_EQ((*json)["tokens"], 26);
  EXPECT_EQ((*json)["text"], "ids");
  EXPECT_EQ((*json)["against"], "qwen2");
}

struct Verdict {
  const char* model;
  const char* quant;
  int code;
};
void PrintTo(const Verdict& verdict, std::ostream* out) {
  *out << verdict.model << " " << verdict.quant;
}

class VerifyScheme : public Verify, public ::testing::WithParamInterface<Verdict> {};

// Every matrix is quantized, however small. Random weights lose about 1 % a matrix with eight bits
// and 10 % or more with four and one palette (tests/compiler/parity_test.cc has the sums), which
// the cosine has to tell apart. The perplexity of random tokens under a random model is noise: one
// rare token moves it by a tenth.
TEST_P(VerifyScheme, TellsEightBitsFromFour) {
  const auto& [model, quant, code] = GetParam();
  const std::string artifact =
      compile(tiny(model), fmt::format("--quant {} --quant-threshold 0 --context 64", quant));
  const Outcome outcome =
      verify(artifact, tiny(model), std::string("--max-perplexity-ratio 2 --ids ") + kIds);
  EXPECT_EQ(outcome.code, code) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out.find("FAILED") == std::string::npos, code == 0) << outcome.out;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), code) << outcome.err;
}

constexpr Verdict kVerdicts[] = {
    {"qwen2", "none", 0},           {"qwen2", "int8", 0},
    {"qwen2", "int8-channel", 0},   {"qwen2", "int8-block", 0},
    {"qwen2", "lut8", 0},           {"qwen2", "int4-block", 1},
    {"qwen2", "mixed", 1},          {"qwen2", "lut4 --lut-mode uniform --group-size 0", 1},
    {"llama", "int8-channel", 0},   {"llama", "lut4 --lut-mode uniform --group-size 0", 1},
    {"mistral", "int8-channel", 0}, {"mistral", "lut4 --lut-mode uniform --group-size 0", 1},
    {"qwen3", "int8-channel", 0},   {"qwen3", "lut4 --lut-mode uniform --group-size 0", 1},
    {"smollm3", "int8-channel", 0}, {"smollm3", "lut4 --lut-mode uniform --group-size 0", 1},
};

INSTANTIATE_TEST_SUITE_P(Tiny, VerifyScheme, ::testing::ValuesIn(kVerdicts));

TEST_F(Verify, DamagedWeightsFailAndTheVerdictIsKept) {
  const std::string artifact = compile(tiny("llama"), "--context 64");
  const std::string weights =
      artifact + "/head_0.mlpackage/Data/com.apple.CoreML/weights/weight.bin";
  const std::string good = contents(weights);
  ASSERT_GT(good.size(), 2500u);
  std::string bytes = good;
  // The exponents of the last fp16 weights; records of other blobs lie before them.
  for (std::size_t i = 1; i < 2000; i += 2) bytes[bytes.size() - i] ^= 0x18;
  ASSERT_TRUE(write_file(weights, bytes).ok());
  const Outcome outcome = verify(artifact, tiny("llama"), std::string("--ids ") + kIds);
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_NE(contents(artifact + "/manifest.json").find("\"passed\": false"), std::string::npos);

  // The lowest bit of one weight changes no verdict, but these are not the files of the manifest.
  bytes = good;
  bytes[bytes.size() - 2] ^= 1;
  ASSERT_TRUE(write_file(weights, bytes).ok());
  const Outcome subtle = verify(artifact, tiny("llama"), std::string("--ids ") + kIds);
  EXPECT_EQ(subtle.code, 3) << subtle.out << subtle.err;
  EXPECT_NE(subtle.err.find("sha256"), std::string::npos) << subtle.err;
}

TEST_F(Verify, ReadsATextOfTheUser) {
  const std::string artifact = compile(pocket(), "--context 64");
  ASSERT_TRUE(write_file(folder_.file("mine.txt"), "The capital of France is Paris.\n").ok());
  const Outcome outcome =
      verify(artifact, pocket(), "--tokens 5 --text " + folder_.file("mine.txt"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("over 5 tokens (mine.txt)"), std::string::npos) << outcome.out;
}

TEST_F(Verify, RefusesWhatCannotBeCompared) {
  const std::string artifact = compile(tiny("qwen2"));
  const auto expect = [&](const Outcome& outcome, int code, const std::string& part) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  };
  const std::string ids = std::string("--ids ") + kIds;
  expect(verify(artifact, tiny("qwen3"), ids), 2, "qwen3");
  expect(verify(artifact, tiny("qwen2")), 2, "--ids");
  expect(verify(artifact, tiny("qwen2"), "--ids '1'"), 2, "two tokens");
  expect(verify(artifact, tiny("qwen2"), "--ids '1 99999'"), 2, "99999");
  expect(verify(artifact, tiny("qwen2"), "--ids @/nonexistent"), 5, "/nonexistent");
  expect(verify(artifact, "/nonexistent", ids), 5, "/nonexistent");
  expect(verify(tiny("qwen2"), tiny("qwen2"), ids), 3, "manifest.json");
  expect(verify(artifact, tiny("qwen2"), ids + " --min-cosine 2"), 2, "--min-cosine");
  expect(verify(artifact, tiny("qwen2"), ids + " --min-top1 nan"), 2, "--min-top1");
  expect(verify(artifact, tiny("qwen2"), ids + " --text x"), 2, "--text");
  expect(run_anemone("verify " + artifact), 2, "--against");
}

TEST_F(Verify, CtrlCLeavesNothing) {
  const std::string artifact = compile(pocket());
  const int status = interrupted({"verify", artifact, "--against", pocket()}, cache(), SIGINT);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_EQ(contents(artifact + "/manifest.json").find("verification"), std::string::npos);
  // What the process cannot remove in time another one removes (cli/cleanup.h), for which nobody
  // waits.
  EXPECT_TRUE(wait_until([&] { return names_in(cache()).empty(); }));
}

}  // namespace
}  // namespace anemone::cli
