// SPDX-License-Identifier: Apache-2.0
// Forms that write an operation out in products and sums: they leave no such operation, and the
// fast path gives them the bits and the steps of the operation.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "ane/program_walk.h"
#include "api/executors.h"
#include "compiler/compiler.h"
#include "exec/profile.h"
#include "ir/verifier.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

constexpr std::size_t kSteps = 8;

struct Counts {
  int depthwise_convs = 0;
  int other_convs_over_time = 0;

  bool operator==(const Counts&) const = default;
};

Counts count(const std::string& folder, const artifact::Manifest& manifest) {
  Counts out;
  for (const artifact::Shard& shard : manifest.shards) {
    const auto model = mlpackage::read_package(folder + "/" + shard.package);
    EXPECT_TRUE(model.ok()) << model.status().message();
    if (!model.ok()) return out;
    ane::for_each_op(model->program, [&](const ir::Function& function, const ir::Op& op) {
      if (op.type != "conv") return;
      const auto groups = ir::ProgramInferContext(op, function.opset).integer("groups").value_or(1);
      if (groups == ane::dimension(ane::type_of(op, "x"), 1))
        ++out.depthwise_convs;
      else if (groups != 1)
        ++out.other_convs_over_time;
    });
  }
  return out;
}

// Both precisions and layouts, states and tensors, fixed and flexible functions.
std::vector<CompileOptions> bases() {
  std::vector<CompileOptions> out(5);
  out[1].precision = DType::kFp32;
  out[2].form.layout = artifact::HiddenLayout::kTokensInWidth;
  out[2].form.recurrent = artifact::RecurrentForm::kTensors;
  out[3].form.recurrent = artifact::RecurrentForm::kTensors;
  out[3].form.cache = artifact::CacheForm::kReadOnly;
  out[4].form.layout = artifact::HiddenLayout::kTokensInWidth;
  out[4].range_dim = true;
  for (CompileOptions& options : out) {
    options.recipe.quant.scheme = quant::Scheme::kNone;
    options.context = 64;
    options.prefill = 16;
  }
  return out;
}

class ArithmeticForms : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto all = checkpoints_in_the_tree();
    const auto found = std::ranges::find(all, GetParam(), &Checkpoint::name);
    ASSERT_NE(found, all.end());
    checkpoint_ = *found;
    golden_ = read_golden(checkpoint_);
  }

  struct Made {
    Answer answer;
    Counts counts;
    std::vector<std::string> steps;
  };
  Made make(const CompileOptions& options, const std::string& isa = "") {
    Made out;
    const std::string folder = folder_.file("artifact");
    const auto report = compile(checkpoint_.path, folder, options);
    EXPECT_TRUE(report.ok()) << report.status().message();
    auto executor = api::make_executor({.threads = 2, .isa = isa});
    EXPECT_TRUE(executor.ok()) << executor.status().message();
    if (!report.ok() || !executor.ok()) return out;
    const auto model = engine::Model::load(folder, **executor);
    EXPECT_TRUE(model.ok()) << model.status().message();
    if (!model.ok()) return out;
    out.answer = run_greedily(*model, golden_.prompt, kSteps);
    out.counts = count(folder, report->manifest);
    if (options.range_dim) return out;
    for (std::size_t s = 0; s < (*model)->manifest().shards.size(); ++s) {
      const auto steps = exec::explain((*model)->shard(s), "prefill");
      EXPECT_TRUE(steps.ok());
      if (!steps.ok()) continue;
      for (const exec::PlanStep& step : *steps) out.steps.push_back(step.name);
    }
    return out;
  }

  Checkpoint checkpoint_;
  Golden golden_;
  TemporaryFolder folder_;
};

class ArithmeticTaps : public ArithmeticForms {};

TEST_P(ArithmeticTaps, GiveTheBitsOfTheConvolution) {
  for (CompileOptions options : bases()) {
    SCOPED_TRACE(describe_options(options));
    const Made operation = make(options);
    options.form.taps = artifact::TapsForm::kArithmetic;
    const Made written_out = make(options);
    ASSERT_FALSE(operation.answer.logits.empty());
    EXPECT_TRUE(written_out.answer.logits == operation.answer.logits);
    EXPECT_GT(operation.counts.depthwise_convs, 0);
    EXPECT_EQ(written_out.counts.depthwise_convs, 0);
    EXPECT_EQ(written_out.counts.other_convs_over_time, operation.counts.other_convs_over_time);
    if (options.precision == DType::kFp16) {
      EXPECT_EQ(written_out.steps, operation.steps);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ArithmeticTaps,
                         ::testing::Values("tiny_lfm2", "tiny_lfm2_moe", "tiny_qwen3_next",
                                           "tiny_qwen3_5_text", "tiny_zaya"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace anemone::compiler::testing
