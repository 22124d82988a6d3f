// SPDX-License-Identifier: Apache-2.0
// GGUF -> packages -> logits, against transformers on the weights that gguf-py dequantized.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::shared_path;
using anemone::testing::TemporaryFolder;

// Sums in another order than PyTorch's, as for other checkpoints (parity_test.cc).
constexpr float kGgufTolerance = 2e-3F;

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
  const Answer answer =
      run_greedily(std::move(loaded), model.golden.prompt, model.golden.continuation.size());
  ASSERT_EQ(answer.logits.size(), model.golden.logits.size());
  float worst = 0;
  for (std::size_t i = 0; i < answer.logits.size(); ++i)
    worst = std::max(worst, std::abs(answer.logits[i] - model.golden.logits[i]));
  std::printf("%s: largest difference %.3g\n", model.name.c_str(), static_cast<double>(worst));
  EXPECT_LE(worst, kGgufTolerance);
  EXPECT_EQ(answer.continuation, model.golden.continuation);
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

INSTANTIATE_TEST_SUITE_P(, GgufModels, ::testing::Values("gguf-llama", "gguf-llama-small"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace anemone::compiler::testing
