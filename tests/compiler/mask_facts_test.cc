// SPDX-License-Identifier: Apache-2.0
// No step of our packages needs a mask tensor on the fast path: what a step costs follows the
// tokens that are there, not the context that the package was compiled for.
#include <algorithm>
#include <gtest/gtest.h>

#include "exec/profile.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

class MaskFacts : public ::testing::TestWithParam<Checkpoint> {
 protected:
  // Masks of all functions: those that are facts, and the names of functions with tensors.
  void expect_all_facts(const CompileOptions& options, bool are_facts, const std::string& isa) {
    const auto model = load_model(compiled_folder(GetParam(), options), isa);
    ASSERT_NE(model, nullptr);
    std::size_t masks = 0;
    for (const engine::FunctionPlan& plan : model->functions())
      for (const engine::HostInput& input : plan.host_inputs) {
        if (!engine::is_mask(input)) continue;
        ++masks;
        EXPECT_EQ(input.is_fact, are_facts)
            << plan.function->name << ": " << artifact::port_role_name(input.role);
      }
    EXPECT_GE(masks, model->functions().size());
  }
};

TEST_P(MaskFacts, OfEveryFunction) {
  if (GetParam().name == "tiny_gemma4_text")
    GTEST_SKIP() << "attention to the cache of another layer takes masks as tensors";
  CompileOptions options;
  options.context = 64;
  options.prefill = 16;
  expect_all_facts(options, true, "");
  expect_all_facts(options, false, "reference");
  options.range_dim = true;
  expect_all_facts(options, true, "");
  options.range_dim = false;
  options.tiers = {24};
  expect_all_facts(options, true, "");
}

// What is left of the work on caches beside attention, in all functions of the artifact.
std::vector<std::string> other_work_on_caches(const engine::Model& model) {
  std::vector<std::string> out;
  for (std::size_t s = 0; s < model.manifest().shards.size(); ++s) {
    const auto& caches = model.manifest().shards[s].caches;
    if (std::ranges::all_of(caches, &artifact::Cache::is_recurrent)) continue;
    const bool has_recurrent = std::ranges::any_of(caches, &artifact::Cache::is_recurrent);
    for (const artifact::Function& function : model.manifest().functions) {
      const auto steps = exec::explain(model.shard(s), function.name);
      EXPECT_TRUE(steps.ok()) << steps.status().message();
      if (!steps.ok()) continue;
      EXPECT_GT(std::ranges::count(*steps, "cached_attention", &exec::PlanStep::name), 0);
      for (const exec::PlanStep& step : *steps)
        if (step.name.starts_with("slice_update") ||
            (!has_recurrent && (step.name == "read_state" || step.name == "write_state")))
          out.push_back(step.operation);
    }
  }
  return out;
}

// Packed caches are attended to and written where they are, and nothing else is done with them.
TEST_P(MaskFacts, PackedCachesAreInPlace) {
  CompileOptions options;
  options.context = 64;
  options.prefill = 16;
  options.tiers = {24};
  options.form.cache = artifact::CacheForm::kSlice;
  const auto model = load_model(compiled_folder(GetParam(), options));
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(other_work_on_caches(*model), std::vector<std::string>());
}

// Layers that attend to the cache of another one are fused, too.
TEST_P(MaskFacts, OfReadOnlyAndPackedCaches) {
  for (const auto cache : {artifact::CacheForm::kReadOnly, artifact::CacheForm::kSlice}) {
    SCOPED_TRACE(static_cast<int>(cache));
    CompileOptions options;
    options.context = 64;
    options.prefill = 16;
    options.form.cache = cache;
    expect_all_facts(options, true, "");
    options.tiers = {24};
    expect_all_facts(options, true, "");
  }
}

TEST_P(MaskFacts, OfGrowingCaches) {
  CompileOptions options;
  options.context = 64;
  options.prefill = 16;
  options.form.cache = artifact::CacheForm::kGrowing;
  expect_all_facts(options, true, "");
}

INSTANTIATE_TEST_SUITE_P(, MaskFacts, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing
