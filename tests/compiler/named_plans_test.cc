// SPDX-License-Identifier: Apache-2.0
// The packages of the plans that others ran (ane/package_plan.h), from the config.json of each
// model.
#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "ane/form.h"
#include "compiler/compiler.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::source_path;

struct Planned {
  std::vector<std::string> packages;
  std::vector<std::string> notes;

  std::size_t count(const std::string& prefix) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        packages, [&](const std::string& name) { return name.starts_with(prefix); }));
  }
  bool has(const std::string& name) const {
    return std::ranges::find(packages, name) != packages.end();
  }
  bool notes_contain(const std::string& text) const {
    return std::ranges::any_of(
        notes, [&](const std::string& note) { return note.find(text) != std::string::npos; });
  }
};

// As the documents wrote them: int8 with one scale, caches as states, one output for each head.
Planned planned(const std::string& shape, const std::string& plan, bool has_packs = false) {
  CompileOptions options = {.prefill = 1, .dry_run = true};
  options.recipe = *parse_recipe("int8");
  options.form = *ane::read_form("blend-states");
  if (has_packs) options.form.experts = artifact::ExpertsForm::kPacks;
  options.packages = *ane::read_plan(plan);
  const auto report =
      compile(source_path("tests/compiler/data/shapes/" + shape), "unused", options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  Planned out;
  if (!report.ok()) return out;
  for (const auto& package : report->packages) out.packages.push_back(package.name);
  out.notes = report->notes;
  return out;
}

TEST(NamedPlans, OfPhi4Mini) {
  const Planned fast = planned("phi-4-mini", "phi-4-mini-20-4-6-2");
  for (const char* name : {"layers_00_19.mlpackage", "layers_20_23.mlpackage",
                           "layers_24_29.mlpackage", "layers_30_31.mlpackage"})
    EXPECT_TRUE(fast.has(name)) << name;
  EXPECT_EQ(fast.count("layers_"), 4U);
  EXPECT_EQ(fast.count("head_"), 4U);
  EXPECT_TRUE(fast.notes_contain("3 of 4 packages have more than the 250 MB or 16 layers"));
  const Planned even = planned("phi-4-mini", "phi-4-mini-11x3");
  EXPECT_EQ(even.count("layers_"), 11U);
  EXPECT_TRUE(even.has("layers_30_31.mlpackage"));
}

TEST(NamedPlans, OfHyMt) {
  const Planned plan = planned("hy-mt-1.8b", "hy-mt-6x5");
  EXPECT_EQ(plan.count("layers_"), 7U);
  EXPECT_TRUE(plan.has("layers_25_29.mlpackage"));
  EXPECT_EQ(plan.count("head_"), 2U);
  EXPECT_FALSE(plan.notes_contain("packages have more than"));
}

TEST(NamedPlans, OfOnePackage) {
  const Planned plan = planned("phi-4-mini", "one-package");
  EXPECT_EQ(plan.packages, std::vector<std::string>{"layers_00_31.mlpackage"});
  EXPECT_TRUE(plan.notes_contain("1 of 1 packages have more than the 250 MB or 16 layers"));
}

TEST(NamedPlans, OfModelsWithExperts) {
  const Planned zaya = planned("zaya1-8b", "zaya1-by-layer");
  EXPECT_EQ(zaya.count("layers_"), zaya.packages.size() - 3);
  EXPECT_EQ(zaya.count("head_"), 3U);
  // Two halves in each of the 22 layers that have experts.
  EXPECT_EQ(planned("lfm2.5-8b-a1b", "lfm2-halves", true).count("experts_"), 44U);
  EXPECT_EQ(planned("gemma-4-26b-a4b", "gemma-4-8-packs", true).count("experts_"), 30U * 8);
  EXPECT_EQ(planned("privacy-filter", "privacy-filter-packs", true).count("experts_"), 1024U);
}

// What a dry run says of packages of at most so many bytes.
compiler::CompileReport sized(const std::string& shape, const std::string& size, bool has_packs) {
  CompileOptions options = {.prefill = 1, .dry_run = true};
  options.recipe = *parse_recipe("int8");
  options.form = *ane::read_form("portable");
  if (has_packs) options.form.experts = artifact::ExpertsForm::kPacks;
  options.packages = ane::plan_of_shards(size);
  auto report = compile(source_path("tests/compiler/data/shapes/" + shape), "unused", options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? *std::move(report) : compiler::CompileReport();
}

TEST(SizeOfPackages, HoldsForLayersAndHeads) {
  const compiler::CompileReport report = sized("phi-4-mini", "150MB", false);
  for (const auto& package : report.packages)
    EXPECT_LE(package.bytes, 150'000'000U) << package.name;
  EXPECT_EQ(report.manifest.head_packages().size(), 5U);  // of 615 MB
  for (const std::string& note : report.notes)
    EXPECT_EQ(note.find("more than 150"), std::string::npos) << note;
}

// One line, before any work.
TEST(SizeOfPackages, IsRefusedWhereTheHeadWouldTakeThousands) {
  CompileOptions options = {.prefill = 1, .dry_run = true};
  options.recipe = *parse_recipe("int8");
  options.packages = ane::plan_of_shards("1KB");
  const auto report =
      compile(source_path("tests/compiler/data/shapes/phi-4-mini"), "unused", options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(report.status().message(),
            "[--shards, --plan] expected at most 1024 heads for a vocabulary of 200064, got 6252 "
            "of about 32 rows");
}

TEST(SizeOfPackages, IsExplainedWhereItCannotHold) {
  const auto note_of = [](const compiler::CompileReport& report) {
    const auto note = std::ranges::find_if(
        report.notes, [](const std::string& each) { return each.starts_with("the package of "); });
    return note == report.notes.end() ? std::string() : *note;
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  // A layer of 100.7 MB; the heads keep to the size.
  const compiler::CompileReport dense = sized("phi-4-mini", "100MB", false);
  contains(note_of(dense), "the package of layers 0-0 has 100.7 MB, more than 100.0 MB: a layer ");
  contains(note_of(dense), "; 31 more packages are larger, too");
  for (const auto& package : dense.packages) {
    const bool is_head = package.name.starts_with("head_");
    EXPECT_TRUE(!is_head || package.bytes <= 100'000'000U) << package.name;
  }
  contains(note_of(sized("privacy-filter", "1KB", true)), "more than 1.00 kB");
}

}  // namespace
}  // namespace anemone::compiler::testing
