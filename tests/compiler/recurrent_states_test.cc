// SPDX-License-Identifier: Apache-2.0
// The recurrent states of whole packages (delta states, short convolutions) in one operation each,
// against the operations that it stands for: to the bit, on every instruction set of this machine.
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
#include "engine/session/bucket.h"
#include "engine/session/kv_cache.h"
#include "engine/session/step.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/profile.h"
#include "kernels/simd/isa.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

// Makes an output of what each recurrent state of a function becomes, so that its operations stay.
// Returns how many there are.
std::size_t show_states(const artifact::Shard& shard, ir::Function& function) {
  std::size_t count = 0;
  for (const ir::Op* op : function.block->ops) {
    if (op->type != "write_state") continue;
    const auto cache =
        std::ranges::find(shard.caches, op->input("input")->name, &artifact::Cache::name);
    if (cache == shard.caches.end() || !cache->is_recurrent) continue;
    function.block->outputs.push_back(op->input("data"));
    ++count;
  }
  return count;
}

std::size_t count_fused(const exec::LoadedProgram& loaded, const std::string& function) {
  const auto steps = exec::explain(loaded, function);
  EXPECT_TRUE(steps.ok());
  if (!steps.ok()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(*steps, [](const exec::PlanStep& step) {
    return step.name == "delta_net" || step.name == "extended_state";
  }));
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

class RecurrentPackages : public ::testing::TestWithParam<const char*> {
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

TEST_P(RecurrentPackages, GiveTheBitsOfTheirOperations) {
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
    std::vector<std::size_t> states;
    for (ir::Function* function : shown->program.functions())
      states.push_back(show_states(shard, *function));
    for (const kernels::simd::Isa isa : kernels::simd::supported_isas()) {
      SCOPED_TRACE(std::string(kernels::simd::isa_name(isa)));
      const auto fused = load(package, isa);
      const auto unfused = load(shown, isa);
      ASSERT_TRUE(fused != nullptr && unfused != nullptr);
      for (std::size_t f = 0; f < states.size(); ++f) {
        const std::string& function = package->program.functions()[f]->name;
        EXPECT_EQ(count_fused(*fused, function), states[f]) << function;
        EXPECT_EQ(count_fused(*unfused, function), 0U) << function;
        count += states[f];
      }
      compare(*fused, *unfused);
    }
  }
  EXPECT_GT(count, 0U);
}

// States in inputs and outputs of the functions take the same operation.
TEST_P(RecurrentPackages, InTensorsGiveTheBitsOfStates) {
  const std::string tiny =
      anemone::testing::source_path(std::string("tests/compiler/data/tiny/") + GetParam());
  const auto executor = api::make_executor({.threads = 2});
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  const TemporaryFolder folder;
  Answer answers[2];
  std::size_t states[2] = {};
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
        states[i] += count_fused((*model)->shard(s), function);
    answers[i] = run_greedily(*model, {3, 9, 4, 1, 5, 9, 2, 6, 5, 3, 5}, 6);
  }
  EXPECT_GT(states[0], 0U);
  EXPECT_EQ(states[0], states[1]);
  ASSERT_FALSE(answers[0].logits.empty());
  EXPECT_TRUE(answers[0].logits == answers[1].logits);
  EXPECT_EQ(answers[0].continuation, answers[1].continuation);
}

// Steps write every cache in tensors where the sequence has it, so that steps of several sequences
// are one batch.
TEST_P(RecurrentPackages, InTensorsAreInPlace) {
  CompileOptions options;
  options.context = 64;
  options.prefill = 8;
  options.form.recurrent = artifact::RecurrentForm::kTensors;
  options.form.cache = artifact::CacheForm::kReadOnly;
  const TemporaryFolder folder;
  const std::string tiny = std::string("tests/compiler/data/tiny/") + GetParam();
  ASSERT_TRUE(compile(anemone::testing::source_path(tiny), folder.file("a"), options).ok());
  const auto executor = api::make_executor({.threads = 2});
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  const auto loaded = engine::Model::load(folder.file("a"), **executor);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const engine::Model& model = **loaded;
  auto cache = engine::KvCache::make(model);
  ASSERT_TRUE(cache.ok()) << cache.status().message();
  const auto places = [&] {
    std::vector<const std::byte*> out;
    for (std::size_t package = 0; package < model.manifest().shards.size(); ++package)
      for (const exec::CacheBinding& binding : cache->bindings(package, 0, 1))
        if (binding.kind == exec::CacheBinding::Kind::kReplace)
          out.push_back(binding.cache->view().data);
    return out;
  };
  const auto before = places();
  EXPECT_FALSE(before.empty());
  engine::StepOutputs outputs = engine::make_outputs(model);
  const std::vector<std::int32_t> ids = {5, 9, 2, 7, 1, 8, 3, 6};
  for (const engine::FunctionPlan& plan : model.functions()) {
    SCOPED_TRACE(plan.function->name);
    engine::Bucket bucket(model, plan);
    bucket.set_width(bucket.max_width());
    const auto tokens = std::span(ids).first(static_cast<std::size_t>(plan.function->tokens));
    auto chunk = bucket.fill(0, tokens, cache->length(), 64, *cache, outputs);
    ASSERT_TRUE(chunk.ok()) << chunk.status().message();
    const Status status = engine::run_shards(model, plan, {&*chunk, 1});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(places(), before);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, RecurrentPackages,
                         ::testing::Values("lfm2", "lfm2_moe", "qwen3_next", "qwen3_5_text",
                                           "zaya"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace anemone::compiler::testing
