// SPDX-License-Identifier: Apache-2.0
// Files that llama.cpp's converter wrote (make_gguf.py) give the goldens of the checkpoints that
// they were made from. Of architectures whose files no small converter of our own could make.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

const CompileOptions kPlainFloats = {.precision = DType::kFp32,
                                     .recipe = {.quant = {.scheme = quant::Scheme::kNone}}};

class GgufConverted : public ::testing::TestWithParam<const char*> {
 protected:
  Answer run(const std::string& path, const Golden& golden, const std::string& name) {
    auto model = compile_and_load({name, path}, folder_.file(name), kPlainFloats);
    EXPECT_NE(model, nullptr);
    if (model == nullptr) return {};
    return run_greedily(std::move(model), golden.prompt, golden.continuation.size());
  }
  void expect_alike(const Answer& got, const std::vector<float>& logits,
                    const std::vector<std::int32_t>& continuation) {
    ASSERT_FALSE(logits.empty());
    ASSERT_EQ(got.logits.size(), logits.size());
    float worst = 0;
    for (std::size_t i = 0; i < logits.size(); ++i)
      worst = std::max(worst, std::abs(got.logits[i] - logits[i]));
    EXPECT_LE(worst, 2e-3F);  // as for checkpoints (parity_test.cc)
    EXPECT_EQ(got.continuation, continuation);
  }

  const std::string tiny_ = source_path("tests/compiler/data/tiny/") + GetParam();
  const std::string file_ = source_path("tests/compiler/data/gguf/") + GetParam() + ".gguf";
  const TemporaryFolder folder_;
};

TEST_P(GgufConverted, GiveTheGoldenOfTheCheckpoint) {
  const Golden golden = read_golden_file(tiny_ + "/golden.safetensors");
  expect_alike(run(file_, golden, "gguf"), golden.logits, golden.continuation);
}

INSTANTIATE_TEST_SUITE_P(, GgufConverted,
                         ::testing::Values("gemma4_text", "gemma4_moe", "qwen3_next",
                                           "qwen3_5_text"),
                         [](const auto& info) { return std::string(info.param); });

// The format does not say where gpt-oss cuts its activation: 7, as the class has it. The tiny
// checkpoint, which cuts sooner, stands for the golden when it is told the same.
class GgufConvertedGptOss : public GgufConverted {};

TEST_P(GgufConvertedGptOss, GivesWhatTheCheckpointDoesWithTheLimitOfTheClass) {
  const Golden golden = read_golden_file(tiny_ + "/golden.safetensors");
  const std::string changed = folder_.file("changed");
  std::filesystem::copy(tiny_, changed);
  auto config = read_json_file(changed + "/config.json");
  ASSERT_TRUE(config.ok());
  (*config)["swiglu_limit"] = 7;
  ASSERT_TRUE(write_file(changed + "/config.json", dump_json(*config)).ok());
  const Answer expected = run(changed, golden, "reference");
  expect_alike(run(file_, golden, "gguf"), expected.logits, expected.continuation);
}

INSTANTIATE_TEST_SUITE_P(, GgufConvertedGptOss, ::testing::Values("gpt_oss_mxfp4"));

}  // namespace
}  // namespace anemone::compiler::testing
