// SPDX-License-Identifier: Apache-2.0
// GGUF -> packages -> logits, against transformers on the weights that gguf-py dequantized.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "compiler/compiler.h"
#include "tests/compiler/golden.h"
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
    const CompileOptions options = {.precision = DType::kFp32, .context = 128};
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

// What a compile without options gives.
TEST_P(GgufModels, TheDefaultStaysCloseToTheGoldenLogits) {
  for (const GgufGolden& model : models_) {
    SCOPED_TRACE(model.name);
    const TemporaryFolder folder;
    auto loaded = compile_and_load(model.model, folder.file("artifact"), {.context = 128});
    ASSERT_NE(loaded, nullptr);
    const Answer answer = run_greedily(std::move(loaded), model.golden.prompt, 1);
    const std::vector<float>& want = model.golden.logits;
    ASSERT_EQ(answer.logits.size(), want.size());
    double dot = 0;
    double a = 0;
    double b = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      dot += double{want[i]} * answer.logits[i];
      a += double{want[i]} * want[i];
      b += double{answer.logits[i]} * answer.logits[i];
    }
    const double cosine = dot / std::sqrt(a * b);
    std::printf("%s: cosine %.6f\n", model.name.c_str(), cosine);
    // Files of floats become int8 with one scale per matrix, as any checkpoint by default.
    const bool has_floats = model.name == "F32" || model.name == "F16" || model.name == "BF16";
    EXPECT_GE(cosine, has_floats ? 0.995 : 0.999);
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
