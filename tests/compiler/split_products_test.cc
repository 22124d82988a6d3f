// SPDX-License-Identifier: Apache-2.0
// Products in ranges of their outputs give the bits of whole ones. What is slow on a chip begins at
// eight million weights, so the tiny checkpoints get a limit of their own here.
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "ane/form.h"
#include "ane/notch.h"
#include "api/executors.h"
#include "checkpoint/checkpoint.h"
#include "compiler/compiler.h"
#include "compiler/description.h"
#include "compiler/weight_store.h"
#include "mlpackage/package_writer.h"
#include "models/decoder_graph.h"
#include "ops/registry.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;
using IsSlow = bool (*)(std::int64_t, std::int64_t);

bool is_wide(std::int64_t outputs, std::int64_t /*inputs*/) {
  return outputs > 32;
}

class SplitProducts : public ::testing::TestWithParam<Checkpoint> {
 protected:
  // All layers in one function; returns how many convolutions it has.
  std::size_t write(const std::string& path, IsSlow is_slow, quant::Scheme scheme) {
    const auto checkpoint = checkpoint::open_checkpoint(GetParam().path);
    EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    if (!checkpoint.ok()) return 0;
    const auto architecture = models::find_architecture(checkpoint->config.model_type());
    const auto config = (*architecture)->read_config(checkpoint->config);
    EXPECT_TRUE(config.ok()) << config.status().message();
    Recipe recipe;
    recipe.quant.scheme = scheme;
    recipe.quant.threshold = 0;
    WeightStore weights(checkpoint->weights, recipe, DType::kFp16);
    mlpackage::Model model;
    const auto interface = models::build_layers(model.program, "step", **architecture, *config,
                                                {0, config->num_layers()}, weights,
                                                {.tokens = 4,
                                                 .context = 16,
                                                 .cache_context = 16,
                                                 .form = ane::named_forms().front().form,
                                                 .is_slow_product = is_slow});
    EXPECT_TRUE(interface.ok()) << interface.status().message();
    EXPECT_TRUE(describe_package("test", {.tokens = 4, .tails = {}, .pasts = {}}, model).ok());
    const auto written = mlpackage::write_package(model, path, {.registry = &ops::op_registry()});
    EXPECT_TRUE(written.ok()) << written.status().message();
    return static_cast<std::size_t>(
        std::ranges::count(model.program.function("step")->block->ops, "conv", &ir::Op::type));
  }
  // What the function gives for random inputs, the same for each package.
  static std::vector<std::vector<float>> run(const std::string& path, const std::string& isa) {
    auto executor = api::make_executor({.threads = 2, .isa = isa});
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    const auto program = (*executor)->load(path);
    EXPECT_TRUE(program.ok()) << program.status().message();
    if (!program.ok()) return {};
    std::mt19937 random(7);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<Tensor> tensors;
    for (const exec::Feature& feature : (*program)->signature("step")->inputs) {
      Tensor& tensor = tensors.emplace_back(feature.dtype, feature.shape);
      std::vector<float> own(static_cast<std::size_t>(tensor.view().size()));
      for (float& value : own) value = values(random);
      store_floats(own, tensor.mutable_view());
    }
    exec::Inputs inputs;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      inputs.push_back({(*program)->signature("step")->inputs[i].name, tensors[i].view()});
    exec::Outputs outputs;
    const Status status = (*program)->run("step", inputs, outputs, nullptr);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::vector<float>> out;
    for (const exec::NamedTensor& output : outputs) out.push_back(to_floats(output.tensor.view()));
    return out;
  }

  TemporaryFolder folder_;
};

TEST_P(SplitProducts, GiveTheBitsOfWholeOnes) {
  const std::string whole = folder_.file("whole.mlpackage");
  const std::string split = folder_.file("split.mlpackage");
  const std::size_t fewest = write(whole, nullptr, quant::Scheme::kNone);
  EXPECT_GT(write(split, is_wide, quant::Scheme::kNone), fewest);
  for (const char* isa : {"", "reference"}) {
    SCOPED_TRACE(isa);
    const auto expected = run(whole, isa);
    ASSERT_FALSE(expected.empty());
    EXPECT_TRUE(run(split, isa) == expected);
  }
}

// Nobody has measured quantized weights.
TEST_P(SplitProducts, LeaveQuantizedWeightsWhole) {
  const std::size_t whole =
      write(folder_.file("a.mlpackage"), nullptr, quant::Scheme::kInt8Channel);
  EXPECT_EQ(write(folder_.file("b.mlpackage"), is_wide, quant::Scheme::kInt8Channel), whole);
}

INSTANTIATE_TEST_SUITE_P(, SplitProducts, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing
