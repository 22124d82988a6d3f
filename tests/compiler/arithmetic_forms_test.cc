// SPDX-License-Identifier: Apache-2.0
// Forms that write an operation out in products and sums: they leave no such operation, and the
// fast path gives them the bits and the steps of the operation.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "ane/program_walk.h"
#include "compiler/compiler.h"
#include "exec/profile.h"
#include "ir/verifier.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

constexpr std::size_t kSteps = 8;

struct Counts {
  int depthwise_convs = 0;
  int other_convs_over_time = 0;
  int selects = 0;
};

Counts count(const std::string& folder, const artifact::Manifest& manifest) {
  Counts out;
  for (const artifact::Shard& shard : manifest.shards) {
    const auto model = mlpackage::read_package(folder + "/" + shard.package);
    EXPECT_TRUE(model.ok()) << model.status().message();
    if (!model.ok()) return out;
    const auto visit = [&](const ir::Function& function, const ir::Op& op, std::size_t) {
      if (op.type == "select") ++out.selects;
      if (op.type != "conv") return;
      const auto groups = ir::ProgramInferContext(op, function.opset).integer("groups").value_or(1);
      if (groups == ane::dimension(ane::type_of(op, "x"), 1))
        ++out.depthwise_convs;
      else if (groups != 1)
        ++out.other_convs_over_time;
    };
    ane::for_each_op({.program = model->program}, visit);
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

class ArithmeticForms : public ::testing::TestWithParam<Checkpoint> {
 protected:
  void SetUp() override { golden_ = read_golden(GetParam()); }

  struct Made {
    Answer answer;
    Counts counts;
    std::vector<exec::PlanStep> steps;  // of a prefill, in all shards
  };
  Made make(const CompileOptions& options, const std::string& isa = "") {
    Made out;
    const std::string folder = compiled_folder(GetParam(), options);
    const auto model = load_model(folder, isa);
    if (model == nullptr) return out;
    out.answer = run_greedily(model, golden_.prompt, kSteps);
    out.counts = count(folder, model->manifest());
    if (options.range_dim) return out;
    for (std::size_t s = 0; s < model->manifest().shards.size(); ++s) {
      const auto steps = exec::explain(model->shard(s), "prefill");
      EXPECT_TRUE(steps.ok());
      if (!steps.ok()) continue;
      out.steps.insert(out.steps.end(), steps->begin(), steps->end());
    }
    return out;
  }

  Golden golden_;
};

std::vector<std::string> names_of(const std::vector<exec::PlanStep>& steps) {
  std::vector<std::string> names;
  for (const exec::PlanStep& step : steps) names.push_back(step.name);
  return names;
}

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
      EXPECT_EQ(names_of(written_out.steps), names_of(operation.steps));
    }
  }
}

std::vector<Checkpoint> checkpoints_with_taps() {
  std::vector<Checkpoint> all = checkpoints_with_every_block();
  std::erase_if(all, [](const Checkpoint& each) {
    const auto is = [&](const char* type) { return each.name.find(type) != std::string::npos; };
    return !is("lfm2") && !is("qwen3_next") && !is("qwen3_5") && !is("zaya");
  });
  return all;
}

class ArithmeticRouting : public ArithmeticForms {
 protected:
  // For each step that runs experts, three numbers: its experts, those of them that are active, and
  // the bytes of weights that it reads.
  static std::vector<std::int64_t> experts_of(const std::vector<exec::PlanStep>& steps) {
    std::vector<std::int64_t> out;
    for (const exec::PlanStep& step : steps)
      if (step.experts != 0)
        out.insert(out.end(), {step.experts, step.active_experts, step.weight_bytes});
    return out;
  }
};

// By the fast path and by the reference, which rounds after every operation.
TEST_P(ArithmeticRouting, GivesTheBitsOfTheSelection) {
  std::vector<CompileOptions> options_of_all = bases();
  options_of_all.push_back(bases()[2]);
  options_of_all.back().form.experts = artifact::ExpertsForm::kPacks;
  for (CompileOptions options : options_of_all) {
    SCOPED_TRACE(describe_options(options));
    for (const char* isa : {"", "reference"}) {
      SCOPED_TRACE(isa);
      options.form.routing = artifact::RoutingForm::kSelect;
      const Made selected = make(options, isa);
      options.form.routing = artifact::RoutingForm::kArithmetic;
      const Made masked = make(options, isa);
      ASSERT_FALSE(selected.answer.logits.empty());
      EXPECT_TRUE(masked.answer.logits == selected.answer.logits);
      EXPECT_GT(selected.counts.selects, 0);
      EXPECT_EQ(masked.counts.selects, 0);
      EXPECT_EQ(experts_of(masked.steps), experts_of(selected.steps));
    }
  }
}

// A token reads its active experts alone, in either form.
TEST_P(ArithmeticRouting, LeavesInactiveExpertsOut) {
  CompileOptions options = bases().front();
  options.form.routing = artifact::RoutingForm::kArithmetic;
  const std::vector<std::int64_t> experts = experts_of(make(options).steps);
  ASSERT_FALSE(experts.empty());
  for (std::size_t i = 0; i < experts.size(); i += 3)
    if (experts[i] > 1) {
      EXPECT_GT(experts[i + 1], 0);
      EXPECT_LT(experts[i + 1], experts[i]);
    }
}

const auto kName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(, ArithmeticTaps, ::testing::ValuesIn(checkpoints_with_taps()), kName);
INSTANTIATE_TEST_SUITE_P(, ArithmeticRouting, ::testing::ValuesIn(tiny_checkpoints_with_experts()),
                         kName);

}  // namespace
}  // namespace anemone::compiler::testing
