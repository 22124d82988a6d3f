// SPDX-License-Identifier: Apache-2.0
#include "engine/model/model.h"

#include <functional>
#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/engine/fake_model.h"

namespace anemone::engine {
namespace {

using anemone::testing::TemporaryFolder;
using testing::FakeExecutor;
using testing::FakeOptions;

TEST(Model, LoadsEveryPackageAndSaysSo) {
  const TemporaryFolder folder;
  testing::write_fake_artifact(folder.path(), {});
  FakeExecutor executor(testing::fake_manifest({}));
  std::vector<std::string> seen;
  ModelLoadOptions options;
  options.on_progress = [&](std::size_t done, std::size_t total, std::string_view package) {
    EXPECT_EQ(done, seen.size());
    EXPECT_EQ(total, 4U);
    seen.emplace_back(package);
  };
  const auto model = Model::load(folder.path(), executor, options);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(seen, (std::vector<std::string>{"layers_0.mlpackage", "layers_1.mlpackage",
                                            "head_0.mlpackage", "head_1.mlpackage", ""}));
  EXPECT_EQ((*model)->tokenizer(), nullptr);
  EXPECT_FALSE((*model)->has_chat_template());
  EXPECT_EQ((*model)->context(), 200);
}

TEST(Model, FolderWithoutAManifestIsNotFound) {
  const TemporaryFolder folder;
  FakeExecutor executor(testing::fake_manifest({}));
  EXPECT_EQ(Model::load(folder.path(), executor).status().code(), Code::kNotFound);
}

TEST(Model, EmbeddingOfAnotherSizeIsCorrupt) {
  const TemporaryFolder folder;
  testing::write_fake_artifact(folder.path(), {});
  ASSERT_TRUE(write_file(folder.file("embedding.bin"), "short").ok());
  FakeExecutor executor(testing::fake_manifest({}));
  const Status status = Model::load(folder.path(), executor).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find(
                "expected 1600 bytes from byte 0 for 50 rows of 8 in fp32, got a file of 5 bytes"),
            std::string::npos)
      << status.message();
}

TEST(Model, ListedFileThatIsMissingIsCorrupt) {
  const TemporaryFolder folder;
  testing::write_fake_artifact(folder.path(), {});
  auto manifest = testing::fake_manifest({});
  manifest.files = {{"tokenizer.json", 10, std::string(64, '0')}};
  ASSERT_TRUE(artifact::write_manifest(folder.path(), manifest).ok());
  FakeExecutor executor(manifest);
  EXPECT_EQ(Model::load(folder.path(), executor).status().code(), Code::kCorrupt);
}

// The packages follow a manifest that was changed; the artifact has the original.
struct Mismatch {
  const char* name;
  std::function<void(artifact::Manifest&)> change;
  const char* message;
};

class PackageMismatch : public ::testing::TestWithParam<Mismatch> {};

TEST_P(PackageMismatch, IsCorruptAndNamesThePackage) {
  const TemporaryFolder folder;
  testing::write_fake_artifact(folder.path(), {});
  auto manifest = testing::fake_manifest({});
  GetParam().change(manifest);
  FakeExecutor executor(manifest);
  const Status status = Model::load(folder.path(), executor).status();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

using artifact::Manifest;
const Mismatch kMismatches[] = {
    {"FunctionMissing", [](Manifest& m) { m.functions[1].name = "t65"; },
     "[layers_0.mlpackage] expected a function \"t64\", got none of that name"},
    {"FunctionWidth", [](Manifest& m) { m.functions[1].tokens = 32; },
     "[layers_0.mlpackage] expected input \"hidden\" [1, 8, 64, 1], got [1, 8, 32, 1] (function "
     "t64)"},
    {"InputMissing", [](Manifest& m) { m.shards[1].inputs[1].name = "cosine"; },
     "[layers_1.mlpackage] expected input \"cos\" [1, 1, 1, 2], got none of that name"},
    {"InputExtra",
     [](Manifest& m) {
       m.shards[1].inputs.push_back({"more", artifact::PortRole::kRopeCos, "", 0});
     },
     "[layers_1.mlpackage] expected each input to be in the manifest, got \"more\""},
    {"Context", [](Manifest& m) { m.context = 100; },
     "[layers_0.mlpackage] expected input \"mask\" [1, 1, 1, 200], got [1, 1, 1, 100]"},
    {"CacheMissing", [](Manifest& m) { m.shards[0].caches[0].name = "key"; },
     "[layers_0.mlpackage] expected input \"k0\" [1, 1, 200, 4], got none of that name"},
    {"CacheIsState", [](Manifest& m) { m.shards[0].caches[1].output.clear(); },
     "[layers_0.mlpackage] expected input \"v0\" [1, 1, 200, 4], got none of that name"},
    {"CacheShape", [](Manifest& m) { m.shards[0].caches[0].shape[1] = 2; },
     "[layers_0.mlpackage] expected input \"k0\" [1, 1, 200, 4], got [1, 2, 200, 4]"},
    {"CachePrecision", [](Manifest& m) { m.precision = "fp16"; },
     "[layers_0.mlpackage] expected cache \"k0\" in fp32, got fp16"},
    {"OutputMissing", [](Manifest& m) { m.shards[0].output = "out"; },
     "[layers_0.mlpackage] expected output \"hidden_out\" [1, 8, 1, 1], got none of that name"},
    {"HeadInput", [](Manifest& m) { m.heads[1].input = "x"; },
     "[head_1.mlpackage] expected input \"hidden\" [1, 8, 1, 1], got none of that name"},
    {"HeadRange", [](Manifest& m) { m.heads[1].vocab_end = 49; },
     "[head_1.mlpackage] expected output \"logits\" [1, 25, 1, 1], got [1, 24, 1, 1]"},
};
INSTANTIATE_TEST_SUITE_P(Table, PackageMismatch, ::testing::ValuesIn(kMismatches),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Model, LayersWithoutTheLogitsOfTheirHeadAreCorrupt) {
  FakeOptions options;
  options.head_inside = true;
  const TemporaryFolder folder;
  testing::write_fake_artifact(folder.path(), options);
  for (const auto& [change, message] :
       {std::pair<std::function<void(Manifest&)>, std::string>(
            [](Manifest& m) { m.heads[1].output = "other"; },
            "[layers_1.mlpackage] expected output \"logits_1\" [1, 25, 1, 1], got none of that "
            "name"),
        {[](Manifest& m) { m.heads[0].vocab_end = 24; },
         "[layers_1.mlpackage] expected output \"logits_0\" [1, 25, 1, 1], got [1, 24, 1, 1]"}}) {
    auto manifest = testing::fake_manifest(options);
    change(manifest);
    FakeExecutor executor(manifest);
    const Status status = Model::load(folder.path(), executor).status();
    EXPECT_EQ(status.code(), Code::kCorrupt);
    EXPECT_NE(status.message().find(message), std::string::npos) << status.message();
  }
}

TEST(Model, ArtifactWithoutASingleStepIsUnsupported) {
  const TemporaryFolder folder;
  FakeOptions options;
  options.widths = {8, 64};
  testing::write_fake_artifact(folder.path(), options);
  FakeExecutor executor(testing::fake_manifest(options));
  EXPECT_EQ(Model::load(folder.path(), executor).status().code(), Code::kUnsupported);
}

TEST(Model, EmbedsIdsAndRepeatsTheLast) {
  const TemporaryFolder folder;
  testing::write_fake_artifact(folder.path(), {});
  FakeExecutor executor(testing::fake_manifest({}));
  const auto model = Model::load(folder.path(), executor);
  ASSERT_TRUE(model.ok());
  Tensor single(DType::kFp32, {1, 8, 1, 1});
  Tensor several(DType::kFp16, {1, 8, 4, 1});
  const std::vector<std::int32_t> ids = {3, 49};
  ASSERT_TRUE((*model)->embed(ids, several.mutable_view()).ok());
  for (std::size_t t = 0; t < 4; ++t) {
    const std::int32_t id = ids[std::min<std::size_t>(t, 1)];
    ASSERT_TRUE((*model)->embed({&id, 1}, single.mutable_view()).ok());
    for (std::size_t c = 0; c < 8; ++c)
      EXPECT_EQ(several.view().as<Half>()[c * 4 + t], to_half(single.view().as<float>()[c]));
  }
}

}  // namespace
}  // namespace anemone::engine
