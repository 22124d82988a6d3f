// SPDX-License-Identifier: Apache-2.0
// What a dry run says: the same with weights and from a config.json alone, also for models that no
// test could hold.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ane/form.h"
#include "ane/limits.h"
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/json.h"
#include "compiler/compiler.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

const CompileOptions kPlanned = {.context = 64, .dry_run = true};

class Planning : public ::testing::TestWithParam<Checkpoint> {};

TEST_P(Planning, FromTheConfigAloneSaysWhatTheWeightsSay) {
  if (!is_present(GetParam())) GTEST_SKIP() << "absent: " << GetParam().path;
  const TemporaryFolder folder;
  for (const char* name : {"config.json", "generation_config.json"})
    if (std::filesystem::exists(GetParam().path + "/" + name))
      std::filesystem::copy_file(GetParam().path + "/" + name, folder.file(name));
  const auto whole = compile(GetParam().path, "unused", kPlanned);
  const auto planned = compile(folder.path(), "unused", kPlanned);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  ASSERT_TRUE(planned.ok()) << planned.status().message();
  ASSERT_EQ(planned->packages.size(), whole->packages.size());
  for (std::size_t i = 0; i < whole->packages.size(); ++i) {
    EXPECT_EQ(planned->packages[i].name, whole->packages[i].name);
    EXPECT_EQ(planned->packages[i].bytes, whole->packages[i].bytes);
  }
  ASSERT_EQ(planned->weights.size(), whole->weights.size());
  for (std::size_t i = 0; i < whole->weights.size(); ++i) {
    EXPECT_EQ(planned->weights[i].name, whole->weights[i].name);
    EXPECT_EQ(planned->weights[i].bytes, whole->weights[i].bytes);
  }
  EXPECT_EQ(planned->total_bytes, whole->total_bytes);
  EXPECT_EQ(planned->cache_bytes, whole->cache_bytes);
  EXPECT_EQ(planned->source_bytes, 0U);
  EXPECT_EQ(planned->manifest.shards.size(), whole->manifest.shards.size());
  EXPECT_FALSE(std::filesystem::exists("unused"));
}

INSTANTIATE_TEST_SUITE_P(, Planning, ::testing::ValuesIn(checkpoints_in_the_tree()),
                         [](const auto& info) { return info.param.name; });

// A tiny configuration with some keys changed.
Status plan_changed(const std::string& name, const Json& changes, const CompileOptions& options) {
  auto json = read_json_file(source_path("tests/compiler/data/tiny/" + name + "/config.json"));
  if (!json.ok()) return json.status();
  json->update(changes);
  const TemporaryFolder folder;
  const Status written = write_file(folder.file("config.json"), dump_json(*json));
  if (!written.ok()) return written;
  return compile(folder.path(), "unused", options).status();
}

TEST(PlanningOfChanges, SaysWhyLayersThatShareKeysHaveNoPacks) {
  CompileOptions packs = kPlanned;
  packs.form.experts = artifact::ExpertsForm::kPacks;
  EXPECT_TRUE(plan_changed("gemma4_moe", Json::object(), packs).ok());
  // The last of the two layers that attend to everything takes the keys of the other.
  const Json shared = {{"num_kv_shared_layers", 1}};
  EXPECT_TRUE(plan_changed("gemma4_moe", shared, kPlanned).ok());
  const Status refused = plan_changed("gemma4_moe", shared, packs);
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_NE(refused.message().find("share the keys of an earlier one"), std::string::npos)
      << refused.message();
}

// 128 layers of 1,024 experts, each above the size: alone and as parts of their layers.
TEST(PlanningOfChanges, RefusesAHundredThousandPackages) {
  const Json many = {
      {"num_hidden_layers", 128}, {"num_local_experts", 1024}, {"decoder_sparse_step", 1}};
  for (const auto experts : {artifact::ExpertsForm::kDense, artifact::ExpertsForm::kPacks}) {
    CompileOptions options = kPlanned;
    options.form.experts = experts;
    options.packages = ane::plan_of_shards("1KB");
    const Status refused = plan_changed("qwen3_moe", many, options);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_EQ(refused.message(),
              "[--shards, --plan] expected at most 65536 packages of layers and experts, got more");
  }
}

TEST(PlanningOfChanges, NamesTheQuantizationThatIsNotRead) {
  for (const auto& [config, name] :
       {std::pair<Json, const char*>{
            {{"quant_method", "compressed-tensors"}, {"format", "mxfp4-pack-quantized"}},
            "compressed-tensors (mxfp4-pack-quantized)"},
        {{{"quant_method", "modelopt"}, {"quant_algo", "NVFP4_AWQ"}}, "modelopt (NVFP4_AWQ)"},
        {{{"quant_method", "gptq"}, {"bits", 4}}, "of gptq:"}}) {
    const Status refused = plan_changed("qwen2", {{"quantization_config", config}}, kPlanned);
    EXPECT_EQ(refused.code(), Code::kUnsupported) << name;
    EXPECT_NE(refused.message().find(name), std::string::npos) << refused.message();
  }
}

TEST(PlanningOfChanges, SaysThatAConfigAloneDoesNotTellNvfp4Matrices) {
  auto json = read_json_file(source_path("tests/checkpoint/data/nvfp4/modelopt/config.json"));
  ASSERT_TRUE(json.ok()) << json.status().message();
  (*json)["quantization_config"] = {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}};
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("config.json"), dump_json(*json)).ok());
  const auto report = compile(folder.path(), "unused", kPlanned);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(std::ranges::any_of(report->notes, [](const std::string& note) {
    return note.starts_with("which matrices are NVFP4 is not known");
  }));
}

struct RealShape {
  const char* name;
  std::int64_t layers;
  std::size_t heads;       // packages of the vocabulary
  double gigabytes;        // at one byte a weight of a matrix, two of an embedding
  std::uint64_t kv_bytes;  // of a token
  const char* quant = "int8";
};

// Sizes by the numbers of the model, not by the code: layers x (matrices) + vocabulary x hidden.
const RealShape kRealShapes[] = {
    {"phi-4-mini", 32, 4, 5.07, 2 * 32 * 8 * 128 * 2},
    {"hy-mt-1.8b", 32, 2, 2.28, 2 * 32 * 4 * 128 * 2},
    {"qwen2.5-7b", 28, 3, 8.16, 2 * 28 * 4 * 128 * 2},
    {"lfm2.5-8b-a1b", 24, 2, 8.99, 2 * 6 * 8 * 64 * 2},
    // Convolutions and routers are floats.
    {"zaya1-8b", 40, 5, 9.88 + 0.05, 2 * 40 * 2 * 128 * 2},
    {"privacy-filter", 8, 1, 1.53, 0},
    // Experts of 19.11 G four-bit floats become int8 with an fp16 scale for each 32, the other
    // matrices stay 16 bits.
    {"gpt-oss-20b", 24, 5, 19.11 * (1 + 2.0 / 32) + 1.80 * 2, 2 * 24 * 8 * 64 * 2, "keep"},
    {"gemma-4-26b-a4b", 30, 4, 26.7, 2 * (25 * 8 * 256 + 5 * 2 * 512) * 2},
    // 18 layers share the keys and values of layers 22 and 23. Each package with some of them has a
    // copy: 9 packages, 3 of them with a layer that attends to everything.
    {"gemma-4-e4b", 42, 4, 11.6, 2 * ((20 + 9) * 2 * 256 + (4 + 3) * 2 * 512) * 2},
};

// The rule about products is one of the chip.
TEST(DefaultForm, OfTheCpuDiffersFromPortableInItsProductsAlone) {
  artifact::Form form = default_form(Processor::kCpu);
  EXPECT_FALSE(form.avoids_notch());
  form.notch = artifact::NotchForm::kAvoided;
  EXPECT_EQ(form, default_form(Processor::kAne));
  EXPECT_EQ(ane::name_of(form), "portable");
}

TEST(PlanningOfRealShapes, GivesShardsAndMemory) {
  for (const RealShape& shape : kRealShapes) {
    const auto report =
        compile(source_path(std::string("tests/compiler/data/shapes/") + shape.name), "unused",
                {.recipe = *parse_recipe(shape.quant), .context = 2048, .dry_run = true});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->manifest.layers, shape.layers) << shape.name;
    EXPECT_EQ(report->manifest.heads.size(), shape.heads) << shape.name;
    EXPECT_NEAR(static_cast<double>(report->total_bytes) / 1e9, shape.gigabytes, 0.05)
        << shape.name;
    // Recurrent states are a few columns beside.
    EXPECT_GE(report->cache_bytes, 2048 * shape.kv_bytes) << shape.name;
    EXPECT_LE(report->cache_bytes, 2048 * shape.kv_bytes * 102 / 100) << shape.name;
    // Layers of hundreds of megabytes are cut where an expert ends.
    for (const PackageReport& package : report->packages)
      EXPECT_LE(package.bytes, ane::kShardBytes) << shape.name << " " << package.name;
    EXPECT_TRUE(report->notes.size() == 1 && report->notes[0].starts_with("there are no weights"))
        << shape.name << ": " << report->notes.back();
  }
}

TEST(PlanningOfRealShapes, AFolderWithTorchFilesIsNotPlanned) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(source_path("tests/compiler/data/shapes/hy-mt-1.8b/config.json"),
                             folder.file("config.json"));
  EXPECT_TRUE(compile(folder.path(), "unused", kPlanned).ok());
  CompileOptions real = kPlanned;
  real.dry_run = false;
  EXPECT_FALSE(compile(folder.path(), folder.file("out"), real).ok());
  EXPECT_FALSE(std::filesystem::exists(folder.file("out")));
  ASSERT_TRUE(write_file(folder.file("pytorch_model.bin"), "x").ok());
  const auto refused = compile(folder.path(), "unused", kPlanned);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("torch"), std::string::npos);
}

}  // namespace
}  // namespace anemone::compiler::testing
