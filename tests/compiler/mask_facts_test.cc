// SPDX-License-Identifier: Apache-2.0
// No step of our packages needs a mask tensor on the fast path: what a step costs follows the
// tokens that are there, not the context that the package was compiled for.
#include <gtest/gtest.h>

#include "api/executors.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

class MaskFacts : public ::testing::TestWithParam<Checkpoint> {
 protected:
  // Masks of all functions: those that are facts, and the names of functions with tensors.
  void expect_all_facts(const CompileOptions& options, bool are_facts, const std::string& isa) {
    const std::string folder = folder_.file("artifact");
    ASSERT_NE(compile_and_load(GetParam(), folder, options), nullptr);
    auto executor = api::make_executor({.threads = 2, .isa = isa});
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    const auto model = engine::Model::load(folder, **executor);
    ASSERT_TRUE(model.ok()) << model.status().message();
    std::size_t masks = 0;
    for (const engine::FunctionPlan& plan : (*model)->functions())
      for (const engine::HostInput& input : plan.host_inputs) {
        if (!engine::is_mask(input)) continue;
        ++masks;
        EXPECT_EQ(input.is_fact, are_facts)
            << plan.function->name << ": " << artifact::port_role_name(input.role);
      }
    EXPECT_GE(masks, (*model)->functions().size());
  }
  TemporaryFolder folder_;
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

// Layers that attend to the cache of another one are fused, too.
TEST_P(MaskFacts, OfReadOnlyCaches) {
  CompileOptions options;
  options.context = 64;
  options.prefill = 16;
  options.form.cache = artifact::CacheForm::kReadOnly;
  expect_all_facts(options, true, "");
  options.tiers = {24};
  expect_all_facts(options, true, "");
}

INSTANTIATE_TEST_SUITE_P(, MaskFacts, ::testing::ValuesIn(checkpoints_in_the_tree()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace anemone::compiler::testing
