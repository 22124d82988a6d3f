// SPDX-License-Identifier: Apache-2.0
// MLPs that are wider than the chip takes, in split projections.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ane/form.h"
#include "compiler/compiler.h"
#include "probe/random_weights.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::TemporaryFolder;

class WideMlp : public ::testing::Test {
 protected:
  void make(std::int64_t width) {
    const probe::Sizes sizes = {
        .layers = 2, .hidden = 64, .intermediate = width, .heads = 2, .kv_heads = 1, .context = 32};
    ASSERT_TRUE(probe::write_random_config(model_.path(), sizes, std::nullopt).ok());
    ASSERT_TRUE(probe::write_random_weights(model_.path(), sizes, 7).ok());
  }
  Answer run(CompileOptions options, artifact::ProjectionForm projections) {
    options.form = ane::named_forms().front().form;
    options.form.projections = projections;
    auto loaded = compile_and_load({"wide", model_.path()}, out_.file("artifact"), options);
    return loaded == nullptr ? Answer() : run_greedily(std::move(loaded), {1, 5, 700, 3, 2}, 4);
  }
  // The laws about wide products that are broken.
  std::set<std::string> broken(artifact::ProjectionForm projections) {
    CompileOptions options = {.dry_run = true, .check = true};
    options.form = ane::named_forms().front().form;
    options.form.projections = projections;
    const auto report = compile(model_.path(), "unused", options);
    EXPECT_TRUE(report.ok()) << report.status().message();
    std::set<std::string> out;
    if (!report.ok()) return out;
    for (const ane::CheckedPackage& package : report->checked)
      for (const ane::Finding& finding : package.findings)
        if (finding.law->id.starts_with("wide-")) out.emplace(finding.law->id);
    return out;
  }

  const CompileOptions kExact = {.precision = DType::kFp32,
                                 .recipe = {.quant = {.scheme = quant::Scheme::kNone}}};
  TemporaryFolder model_;
  TemporaryFolder out_;
};

using enum artifact::ProjectionForm;

// Gate and up are products of their own, with the sums of the whole.
TEST_F(WideMlp, GateAndUpApartGiveTheSameBits) {
  make(10'240);
  EXPECT_EQ(broken(kWhole), std::set<std::string>{"wide-output"});
  EXPECT_EQ(broken(kSplit), std::set<std::string>());
  CompileOptions quantized;
  quantized.recipe.quant.scheme = quant::Scheme::kInt8Channel;
  for (const CompileOptions& options : {kExact, quantized}) {
    const Answer whole = run(options, kWhole);
    ASSERT_FALSE(whole.logits.empty());
    const Answer split = run(options, kSplit);
    EXPECT_TRUE(split.logits == whole.logits);
    EXPECT_EQ(split.continuation, whole.continuation);
  }
}

// Sums over ranges of the channels are added up: in fp32 the order of 20,480 terms changes.
TEST_F(WideMlp, RangesOfChannelsAddUpToTheWhole) {
  make(20'480);
  EXPECT_EQ(broken(kWhole), (std::set<std::string>{"wide-input", "wide-output"}));
  EXPECT_EQ(broken(kSplit), std::set<std::string>());
  const Answer whole = run(kExact, kWhole);
  const Answer split = run(kExact, kSplit);
  ASSERT_FALSE(whole.logits.empty());
  ASSERT_EQ(split.logits.size(), whole.logits.size());
  const auto largest = std::ranges::max(whole.logits, {}, [](float x) { return std::abs(x); });
  // Each of the two ways is within sqrt(n) roundings of the exact sum in the mean: 143 * 6e-8.
  const float allowed = std::abs(largest) * 2 * 143 * 6e-8F;
  for (std::size_t i = 0; i < whole.logits.size(); ++i)
    ASSERT_NEAR(split.logits[i], whole.logits[i], allowed) << i;
  EXPECT_EQ(split.continuation, whole.continuation);
}

}  // namespace
}  // namespace anemone::compiler::testing
