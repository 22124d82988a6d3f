// SPDX-License-Identifier: Apache-2.0
// ONNX bundle -> packages -> logits, against transformers on the dequantized weights and against
// ONNX Runtime, whose decode steps go over its own cache.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "compiler/compiler.h"
#include "tests/compiler/golden.h"
#include "tests/support/cosine.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::shared_path;
using anemone::testing::TemporaryFolder;

struct Bundle {
  const char* name;
  // Tolerance against ONNX Runtime's logits. In fp32 only the order of sums differs; with fp16
  // activations the bundles themselves are off by so much from the same weights in fp32 (their
  // README).
  float runtime_tolerance;
};
constexpr float kDequantizedTolerance = 2e-3F;  // as for other checkpoints (parity_test.cc)

class OnnxModels : public ::testing::TestWithParam<Bundle> {};

std::vector<float> onnx_floats(const checkpoint::WeightSource& source, const char* name) {
  const checkpoint::WeightRef* weight = source.find(name);
  if (weight == nullptr) return {};
  std::vector<float> out(static_cast<std::size_t>(element_count(weight->shape)));
  checkpoint::read_floats(*weight, 0, out);
  return out;
}

float farthest(const float* a, const std::vector<float>& b) {
  float worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

TEST_P(OnnxModels, GiveTheGoldenLogits) {
  const auto path = shared_path(std::string("data/models/") + GetParam().name);
  if (!path) GTEST_SKIP() << "absent: data/models/" << GetParam().name << " (ANEMONE_SHARED)";
  const auto golden = checkpoint::open_safetensors(*path + "/golden.safetensors");
  ASSERT_TRUE(golden.ok());
  std::vector<int> ids;
  for (const char* name : {"input_ids", "decode_ids"})
    for (const float id : onnx_floats(**golden, name)) ids.push_back(static_cast<int>(id));
  const TemporaryFolder folder;
  auto model = compile_and_load({GetParam().name, *path}, folder.file("artifact"),
                                {.precision = DType::kFp32,
                                 .recipe = {.quant = {.scheme = quant::Scheme::kNone}},
                                 .context = 128});
  ASSERT_NE(model, nullptr);
  const Answer answer = run_greedily(std::move(model), ids, 1);
  const auto dequantized = onnx_floats(**golden, "logits_dequant_fp32");
  const auto runtime = onnx_floats(**golden, "logits");
  const auto decoded = onnx_floats(**golden, "decode_logits");
  ASSERT_EQ(answer.logits.size(), runtime.size() + decoded.size());
  ASSERT_EQ(dequantized.size(), runtime.size());
  EXPECT_LE(farthest(answer.logits.data(), dequantized), kDequantizedTolerance);
  EXPECT_LE(farthest(answer.logits.data(), runtime), GetParam().runtime_tolerance);
  EXPECT_LE(farthest(answer.logits.data() + runtime.size(), decoded), GetParam().runtime_tolerance);
}
INSTANTIATE_TEST_SUITE_P(, OnnxModels,
                         ::testing::Values(Bundle{"onnx-qwen3", 2e-3F},
                                           Bundle{"onnx-aion-f32", 2e-3F},
                                           Bundle{"onnx-aion", 0.06F},
                                           Bundle{"onnx-llama-f16", 0.06F}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// The committed bundle (tests/checkpoint/make_onnx.py): its integers, kept, say what their floats
// say.
TEST(OnnxTiny, PassedIntegersGiveWhatTheirFloatsGive) {
  const Checkpoint tiny = {"tiny", anemone::testing::source_path("tests/checkpoint/data/onnx")};
  const TemporaryFolder folder;
  std::vector<Answer> answers;
  for (const quant::Scheme scheme : {quant::Scheme::kNone, quant::Scheme::kPassthrough}) {
    auto model = compile_and_load(tiny, folder.file(std::string(quant::scheme_name(scheme))),
                                  {.precision = DType::kFp32,
                                   .recipe = {.quant = {.scheme = scheme, .threshold = 0}},
                                   .context = 32,
                                   .prefill = 8});
    ASSERT_NE(model, nullptr);
    answers.push_back(run_greedily(std::move(model), {5, 9, 30, 17, 4}, 4));
  }
  // Matrices with zero points or with a part of a block are not kept but quantized again, each to 8
  // bits per value.
  ASSERT_EQ(answers[0].logits.size(), answers[1].logits.size());
  EXPECT_GE(anemone::testing::cosine(answers[0].logits, answers[1].logits), 0.999);
}

// Tiers that the prompt outgrows, and a head that gives tokens, change no token here either.
TEST(OnnxTiny, TiersAndAGreedyHeadGiveTheSameTokens) {
  const Checkpoint tiny = {"tiny", anemone::testing::source_path("tests/checkpoint/data/onnx")};
  const std::vector<std::int32_t> prompt = {5, 9, 30, 17, 4, 21, 8};
  constexpr std::size_t kNewTokens = 12;
  CompileOptions options = {.precision = DType::kFp32,
                            .recipe = {.quant = {.scheme = quant::Scheme::kNone}},
                            .context = 32,
                            .prefill = 4};
  const TemporaryFolder folder;
  const auto run = [&](const std::string& name) {
    auto model = compile_and_load(tiny, folder.file(name), options);
    EXPECT_NE(model, nullptr);
    return model == nullptr ? Answer() : run_greedily(std::move(model), prompt, kNewTokens);
  };
  const Answer plain = run("plain");
  ASSERT_EQ(plain.continuation.size(), kNewTokens);
  options.tiers = {6, 16};
  const Answer tiers = run("tiers");
  EXPECT_EQ(tiers.logits, plain.logits);
  EXPECT_EQ(tiers.continuation, plain.continuation);
  options.form.head = artifact::HeadForm::kArgmax;
  const auto model = compile_and_load(tiny, folder.file("argmax"), options);
  ASSERT_NE(model, nullptr);
  EXPECT_TRUE(model->manifest().is_greedy());
  EXPECT_EQ(greedy_ids(model, prompt, kNewTokens), plain.continuation);
}

}  // namespace
}  // namespace anemone::compiler::testing
