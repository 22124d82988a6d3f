// SPDX-License-Identifier: Apache-2.0
// Files that llama.cpp's converter wrote (make_gguf.py) give the goldens of the checkpoints that
// they were made from. They cover architectures whose files no small converter of our own could
// make.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

  const std::string tiny_ = source_path("tests/compiler/data/tiny/") + GetParam();
  const std::string file_ = source_path("tests/compiler/data/gguf/") + GetParam() + ".gguf";
  const TemporaryFolder folder_;
};

TEST_P(GgufConverted, GiveTheGoldenOfTheCheckpoint) {
  const Golden golden = read_golden_file(tiny_ + "/golden.safetensors");
  expect_golden(run(file_, golden, "gguf"), golden);
}

INSTANTIATE_TEST_SUITE_P(, GgufConverted,
                         ::testing::Values("gemma4_text", "gemma4_moe", "qwen3_next",
                                           "qwen3_5_text"),
                         [](const auto& info) { return std::string(info.param); });

// The format does not say where gpt-oss cuts its activation: 7, as the class has it. The tiny
// checkpoint, which cuts sooner, stands for the golden when it is told the same.
class GgufConvertedGptOss : public GgufConverted {};

TEST_P(GgufConvertedGptOss, GivesWhatTheCheckpointDoesWithTheLimitOfTheClass) {
  Golden golden = read_golden_file(tiny_ + "/golden.safetensors");
  copy_changed(tiny_, {{"swiglu_limit", 7}}, folder_.file("changed"));
  Answer answer = run(folder_.file("changed"), golden, "reference");
  golden.logits = std::move(answer.logits);
  golden.continuation = std::move(answer.continuation);
  expect_golden(run(file_, golden, "gguf"), golden);
}

INSTANTIATE_TEST_SUITE_P(, GgufConvertedGptOss, ::testing::Values("gpt_oss_mxfp4"));

}  // namespace
}  // namespace anemone::compiler::testing
