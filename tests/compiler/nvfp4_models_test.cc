// SPDX-License-Identifier: Apache-2.0
// Checkpoints in NVFP4, by both of its writers: they give what the floats give that they stand for.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

#include "compiler/compiler.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

class Nvfp4Models : public ::testing::TestWithParam<const char*> {
 protected:
  Answer run(const std::string& path, const std::string& name, const CompileOptions& options) {
    auto model = compile_and_load({name, path}, folder_.file(name), options);
    EXPECT_NE(model, nullptr);
    if (model == nullptr) return {};
    return run_greedily(std::move(model), {1, 7, 20, 33}, 6);
  }
  // The checkpoint with the floats in place of the quantized matrices.
  std::string floats() {
    namespace fs = std::filesystem;
    const std::string folder = folder_.file("floats-checkpoint");
    fs::create_directory(folder);
    fs::copy_file(source_path("tests/checkpoint/data/nvfp4/modelopt/config.json"),
                  folder + "/config.json");
    fs::copy_file(path_ + "-decoded.safetensors", folder + "/model.safetensors");
    return folder;
  }

  const std::string path_ = source_path("tests/checkpoint/data/nvfp4/") + GetParam();
  const TemporaryFolder folder_;
};

TEST_P(Nvfp4Models, GiveTheLogitsOfTheirFloats) {
  const CompileOptions options = {.precision = DType::kFp32,
                                  .recipe = {.quant = {.scheme = quant::Scheme::kNone}}};
  const Answer expected = run(floats(), "floats", options);
  const Answer answer = run(path_, "quantized", options);
  EXPECT_EQ(answer.continuation, expected.continuation);
  EXPECT_FALSE(answer.logits.empty());
  EXPECT_EQ(answer.logits, expected.logits);
}

TEST_P(Nvfp4Models, KeepTheirIntegers) {
  CompileOptions options = {.precision = DType::kFp32,
                            .recipe = {.quant = {.scheme = quant::Scheme::kPassthrough}}};
  options.recipe.quant.threshold = 0;
  const Answer kept = run(path_, "kept", options);
  const auto report = compile(path_, folder_.file("kept"), options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  const auto is_kept = [](const WeightReport& weight) {
    return weight.is_passthrough && weight.is_exact && weight.source == "NVFP4";
  };
  // Four products in the layer: qkv, output, gate and up, down. The head was left out.
  EXPECT_EQ(std::ranges::count_if(report->weights, is_kept), 4);
  // Integers times scales of fp32 are the floats.
  options.recipe.quant.scheme = quant::Scheme::kNone;
  EXPECT_EQ(kept.logits, run(path_, "none", options).logits);
}

INSTANTIATE_TEST_SUITE_P(, Nvfp4Models, ::testing::Values("compressed-tensors", "modelopt"),
                         [](const auto& info) {
                           return std::string(info.param) == "modelopt" ? "ModelOpt"
                                                                        : "CompressedTensors";
                         });

}  // namespace
}  // namespace anemone::compiler::testing
