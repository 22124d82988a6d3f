// SPDX-License-Identifier: Apache-2.0
// GGUF -> packages -> logits, against transformers on the weights that gguf-py dequantized.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>

#include "checkpoint/checkpoint.h"
#include "compiler/compiler.h"
#include "tests/compiler/golden.h"
#include "tests/support/cosine.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::shared_path;
using anemone::testing::TemporaryFolder;

struct GgufGolden {
  std::string name;  // "Q4_K_M"
  Checkpoint model;
  Golden golden;
};

std::vector<GgufGolden> goldens_of(const std::string& folder) {
  std::vector<GgufGolden> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".gguf") continue;
    const std::string type = file.substr(6, file.size() - 11);  // "model." and ".gguf"
    GgufGolden golden{type, {type, entry.path().string(), true}, {}};
    golden.golden = read_golden_file(folder + "/golden." + type + ".safetensors");
    all.push_back(std::move(golden));
  }
  std::ranges::sort(all, {}, &GgufGolden::name);
  return all;
}

void expect_golden(const GgufGolden& model, const CompileOptions& options) {
  SCOPED_TRACE(model.model.path);
  const TemporaryFolder folder;
  auto loaded = compile_and_load(model.model, folder.file("artifact"), options);
  ASSERT_NE(loaded, nullptr);
  expect_golden(
      run_greedily(std::move(loaded), model.golden.prompt, model.golden.continuation.size()),
      model.golden);
}

// The committed tiny model (fuzz/make_seeds.cc) has no golden: its kept integers and its
// dequantized floats must agree.
TEST(GgufTiny, PassedIntegersGiveWhatTheirFloatsGive) {
  const Checkpoint tiny = {"tiny",
                           anemone::testing::source_path("tests/checkpoint/data/tiny.gguf")};
  const TemporaryFolder folder;
  std::vector<Answer> answers;
  for (const quant::Scheme scheme : {quant::Scheme::kNone, quant::Scheme::kPassthrough}) {
    auto model = compile_and_load(
        tiny, folder.file(std::string(quant::scheme_name(scheme))),
        {.precision = DType::kFp32, .recipe = {.quant = {.scheme = scheme, .threshold = 0}}});
    ASSERT_NE(model, nullptr);
    answers.push_back(run_greedily(std::move(model), {0, 1, 2, 0}, 4));
  }
  ASSERT_EQ(answers[0].logits.size(), 16U);
  EXPECT_EQ(answers[0].logits, answers[1].logits);
  EXPECT_EQ(answers[0].continuation, answers[1].continuation);
}

class GgufModels : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto folder = shared_path(std::string("data/models/") + GetParam());
    if (!folder) GTEST_SKIP() << "absent: data/models/" << GetParam() << " (ANEMONE_SHARED)";
    models_ = goldens_of(*folder);
    ASSERT_FALSE(models_.empty());
  }
  std::vector<GgufGolden> models_;
};

TEST_P(GgufModels, Fp32GivesTheGoldenLogitsAndTokens) {
  for (const GgufGolden& model : models_)
    expect_golden(model, {.precision = DType::kFp32,
                          .recipe = {.quant = {.scheme = quant::Scheme::kNone}},
                          .context = 128});
}

// Integers and scales of the file are taken over, so that in fp32 nothing is lost at all.
TEST_P(GgufModels, PassedIntegersGiveTheGoldenLogitsAndTokens) {
  int kept = 0;
  for (const GgufGolden& model : models_) {
    const CompileOptions options = {
        .precision = DType::kFp32, .recipe = *parse_recipe("keep"), .context = 128};
    const TemporaryFolder folder;
    const auto report = compile(model.model.path, folder.file("artifact"), options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    const bool is_passthrough =
        std::ranges::all_of(report->weights, [](const WeightReport& weight) {
          return !weight.is_source_quantized || (weight.is_passthrough && weight.is_exact);
        });
    const bool is_quantized = std::ranges::any_of(
        report->weights, [](const WeightReport& weight) { return weight.is_source_quantized; });
    if (!is_passthrough || !is_quantized) continue;
    EXPECT_EQ(report->manifest.quantization, "keep");
    expect_golden(model, options);
    ++kept;
  }
  EXPECT_GE(kept, 2);
}

// What the Neural Engine gets: no scales per block of inputs, and palettes of the file's bits.
TEST_P(GgufModels, TheNeuralEngineGetsPalettesOfTheBitsInTheFile) {
  const std::map<std::string, quant::Scheme> palettes = {{"Q4_0", quant::Scheme::kLut4},
                                                         {"Q4_K", quant::Scheme::kLut4},
                                                         {"Q5_0", quant::Scheme::kLut6},
                                                         {"Q6_K", quant::Scheme::kLut6},
                                                         {"Q8_0", quant::Scheme::kLut8}};
  std::size_t matrices = 0;
  for (const GgufGolden& model : models_) {
    SCOPED_TRACE(model.name);
    const TemporaryFolder folder;
    const auto report = compile(model.model.path, folder.file("artifact"),
                                {.recipe = *parse_recipe("auto", Processor::kAne), .context = 128});
    ASSERT_TRUE(report.ok()) << report.status().message();
    for (const WeightReport& weight : report->weights) {
      if (weight.scheme == quant::Scheme::kNone) continue;  // small ones
      const bool is_head = weight.name.starts_with("head");
      const auto expected = palettes.find(weight.source);
      if (is_head) {
        EXPECT_EQ(weight.scheme, quant::Scheme::kLut8);
        continue;
      }
      if (expected == palettes.end()) continue;
      EXPECT_EQ(weight.scheme, expected->second) << weight.name;
      EXPECT_TRUE(weight.error.has_value()) << weight.name;
      ++matrices;
    }
  }
  EXPECT_GT(matrices, 0U);
}

// What `run` and `serve` compile off macOS.
TEST_P(GgufModels, TheDefaultOfTheCpuStaysCloseToTheGoldenLogits) {
  for (const GgufGolden& model : models_) {
    SCOPED_TRACE(model.name);
    const TemporaryFolder folder;
    auto loaded = compile_and_load(model.model, folder.file("artifact"),
                                   {.recipe = *parse_recipe("auto"), .context = 128});
    ASSERT_NE(loaded, nullptr);
    const Answer answer = run_greedily(std::move(loaded), model.golden.prompt, 1);
    const std::vector<float>& want = model.golden.logits;
    ASSERT_EQ(answer.logits.size(), want.size());
    const double cosine = anemone::testing::cosine(answer.logits, want);
    std::printf("%s: cosine %.6f\n", model.name.c_str(), cosine);
    EXPECT_GE(cosine, 0.999);
  }
}

INSTANTIATE_TEST_SUITE_P(, GgufModels, ::testing::Values("gguf-llama", "gguf-llama-small"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace anemone::compiler::testing
