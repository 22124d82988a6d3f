// SPDX-License-Identifier: Apache-2.0
// What the compiler leaves on the disk.
#include <filesystem>
#include <gtest/gtest.h>
#include <map>

#include "artifact/manifest.h"
#include "base/file.h"
#include "compiler/compiler.h"
#include "mlpackage/package_reader.h"
#include "mlpackage/package_writer.h"
#include "ops/registry.h"
#include "tests/compiler/golden.h"
#include "tests/support/folder_bytes.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

namespace fs = std::filesystem;
using anemone::testing::files_in;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

std::string tiny(const std::string& name) {
  return source_path("tests/compiler/data/tiny/" + name);
}

std::string message(const Result<CompileReport>& report) {
  return report.ok() ? "" : report.status().message();
}

// Every form that the options can give. Each recipe comes in both precisions and with both kinds of
// functions: how weights are stored does not depend on which go together.
std::vector<CompileOptions> forms() {
  std::vector<CompileOptions> all;
  for (const DType precision : {DType::kFp16, DType::kFp32})
    for (std::size_t i = 0; i < recipe_names().size(); ++i) {
      const bool is_single = (i % 2 == 0) == (precision == DType::kFp16);
      CompileOptions options;
      options.precision = precision;
      options.recipe = *parse_recipe(recipe_names()[i]);
      options.recipe.quant.threshold = 0;  // the tiny matrices too
      options.prefill = is_single ? 1 : 64;
      options.draft_width = is_single ? 0 : 4;
      options.packages.layers = is_single ? "3" : "auto";
      all.push_back(options);
    }
  for (const DType precision : {DType::kFp16, DType::kFp32})
    for (const bool is_float : {false, true}) {
      CompileOptions options;
      options.precision = precision;
      options.recipe.quant.scheme = is_float ? quant::Scheme::kNone : quant::Scheme::kInt8;
      options.recipe.quant.threshold = 0;
      options.prefill = 8;
      options.tiers = {4, 16, 32};
      options.form.layout = is_float ? artifact::HiddenLayout::kTokensInWidth
                                     : artifact::HiddenLayout::kTokensInHeight;
      all.push_back(options);
      options.range_dim = true;
      if (is_float) options.form.head = artifact::HeadForm::kArgmax;
      all.push_back(options);
    }
  return all;
}

TEST(Compile, GivesTheSameBytesWithAnyNumberOfThreads) {
  const TemporaryFolder folder;
  for (CompileOptions options : forms()) {
    options.threads = 1;
    ASSERT_EQ(message(compile(tiny("llama"), folder.file("one"), options)), "");
    options.threads = 5;
    ASSERT_EQ(message(compile(tiny("llama"), folder.file("many"), options)), "");
    EXPECT_TRUE(files_in(folder.file("one")) == files_in(folder.file("many")));
  }
}

TEST(Compile, WritesPackagesThatReadAndWriteToTheSameBytes) {
  const TemporaryFolder folder;
  const std::vector<CompileOptions> all = forms();
  const char* const names[] = {"qwen2", "llama", "mistral", "qwen3", "smollm3"};
  for (std::size_t n = 0; n < std::size(names); ++n)
    // Each form with one architecture: how weights are stored does not depend on it.
    for (std::size_t form = n; form < all.size(); form += std::size(names)) {
      const char* name = names[n];
      const CompileOptions& options = all[form];
      SCOPED_TRACE(name);
      ASSERT_EQ(message(compile(tiny(name), folder.file("artifact"), options)), "");
      for (const auto& entry : fs::directory_iterator(folder.file("artifact"))) {
        if (entry.path().extension() != ".mlpackage") continue;
        SCOPED_TRACE(entry.path());
        auto model = mlpackage::read_package(entry.path().string());
        ASSERT_TRUE(model.ok()) << model.status().message();
        mlpackage::WriteOptions write;
        write.registry = &ops::op_registry();
        const std::string copy = folder.file("copy.mlpackage");
        const auto written = mlpackage::write_package(*model, copy, write);
        ASSERT_TRUE(written.ok()) << written.status().message();
        EXPECT_TRUE(files_in(entry.path().string()) == files_in(copy));
        fs::remove_all(copy);
      }
    }
}

TEST(Compile, ListsEveryFileWithItsHash) {
  const TemporaryFolder folder;
  const std::string output = folder.file("artifact");
  ASSERT_EQ(message(compile(tiny("qwen3"), output, {})), "");
  const auto manifest = artifact::read_manifest(output);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_TRUE(artifact::check_files(output, *manifest, true).ok());
  std::map<std::string, std::string> files = files_in(output);
  files.erase(std::string(artifact::kManifestName));
  ASSERT_EQ(files.size(), manifest->files.size());
  for (const artifact::FileEntry& entry : manifest->files) {
    ASSERT_TRUE(files.contains(entry.path)) << entry.path;
    EXPECT_EQ(files[entry.path].size(), entry.bytes);
  }
  EXPECT_EQ(manifest->eos_ids, std::vector<std::int32_t>{1});
  EXPECT_EQ(manifest->vocab_size, 53);
  EXPECT_EQ(manifest->context, 64) << "clamped to the model's maximum";
}

TEST(Compile, DryRunSaysWhatIsWrittenAndWritesNothing) {
  const TemporaryFolder folder;
  for (CompileOptions options : forms()) {
    const auto written = compile(tiny("llama"), folder.file("artifact"), options);
    ASSERT_EQ(message(written), "");
    options.dry_run = true;
    const auto planned = compile(tiny("llama"), folder.file("later"), options);
    ASSERT_EQ(message(planned), "");
    EXPECT_FALSE(fs::exists(folder.file("later")));
    EXPECT_TRUE(planned->is_dry_run);
    EXPECT_EQ(planned->manifest.functions.size(), written->manifest.functions.size());
    ASSERT_EQ(planned->packages.size(), written->packages.size());
    for (std::size_t i = 0; i < planned->packages.size(); ++i) {
      EXPECT_EQ(planned->packages[i].name, written->packages[i].name);
      // A package has its program and norms beside the weights that the plan counts.
      EXPECT_LE(planned->packages[i].bytes, written->packages[i].bytes);
      EXPECT_GT(planned->packages[i].bytes, 0U);
    }
  }
}

TEST(Compile, DryRunFindsAMissingTensor) {
  const TemporaryFolder folder;
  const std::string model = folder.file("model");
  fs::copy(tiny("qwen3"), model);
  fs::copy(tiny("qwen2") + "/model.safetensors", model + "/model.safetensors",
           fs::copy_options::overwrite_existing);
  CompileOptions options;
  options.dry_run = true;
  const auto failed = compile(model, folder.file("artifact"), options);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.status().message().find("model.layers.0"), std::string::npos)
      << failed.status().message();
}

TEST(Compile, ReplacesAnArtifactAndNothingElse) {
  const TemporaryFolder folder;
  const std::string output = folder.file("artifact");
  ASSERT_EQ(message(compile(tiny("qwen3"), output, {})), "");
  ASSERT_EQ(message(compile(tiny("mistral"), output, {})), "");
  EXPECT_EQ(artifact::read_manifest(output)->model_type, "mistral");

  const std::string other = folder.file("letters");
  ASSERT_TRUE(fs::create_directory(other));
  ASSERT_TRUE(write_file(other + "/dear.txt", "Dear").ok());
  const auto refused = compile(tiny("qwen3"), other, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kInvalidArgument) << refused.status().message();
  EXPECT_EQ(files_in(other).size(), 1U);
}

TEST(Compile, LeavesNothingBehindWhenItFails) {
  const TemporaryFolder folder;
  const std::string model = folder.file("model");
  fs::copy(tiny("qwen3"), model);
  // One tensor short: found when its turn comes, after files were written.
  fs::copy(tiny("qwen2") + "/model.safetensors", model + "/model.safetensors",
           fs::copy_options::overwrite_existing);
  const auto failed = compile(model, folder.file("artifact"), {});
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.status().message().find("model.layers.0"), std::string::npos)
      << failed.status().message();
  std::size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.path().string(), model);
    ++entries;
  }
  EXPECT_EQ(entries, 1U);
}

}  // namespace
}  // namespace anemone::compiler::testing
