// SPDX-License-Identifier: Apache-2.0
// The delta nets of whole packages as one operation each, against the operations that they stand
// for: to the bit, on every instruction set of this machine.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/executors.h"
#include "compiler/compiler.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/profile.h"
#include "kernels/simd/isa.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

// Makes an output of the state that each delta net of a function leaves, so that its operations
// stay. Returns how many there are.
std::size_t show_states(ir::Function& function) {
  std::size_t count = 0;
  for (const ir::Op* op : function.block->ops) {
    if (op->type != "write_state" || !op->input("input")->name.starts_with("delta_cache_"))
      continue;
    function.block->outputs.push_back(op->input("data"));
    ++count;
  }
  return count;
}

std::size_t count_fused(const exec::LoadedProgram& loaded, const std::string& function) {
  const auto steps = exec::explain(loaded, function);
  EXPECT_TRUE(steps.ok());
  return !steps.ok() ? 0
                     : static_cast<std::size_t>(
                           std::ranges::count(*steps, "delta_net", &exec::PlanStep::name));
}

std::shared_ptr<const exec::LoadedProgram> load(const std::shared_ptr<mlpackage::Model>& package,
                                                kernels::simd::Isa isa) {
  exec::ProgramInterface interface;
  interface.weight_files = package->weight_files;
  auto loaded =
      exec::load_program({package, &package->program}, interface, {}, {.threads = 2, .isa = isa});
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : nullptr;
}

std::vector<Tensor> random_inputs(const exec::Signature& signature, std::mt19937& engine) {
  std::vector<Tensor> out;
  for (const exec::Feature& feature : signature.inputs) {
    Tensor& tensor = out.emplace_back(feature.dtype, feature.shape);
    std::vector<float> values(static_cast<std::size_t>(element_count(feature.shape)));
    for (float& value : values) value = static_cast<float>(engine() >> 8) * 0x1p-24f;
    store_floats(values, tensor.mutable_view());
  }
  return out;
}

void expect_same(const Tensor& got, const Tensor& expected, const std::string& name) {
  const std::vector<float> a = to_floats(got.view());
  EXPECT_EQ(a, to_floats(expected.view())) << name;
  EXPECT_TRUE(std::ranges::all_of(a, [](float x) { return std::isfinite(x); })) << name;
}

class DeltaNetPackages : public ::testing::TestWithParam<const char*> {
 protected:
  // Steps of one token and of more, over one set of states.
  void compare(const exec::LoadedProgram& fused, const exec::LoadedProgram& unfused) {
    auto fused_states = fused.make_state();
    auto unfused_states = unfused.make_state();
    ASSERT_TRUE(fused_states.ok() && unfused_states.ok());
    std::mt19937 engine{5};
    for (const std::string function : {"prefill", "decode", "verify", "decode"}) {
      SCOPED_TRACE(function);
      const exec::Signature& signature = *fused.signature(function);
      const std::vector<Tensor> tensors = random_inputs(signature, engine);
      exec::Inputs inputs;
      for (std::size_t i = 0; i < tensors.size(); ++i)
        inputs.push_back({signature.inputs[i].name, tensors[i].view()});
      exec::Outputs got;
      exec::Outputs expected;
      ASSERT_TRUE(fused.run(function, inputs, got, fused_states->get()).ok());
      ASSERT_TRUE(unfused.run(function, inputs, expected, unfused_states->get()).ok());
      for (const exec::NamedTensor& output : got)
        expect_same(output.tensor, *exec::find_output(expected, output.name), output.name);
      for (const exec::Feature& state : (*fused_states)->states())
        expect_same(*(*fused_states)->read(state.name), *(*unfused_states)->read(state.name),
                    state.name);
    }
  }
};

TEST_P(DeltaNetPackages, GiveTheBitsOfTheirOperations) {
  CompileOptions options;
  options.context = 64;
  options.prefill = 16;
  options.draft_width = 5;
  const TemporaryFolder folder;
  const std::string tiny = std::string("tests/compiler/data/tiny/") + GetParam();
  const auto model = compile_and_load(
      {.name = GetParam(), .path = anemone::testing::source_path(tiny)}, folder.file("a"), options);
  ASSERT_NE(model, nullptr);
  std::size_t count = 0;
  for (const artifact::Shard& shard : model->manifest().shards) {
    const std::string path = folder.file("a/" + shard.package);
    auto read = mlpackage::read_package(path);
    auto read_again = mlpackage::read_package(path);
    ASSERT_TRUE(read.ok() && read_again.ok());
    const auto package = std::make_shared<mlpackage::Model>(*std::move(read));
    const auto shown = std::make_shared<mlpackage::Model>(*std::move(read_again));
    std::vector<std::size_t> nets;
    for (ir::Function* function : shown->program.functions())
      nets.push_back(show_states(*function));
    for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
      SCOPED_TRACE(std::string(kernels::simd::isa_name(isa)));
      const auto fused = load(package, isa);
      const auto unfused = load(shown, isa);
      ASSERT_TRUE(fused != nullptr && unfused != nullptr);
      for (std::size_t f = 0; f < nets.size(); ++f) {
        const std::string& function = package->program.functions()[f]->name;
        EXPECT_EQ(count_fused(*fused, function), nets[f]) << function;
        EXPECT_EQ(count_fused(*unfused, function), 0U) << function;
        count += nets[f];
      }
      compare(*fused, *unfused);
    }
  }
  EXPECT_GT(count, 0U);
}

// States in inputs and outputs of the functions take the same operation.
TEST_P(DeltaNetPackages, InTensorsGiveTheBitsOfStates) {
  const std::string tiny =
      anemone::testing::source_path(std::string("tests/compiler/data/tiny/") + GetParam());
  const auto executor = api::make_executor({.threads = 2});
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  const TemporaryFolder folder;
  Answer answers[2];
  std::size_t nets[2] = {};
  for (const std::size_t i : {0U, 1U}) {
    CompileOptions options;
    options.context = 64;
    options.prefill = 8;
    if (i == 1) options.form.recurrent = artifact::RecurrentForm::kTensors;
    const auto report = compile(tiny, folder.file("a"), options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    const auto model = engine::Model::load(folder.file("a"), **executor);
    ASSERT_TRUE(model.ok()) << model.status().message();
    for (std::size_t s = 0; s < (*model)->manifest().shards.size(); ++s)
      for (const std::string function : {"prefill", "decode"})
        nets[i] += count_fused((*model)->shard(s), function);
    answers[i] = run_greedily(*model, {3, 9, 4, 1, 5, 9, 2, 6, 5, 3, 5}, 6);
  }
  EXPECT_GT(nets[0], 0U);
  EXPECT_EQ(nets[0], nets[1]);
  ASSERT_FALSE(answers[0].logits.empty());
  EXPECT_TRUE(answers[0].logits == answers[1].logits);
  EXPECT_EQ(answers[0].continuation, answers[1].continuation);
}

INSTANTIATE_TEST_SUITE_P(Tiny, DeltaNetPackages, ::testing::Values("qwen3_next", "qwen3_5_text"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace anemone::compiler::testing
