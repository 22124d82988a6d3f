// SPDX-License-Identifier: Apache-2.0
// What a dry run finds in the packages that it plans is what `check` finds in them once they are
// written.
#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "ane/check.h"
#include "ane/form.h"
#include "base/file.h"
#include "base/json.h"
#include "compiler/compiler.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;
using Findings = std::vector<std::string>;

Findings findings_of(const ane::CheckedPackage& package) {
  Findings out;
  for (const ane::Finding& finding : package.findings)
    out.push_back(fmt::format("{}: {} {} {} {}: {}", package.name, finding.law->id,
                              ane::place_kind_name(finding.place.kind), finding.place.function,
                              finding.place.name, finding.found));
  return out;
}

// The layers of each package, by name.
std::map<std::string, std::int64_t> layers_of(const artifact::Manifest& manifest) {
  std::map<std::string, std::int64_t> out;
  for (const artifact::Shard& shard : manifest.shards) {
    out[shard.package] = shard.layers.end - shard.layers.begin;
    if (!shard.experts) continue;
    for (const artifact::ExpertPack& pack : shard.experts->packs) out[pack.package] = 1;
  }
  return out;
}

class DryRunCheck : public ::testing::TestWithParam<Checkpoint> {};

TEST_P(DryRunCheck, FindsWhatTheWrittenPackagesHave) {
  std::vector<CompileOptions> forms(5);
  forms[1].recipe = *parse_recipe("int4-block");
  forms[1].recipe.quant.threshold = 0;
  forms[1].tiers = {16};
  forms[1].packages.layers = "2";
  forms[2].range_dim = true;
  forms[1].form.cache = artifact::CacheForm::kReadOnly;
  forms[3].form.cache = artifact::CacheForm::kSlice;
  forms[3].packages = ane::plan_of_shards("6KB");
  forms[4].form.cache = artifact::CacheForm::kGrowing;
  if (has_experts(GetParam())) forms[2].form.experts = artifact::ExpertsForm::kPacks;
  for (CompileOptions options : forms) {
    SCOPED_TRACE(describe_options(options));
    options.context = 64;
    options.prefill = 16;
    const TemporaryFolder folder;
    const std::string output = folder.file("artifact");
    const auto written = compile(GetParam().path, output, options);
    options.dry_run = true;
    options.check = true;
    const auto planned = compile(GetParam().path, output, options);
    ASSERT_TRUE(written.ok()) << written.status().message();
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    EXPECT_TRUE(written->checked.empty());
    ASSERT_EQ(planned->checked.size(), written->packages.size());
    std::size_t found = 0;
    for (std::size_t i = 0; i < planned->checked.size(); ++i) {
      const std::string& name = written->packages[i].name;
      const auto model = mlpackage::read_package(output + "/" + name);
      ASSERT_TRUE(model.ok()) << model.status().message();
      const auto layers = layers_of(written->manifest);
      const auto known = layers.find(name);
      const ane::CheckedPackage expected =
          ane::check_package(name, *model, known == layers.end() ? 0 : known->second);
      EXPECT_EQ(planned->checked[i].name, name);
      ASSERT_EQ(planned->checked[i].functions.size(), expected.functions.size());
      for (std::size_t f = 0; f < expected.functions.size(); ++f) {
        const ane::PlacedFunction& before = planned->checked[i].functions[f];
        const ane::PlacedFunction& after = expected.functions[f];
        EXPECT_EQ(before.name, after.name);
        EXPECT_EQ(before.operations.size(), after.operations.size());
        EXPECT_EQ(before.count(ane::Device::kCpu), after.count(ane::Device::kCpu));
        EXPECT_EQ(before.weight_bytes, after.weight_bytes);
        EXPECT_EQ(before.multiplications(), after.multiplications());
      }
      EXPECT_EQ(findings_of(planned->checked[i]), findings_of(expected));
      found += expected.findings.size();
    }
    EXPECT_GT(found, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(, DryRunCheck, ::testing::ValuesIn(checkpoints_with_every_block()),
                         [](const auto& info) { return info.param.name; });

// Packages in which a dry run finds that a law is broken.
std::set<std::string> packages_that_break(const std::string& law, const std::string& model) {
  const auto report = compile(model, "unused", {.context = 64, .dry_run = true, .check = true});
  EXPECT_TRUE(report.ok()) << report.status().message();
  std::set<std::string> out;
  if (!report.ok()) return out;
  for (const ane::CheckedPackage& package : report->checked)
    for (const ane::Finding& finding : package.findings)
      if (finding.law->id == law) out.insert(package.name);
  return out;
}

TEST(DryRunCheckOfVocabularies, FlagsHeadsThatAreTooWide) {
  const auto with_vocabulary = [](std::int64_t size) {
    const TemporaryFolder folder;
    auto json = read_json_file(source_path("tests/compiler/data/tiny/qwen2/config.json"));
    EXPECT_TRUE(json.ok());
    (*json)["vocab_size"] = size;
    EXPECT_TRUE(write_file(folder.file("config.json"), dump_json(*json)).ok());
    return packages_that_break("wide-output", folder.path());
  };
  EXPECT_EQ(with_vocabulary(16'384), std::set<std::string>());
  EXPECT_EQ(with_vocabulary(151'936),
            (std::set<std::string>{"head_0.mlpackage", "head_1.mlpackage", "head_2.mlpackage"}));
}

TEST(DryRunCheckOfVocabularies, FlagsTheHeadsOfRealShapes) {
  const std::set<std::string> found =
      packages_that_break("wide-output", source_path("tests/compiler/data/shapes/qwen2.5-7b"));
  EXPECT_TRUE(found.contains("head_0.mlpackage"));
}

// Shapes of published models, and what breaks in each with states and weights of 8 bits, or the
// blocks of MXFP4: the faults that others measured on such packages.
struct PublishedShape {
  const char* path;
  const char* quant;
  std::set<std::string> broken_by_states;
  std::set<std::string> broken_by_portable = {};
};
const PublishedShape kPublishedShapes[] = {
    {"tests/compiler/data/shapes/gemma-4-26b-a4b",
     "int8",
     {"dma-notch-quantized", "element-type", "narrow-axis", "wide-output"},
     {"element-type", "narrow-axis"}},
    {"tests/compiler/data/shapes/gemma-4-e4b",
     "int8",
     {"dma-notch-quantized", "many-states", "narrow-axis", "state-shapes", "wide-output"}},
    {"tests/compiler/data/shapes/gpt-oss-20b",
     "keep",
     {"block-scales", "dma-notch-quantized", "element-type", "narrow-axis", "wide-output"},
     {"element-type", "narrow-axis"}},
    {"tests/compiler/data/shapes/hy-mt-1.8b",
     "int8",
     {"many-states", "narrow-axis", "wide-output"}},
    {"tests/compiler/data/shapes/lfm2.5-8b-a1b",
     "int8",
     {"depthwise-conv", "element-type", "many-states", "narrow-axis", "state-shapes", "state-width",
      "wide-output"},
     {"element-type", "narrow-axis"}},
    {"tests/compiler/data/shapes/phi-4-mini",
     "int8",
     {"dma-notch-quantized", "many-states", "narrow-axis", "wide-output"}},
    {"tests/compiler/data/shapes/privacy-filter",
     "int8",
     {"element-type", "large-select", "many-operations", "narrow-axis"},
     {"element-type"}},
    {"tests/compiler/data/shapes/qwen2.5-7b",
     "int8",
     {"dma-notch-quantized", "narrow-axis", "wide-input", "wide-output"}},
    {"tests/compiler/data/shapes/zaya1-8b",
     "int8",
     {"depthwise-conv", "element-type", "many-states", "narrow-axis", "state-shapes", "state-width",
      "wide-output"},
     {"element-type", "narrow-axis"}},
    {"bench/shapes/qwen3.5-0.8b",
     "int8",
     {"depthwise-conv", "many-operations", "many-states", "narrow-axis", "softplus", "state-shapes",
      "state-width", "wide-output"},
     {"narrow-axis"}}};

// But notes, and what is said of small packages: what is left over beside large ones, and the norm
// of `embed`, may well be on the CPU.
std::set<std::string> laws_broken_by(const std::string& path, const char* form, Recipe recipe) {
  CompileOptions options = {
      .recipe = std::move(recipe), .prefill = 0, .dry_run = true, .check = true};
  options.form = *ane::read_form(form);
  const auto report = compile(source_path(path), "unused", options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  std::set<std::string> out;
  if (!report.ok()) return out;
  for (const ane::CheckedPackage& package : report->checked)
    for (const ane::Finding& finding : package.findings)
      if (finding.severity != ane::Severity::kNote) out.emplace(finding.law->id);
  out.erase("small-package");
  out.erase("tiny-function");
  return out;
}

// Experts are chosen by comparing the scores of all pairs of them; they, and recurrent layers, have
// short last axes at their borders.
TEST(DryRunCheckOfPublishedShapes, FindsLittleInPortable) {
  for (const PublishedShape& shape : kPublishedShapes)
    EXPECT_EQ(laws_broken_by(shape.path, "portable", *parse_recipe("auto", Processor::kAne)),
              shape.broken_by_portable)
        << shape.path;
}

// What streams slowly in fp16, the default form but for `notch`: products of experts and others.
struct SlowProducts {
  bool experts = false;
  bool others = false;
};

SlowProducts slow_products(const std::string& path, artifact::NotchForm notch) {
  CompileOptions options = {.prefill = 0, .dry_run = true, .check = true};
  options.recipe.quant.scheme = quant::Scheme::kNone;
  options.form = ane::named_forms().front().form;
  options.form.notch = notch;
  const auto report = compile(source_path(path), "unused", options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  SlowProducts out;
  if (!report.ok()) return out;
  for (const ane::CheckedPackage& package : report->checked)
    for (const ane::Finding& finding : package.findings) {
      if (finding.law->id != "dma-notch") continue;
      (finding.place.name.find("_experts_") == std::string::npos ? out.others : out.experts) = true;
    }
  return out;
}

// Gate and up are slow together (Qwen3), by themselves and so is down (Llama), or one of these.
TEST(DryRunCheckOfPublishedShapes, FindsNoSlowProductsOfFp16InPortable) {
  for (const char* name : {"llama-3.2-1b", "phi-4-mini", "qwen3-1.7b", "hy-mt-1.8b"}) {
    SCOPED_TRACE(name);
    const std::string path = std::string("tests/compiler/data/shapes/") + name;
    EXPECT_TRUE(slow_products(path, artifact::NotchForm::kIgnored).others);
    EXPECT_FALSE(slow_products(path, artifact::NotchForm::kAvoided).others);
  }
  // Experts stay whole, since executors find the active ones by the form of their products.
  std::set<std::string> with_slow_experts;
  for (const PublishedShape& shape : kPublishedShapes) {
    const SlowProducts slow = slow_products(shape.path, artifact::NotchForm::kAvoided);
    EXPECT_FALSE(slow.others) << shape.path;
    if (slow.experts) with_slow_experts.insert(shape.path);
  }
  EXPECT_EQ(with_slow_experts, (std::set<std::string>{"tests/compiler/data/shapes/gpt-oss-20b",
                                                      "tests/compiler/data/shapes/zaya1-8b"}));
}

TEST(DryRunCheckOfPublishedShapes, NamesWhatIsWrongWithStates) {
  for (const PublishedShape& shape : kPublishedShapes)
    EXPECT_EQ(laws_broken_by(shape.path, "blend-states", *parse_recipe(shape.quant)),
              shape.broken_by_states)
        << shape.path;
}

// Gemma 4 has caches of two shapes, and all but the last have layers that are cut among experts, so
// that packages hold the end of one layer and the begin of the next.
TEST(DryRunCheckOfPublishedShapes, FindsNothingRefusedInSliceStates) {
  for (const char* name : {"gemma-4-26b-a4b", "gpt-oss-20b", "zaya1-8b", "gemma-4-e4b"}) {
    CompileOptions options = {.prefill = 0, .dry_run = true, .check = true};
    options.recipe = *parse_recipe("auto", Processor::kAne);
    options.form = *ane::read_form("slice-states");
    const auto report =
        compile(source_path(std::string("tests/compiler/data/shapes/") + name), "unused", options);
    ASSERT_TRUE(report.ok()) << name << ": " << report.status().message();
    for (const ane::CheckedPackage& package : report->checked)
      for (const ane::Finding& finding : package.findings)
        EXPECT_NE(finding.severity, ane::Severity::kRefused)
            << name << " " << package.name << ": " << finding.law->id;
  }
}

}  // namespace
}  // namespace anemone::compiler::testing
