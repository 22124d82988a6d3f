// SPDX-License-Identifier: Apache-2.0
// Files that another process cuts while they are in use: one clear error, never a signal and never
// an answer made of what is no longer there.
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "artifact/manifest.h"
#include "compiler/compiler.h"
#include "engine/loop/engine.h"
#include "tests/compiler/golden.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler::testing {
namespace {

namespace fs = std::filesystem;
using anemone::testing::TemporaryFolder;

const std::string kTiny = std::string(ANEMONE_SOURCE_DIR) + "/tests/compiler/data/tiny/llama";

CompileOptions plain_options() {
  CompileOptions options;
  options.precision = DType::kFp32;
  options.recipe.quant.scheme = quant::Scheme::kNone;
  options.context = 64;
  options.prefill = 16;
  return options;
}

Result<engine::GenerateResult> generate(const std::shared_ptr<const engine::Model>& model) {
  engine::Engine engine({});
  engine::GenerateOptions options;
  options.max_new_tokens = 4;
  options.ignore_eos = true;
  options.as_text = false;
  return engine::generate(engine, model, {1, 2, 3, 4, 5}, options);
}

// What a model maps: weights and embeddings.
std::vector<fs::path> mapped_files(const fs::path& artifact) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(artifact))
    if (entry.path().extension() == ".bin") out.push_back(fs::relative(entry.path(), artifact));
  return out;
}

TEST(CutFile, EndsEachRequestOfItsModelWithOneError) {
  const TemporaryFolder folder;
  const std::string origin = folder.file("origin");
  ASSERT_TRUE(compile(kTiny, origin, plain_options(), {}).ok());
  const auto untouched = *engine::Model::load(origin, executor());
  const auto answer = generate(untouched);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const std::vector<fs::path> files = mapped_files(origin);
  ASSERT_GE(files.size(), 2u);
  int number = 0;
  for (const fs::path& file : files)
    for (const bool is_last_byte : {false, true}) {
      const std::string copy = folder.file("copy" + std::to_string(number++));
      fs::copy(origin, copy, fs::copy_options::recursive);
      const fs::path path = fs::path(copy) / file;
      SCOPED_TRACE(path.string());
      const auto model = engine::Model::load(copy, executor());
      ASSERT_TRUE(model.ok()) << model.status().message();
      EXPECT_EQ(generate(*model)->ids, answer->ids);
      const auto size = static_cast<off_t>(fs::file_size(path));
      ASSERT_EQ(::truncate(path.c_str(), is_last_byte ? size - 1 : 0), 0);
      for (int i = 0; i < 2; ++i) {
        const auto failed = generate(*model);
        ASSERT_FALSE(failed.ok());
        EXPECT_EQ(failed.status().code(), Code::kIo);
        EXPECT_NE(failed.status().message().find(file.filename().string()), std::string::npos);
        EXPECT_NE(failed.status().message().find("cut short"), std::string::npos)
            << failed.status().message();
      }
      // Others go on.
      const auto again = generate(untouched);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(again->ids, answer->ids);
    }
}

TEST(CutFile, EndsACompilationThatReadsIt) {
  const TemporaryFolder folder;
  const std::string model = folder.file("llama");  // the packages have the name of the folder
  fs::copy(kTiny, model, fs::copy_options::recursive);
  const std::string weights = model + "/model.safetensors";
  const auto whole_bytes = fs::file_size(weights);
  const std::string output = folder.file("output");
  const auto failed =
      compile(model, output, plain_options(), [&](std::uint64_t, std::uint64_t, const auto&) {
        // The file is cut after its header, which the compiler has read.
        ASSERT_EQ(::truncate(weights.c_str(), static_cast<off_t>(whole_bytes / 2)), 0);
      });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().code(), Code::kIo);
  EXPECT_NE(failed.status().message().find("cut short"), std::string::npos)
      << failed.status().message();
  EXPECT_FALSE(fs::exists(output));
  // Nothing that was made of it counts when the checkpoint is whole again.
  fs::copy_file(kTiny + "/model.safetensors", weights, fs::copy_options::overwrite_existing);
  CompileOptions again = plain_options();
  again.resume = true;
  ASSERT_TRUE(compile(model, output, again, {}).ok());
  ASSERT_TRUE(compile(kTiny, folder.file("plain"), plain_options(), {}).ok());
  const auto resumed = artifact::read_manifest(output);
  const auto plain = artifact::read_manifest(folder.file("plain"));
  ASSERT_TRUE(resumed.ok() && plain.ok());
  EXPECT_TRUE(artifact::check_files(output, *resumed, true).ok());
  for (std::size_t i = 0; i < plain->files.size(); ++i)
    EXPECT_EQ(resumed->files[i].sha256, plain->files[i].sha256) << plain->files[i].path;
}

}  // namespace
}  // namespace anemone::compiler::testing
