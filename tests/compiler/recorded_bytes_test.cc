// SPDX-License-Identifier: Apache-2.0
// The form blend-states stays what it was, whichever compiler built anemone: its programs and
// weights have the recorded hashes.
// After a change that is meant to change them, ANEMONE_RECORD=FILE writes the new ones.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "artifact/manifest.h"
#include "base/json.h"
#include "compiler/compiler.h"
#include "ir/text.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

constexpr const char* kRecorded = "tests/compiler/data/blend_states.json";

// Options that differ in what ends up in programs and weights.
std::map<std::string, CompileOptions> variants() {
  CompileOptions half;
  half.recipe.quant.scheme = quant::Scheme::kNone;
  CompileOptions exact = half;
  exact.precision = DType::kFp32;
  CompileOptions quantized = half;
  quantized.recipe.quant.scheme = quant::Scheme::kInt8Channel;
  quantized.recipe.quant.threshold = 0;
  quantized.prefill = 8;
  quantized.draft_width = 4;
  quantized.tiers = {16};
  quantized.form.head = artifact::HeadForm::kArgmax;
  return {{"fp16", half}, {"fp32", exact}, {"int8-channel with tiers", quantized}};
}

// One hash for the programs of all packages, as text without large constants, and for their
// weights.
std::string hash_of(const std::string& artifact) {
  const auto manifest = artifact::read_manifest(artifact);
  EXPECT_TRUE(manifest.ok()) << manifest.status().message();
  if (!manifest.ok()) return "";
  const TemporaryFolder folder;
  std::ofstream all(folder.file("all"), std::ios::binary);
  for (const artifact::FileEntry& file : manifest->files) {
    if (file.path.ends_with("weight.bin")) all << file.path << " " << file.sha256 << "\n";
    if (!file.path.ends_with(".mlmodel")) continue;
    const std::string package = file.path.substr(0, file.path.find('/'));
    const auto model = mlpackage::read_package(artifact + "/" + package);
    EXPECT_TRUE(model.ok()) << model.status().message();
    if (!model.ok()) return "";
    const std::string text = ir::print(model->program, {.max_elements = 64});
    // The first line names the syntax of the text, which is no part of the package; it was another
    // one when the hashes were recorded.
    all << package << "\nprogram(1.0)" << text.substr(std::min(text.find('\n'), text.size()));
  }
  all.close();
  const auto entry = artifact::describe_file(folder.path(), "all");
  EXPECT_TRUE(entry.ok()) << entry.status().message();
  return entry.ok() ? entry->sha256 : "";
}

TEST(RecordedBytes, OfBlendStatesAreTheSame) {
  const TemporaryFolder folder;
  Json hashes = Json::object();
  for (const Checkpoint& checkpoint : checkpoints_in_the_tree()) {
    for (const auto& [variant, options] : variants()) {
      const auto report = compile(checkpoint.path, folder.file("artifact"), options);
      ASSERT_TRUE(report.ok()) << checkpoint.name << ", " << variant << ": "
                               << report.status().message();
      hashes[checkpoint.name][variant] = hash_of(folder.file("artifact"));
    }
  }
  if (const char* path = std::getenv("ANEMONE_RECORD"); path != nullptr && *path != '\0') {
    std::ofstream(path) << hashes.dump(2) << "\n";
    GTEST_SKIP() << "recorded in " << path;
  }
  std::ifstream file(source_path(kRecorded));
  ASSERT_TRUE(file) << kRecorded;
  const Json recorded = Json::parse(file);
  ASSERT_EQ(hashes.size(), recorded.size());
  for (const auto& [checkpoint, by_variant] : recorded.items())
    for (const auto& [variant, hash] : by_variant.items())
      EXPECT_EQ(hashes[checkpoint][variant], hash) << checkpoint << ", " << variant;
}

}  // namespace
}  // namespace anemone::compiler::testing
