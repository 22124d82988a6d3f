// SPDX-License-Identifier: Apache-2.0
// Rows of embeddings that are looked up where they are stored quantized: they are, bit for bit,
// those of the matrix that the graph of the head has, or of the table as a whole.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <ostream>

#include "base/file.h"
#include "checkpoint/checkpoint.h"
#include "compiler/compiler.h"
#include "compiler/weight_store.h"
#include "mlpackage/package_reader.h"
#include "tests/compiler/golden.h"
#include "tests/compiler/wide_checkpoint.h"
#include "tests/support/decoded_weight.h"
#include "tests/support/folder_bytes.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_gguf.h"

namespace anemone::compiler::testing {
namespace {

using anemone::testing::decoded_weight;
using anemone::testing::files_in;
using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;
using quant::Scheme;

CompileOptions stored(Scheme scheme, DType precision = DType::kFp16) {
  CompileOptions options;
  options.precision = precision;
  options.recipe.quant.scheme = scheme;
  options.recipe.quant.threshold = 0;
  options.context = 32;
  options.prefill = 8;
  options.form.embedding = artifact::EmbeddingForm::kStored;
  return options;
}

// All rows, as the engine looks them up.
std::vector<float> looked_up(const engine::Model& model) {
  const artifact::Embedding& table = model.manifest().embedding;
  std::vector<float> rows;
  Tensor hidden(table.dtype, {1, table.columns, 1, 1});
  for (std::int32_t id = 0; id < table.rows; ++id) {
    EXPECT_TRUE(model.embed({&id, 1}, hidden.mutable_view()).ok());
    const std::vector<float> row = to_floats(hidden.view());
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

// The weights of all heads, from their packages as anyone reads them.
std::vector<float> rows_of_heads(const std::string& folder, const artifact::Manifest& manifest) {
  std::vector<float> rows;
  for (const std::span<const artifact::Head> heads : manifest.head_packages()) {
    const auto model = mlpackage::read_package(folder + "/" + heads.front().package);
    EXPECT_TRUE(model.ok()) << model.status().message();
    if (!model.ok()) return {};
    for (const ir::Op* op : model->program.functions().front()->block->ops) {
      const bool is_weight = op->name.starts_with("head") && op->name.ends_with("_weight");
      if (!is_weight) continue;
      std::vector<std::pair<std::string, Tensor>> inputs;
      // The elements come first, then scales or palettes: data, scale; indices, lut.
      for (const auto& [name, literal] : op->attributes)
        if (name != "name") inputs.emplace_back(name, *literal.to_tensor());
      for (const auto& [name, arguments] : op->inputs)
        for (const ir::Argument& argument : arguments)
          if (const auto* literal = std::get_if<ir::Literal>(&argument))
            inputs.emplace_back(name, *literal->to_tensor());
      std::ranges::sort(inputs, {}, [](const auto& input) { return input.first; });
      const auto matrix = decoded_weight(op->type, std::move(inputs));
      EXPECT_TRUE(matrix.ok()) << matrix.status().message();
      const std::vector<float> values = to_floats(matrix->view());
      rows.insert(rows.end(), values.begin(), values.end());
    }
  }
  return rows;
}

// A table as the weight store stores it at once, not in blocks of rows.
std::vector<float> rows_of_table(const std::string& checkpoint, const CompileOptions& options,
                                 const artifact::Embedding& table) {
  const auto source = checkpoint::open_checkpoint(checkpoint);
  EXPECT_TRUE(source.ok()) << source.status().message();
  const WeightStore store(source->weights, options.recipe, options.precision);
  const auto weight =
      store.embedding_rows("model.embed_tokens.weight", {table.rows, table.columns}, 0, table.rows);
  EXPECT_TRUE(weight.ok()) << weight.status().message();
  std::vector<std::pair<std::string, Tensor>> inputs;
  for (const auto& [name, literal] : weight->parameters)
    inputs.emplace_back(name, *literal.to_tensor());
  const auto matrix = decoded_weight(weight->op, std::move(inputs));
  EXPECT_TRUE(matrix.ok()) << matrix.status().message();
  return to_floats(matrix->view());
}

struct Case {
  std::string name;
  CompileOptions options;
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DType precision : {DType::kFp16, DType::kFp32}) {
    const std::string type(dtype_name(precision));
    all.push_back({"int8_" + type, stored(Scheme::kInt8, precision)});
    all.push_back({"int8_channel_" + type, stored(Scheme::kInt8Channel, precision)});
    all.push_back({"int8_block_" + type, stored(Scheme::kInt8Block, precision)});
    all.push_back({"int4_block_" + type, stored(Scheme::kInt4Block, precision)});
    all.push_back({"lut4_" + type, stored(Scheme::kLut4, precision)});
    all.push_back({"lut6_" + type, stored(Scheme::kLut6, precision)});
    all.push_back({"lut8_" + type, stored(Scheme::kLut8, precision)});
  }
  all.push_back({"one_palette", stored(Scheme::kLut4)});
  all.back().options.recipe.quant.group_size = 0;
  all.push_back({"uniform_palette", stored(Scheme::kLut6)});
  all.back().options.recipe.quant.palette_mode = quant::PaletteMode::kUniform;
  all.push_back({"mixed", stored(Scheme::kLut4)});
  all.back().options.recipe.by_role[models::WeightRole::kHead] = Scheme::kInt8Channel;
  return all;
}

class TiedEmbedding : public ::testing::TestWithParam<Case> {};

TEST_P(TiedEmbedding, IsLookedUpInTheHeads) {
  const TemporaryFolder folder;
  write_wide("qwen2", folder.file("checkpoint"));
  for (const auto outputs : {artifact::HeadOutputs::kOne, artifact::HeadOutputs::kSplit}) {
    CompileOptions options = GetParam().options;
    options.form.head_outputs = outputs;
    const auto model =
        compile_and_load({"wide", folder.file("checkpoint")}, folder.file("artifact"), options);
    ASSERT_NE(model, nullptr);
    const artifact::Manifest& manifest = model->manifest();
    EXPECT_FALSE(std::filesystem::exists(folder.file("artifact") + "/embedding.bin"));
    ASSERT_EQ(manifest.embedding.parts.size(), manifest.heads.size());
    EXPECT_TRUE(manifest.embedding.parts.front().quantization.has_value());
    EXPECT_EQ(artifact::needed_format_version(manifest), 3);
    const std::vector<float> expected = rows_of_heads(folder.file("artifact"), manifest);
    ASSERT_EQ(expected.size(),
              static_cast<std::size_t>(manifest.embedding.rows * manifest.embedding.columns));
    EXPECT_TRUE(looked_up(*model) == expected);
  }
}

INSTANTIATE_TEST_SUITE_P(, TiedEmbedding, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

class OwnTable : public ::testing::TestWithParam<Case> {};

TEST_P(OwnTable, IsStoredByTheRecipe) {
  const TemporaryFolder folder;
  write_wide("llama", folder.file("checkpoint"));
  const CompileOptions& options = GetParam().options;
  const auto model =
      compile_and_load({"wide", folder.file("checkpoint")}, folder.file("artifact"), options);
  ASSERT_NE(model, nullptr);
  const artifact::Embedding& table = model->manifest().embedding;
  ASSERT_EQ(table.parts.size(), 1U);
  EXPECT_EQ(table.parts.front().file, "embedding.bin");
  EXPECT_EQ(table.parts.front().quantization->dtype, DType::kInt8);
  EXPECT_EQ(std::filesystem::file_size(folder.file("artifact") + "/embedding.bin"),
            artifact::stored_bytes(table, table.parts.front()));
  EXPECT_TRUE(looked_up(*model) == rows_of_table(folder.file("checkpoint"), options, table));
}

INSTANTIATE_TEST_SUITE_P(, OwnTable, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// A scheme of its own, whatever the form and the rest of the recipe say.
class EmbeddingRole : public ::testing::TestWithParam<Case> {};

TEST_P(EmbeddingRole, ChoosesHowTheTableIsStored) {
  const TemporaryFolder folder;
  const CompileOptions& options = GetParam().options;
  const Scheme scheme = options.recipe.by_role.at(models::WeightRole::kEmbedding);
  for (const char* name : {"llama", "qwen2"}) {  // qwen2 is tied
    SCOPED_TRACE(name);
    const std::string checkpoint = folder.file(std::string(name) + "_checkpoint");
    write_wide(name, checkpoint);
    CompileOptions dry = options;
    dry.dry_run = true;
    const auto planned = compile(checkpoint, folder.file("none"), dry);
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    const auto model = compile_and_load({"wide", checkpoint}, folder.file("artifact"), options);
    ASSERT_NE(model, nullptr);
    const artifact::Embedding& table = model->manifest().embedding;
    ASSERT_EQ(table.parts.size(), 1U);
    EXPECT_EQ(table.parts.front().file, "embedding.bin");
    EXPECT_EQ(table.parts.front().quantization.has_value(), scheme != Scheme::kNone);
    EXPECT_EQ(artifact::element_type(table, table.parts.front()),
              artifact::element_type(planned->manifest.embedding,
                                     planned->manifest.embedding.parts.front()));
    EXPECT_EQ(std::filesystem::file_size(folder.file("artifact") + "/embedding.bin"),
              artifact::stored_bytes(table, table.parts.front()));
    EXPECT_TRUE(looked_up(*model) == rows_of_table(checkpoint, options, table));
    // Apart from the packages, the planned bytes are those of embedding.bin.
    std::uint64_t packages = 0;
    for (const PackageReport& package : planned->packages) packages += package.bytes;
    EXPECT_EQ(planned->total_bytes - packages, artifact::stored_bytes(table, table.parts.front()));
  }
}

std::vector<Case> embedding_schemes() {
  const auto embedding_as = [](Scheme scheme) {
    CompileOptions options = stored(Scheme::kInt8Channel);
    options.recipe.by_role[models::WeightRole::kEmbedding] = scheme;
    return options;
  };
  std::vector<Case> all = {{"none", embedding_as(Scheme::kNone)},
                           {"int8", embedding_as(Scheme::kInt8)},
                           {"int8_block", embedding_as(Scheme::kInt8Block)},
                           {"lut6", embedding_as(Scheme::kLut6)},
                           {"one_palette", embedding_as(Scheme::kLut4)}};
  all.back().options.recipe.quant.group_size = 0;
  all.push_back({"float_form", embedding_as(Scheme::kInt4Block)});
  all.back().options.form.embedding = artifact::EmbeddingForm::kFloat;
  // The table is in no package, so int4 blocks are allowed for iOS 16 too.
  all.push_back({"ios16", embedding_as(Scheme::kInt4Block)});
  all.back().options.target = ir::Opset::kIOS16;
  return all;
}

INSTANTIATE_TEST_SUITE_P(, EmbeddingRole, ::testing::ValuesIn(embedding_schemes()),
                         [](const auto& info) { return info.param.name; });

TEST(StoredEmbedding, IsSharedWithATiedHeadOfItsScheme) {
  const TemporaryFolder folder;
  write_wide("qwen2", folder.file("checkpoint"));
  for (const Scheme scheme : {Scheme::kInt8Channel, Scheme::kLut6, Scheme::kNone}) {
    CompileOptions options = stored(scheme);
    options.recipe.by_role[models::WeightRole::kEmbedding] = scheme;
    options.dry_run = true;
    const auto report = compile(folder.file("checkpoint"), folder.file("none"), options);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_NE(report->manifest.embedding.parts.front().file, "embedding.bin");
    const auto is_about_it = [](const std::string& note) {
      return note.find("a file of its own") != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::none_of(report->notes, is_about_it));
    options.recipe.by_role[models::WeightRole::kEmbedding] = Scheme::kInt4Block;
    const auto apart = compile(folder.file("checkpoint"), folder.file("none"), options);
    ASSERT_TRUE(apart.ok()) << apart.status().message();
    EXPECT_EQ(apart->manifest.embedding.parts.front().file, "embedding.bin");
    EXPECT_TRUE(std::ranges::any_of(apart->notes, is_about_it));
  }
}

TEST(StoredEmbedding, IsFloatsWhereNothingIsQuantized) {
  const TemporaryFolder folder;
  for (const char* name : {"qwen2", "llama"}) {
    const Checkpoint checkpoint = {name,
                                   source_path(std::string("tests/compiler/data/tiny/") + name)};
    const auto plain = compile_and_load(checkpoint, folder.file("artifact"), [] {
      CompileOptions options = stored(Scheme::kNone);
      options.form.embedding = artifact::EmbeddingForm::kFloat;
      return options;
    }());
    ASSERT_NE(plain, nullptr);
    const std::vector<float> expected = looked_up(*plain);
    const auto model = compile_and_load(checkpoint, folder.file("artifact"), stored(Scheme::kNone));
    ASSERT_NE(model, nullptr);
    EXPECT_FALSE(artifact::is_quantized(model->manifest().embedding));
    EXPECT_EQ(artifact::needed_format_version(model->manifest()), 1);
    EXPECT_TRUE(looked_up(*model) == expected);
  }
}

// The checkpoint's own integers, in the head of a tied model and in a table.
TEST(StoredEmbedding, KeepsTheFormOfAQuantizedCheckpoint) {
  using anemone::testing::TinyEmbedding;
  const std::vector<float> ones(4 * 32, 1.0F);
  for (const bool is_tied : {true, false})
    for (const auto rows : {TinyEmbedding::kBytes, TinyEmbedding::kNibbles}) {
      const TemporaryFolder folder;
      anemone::testing::GgufBuilder builder = anemone::testing::tiny_gguf_metadata();
      anemone::testing::add_tiny_gguf_tensors(builder, rows);
      if (!is_tied) builder.f32_tensor("output.weight", {4, 32}, ones);
      ASSERT_TRUE(write_file(folder.file("kept.gguf"), builder.bytes()).ok());
      const CompileOptions options = stored(Scheme::kPassthrough);
      const auto model =
          compile_and_load({"kept", folder.file("kept.gguf")}, folder.file("artifact"), options);
      ASSERT_NE(model, nullptr);
      const artifact::Embedding& table = model->manifest().embedding;
      EXPECT_EQ(table.parts.front().file != "embedding.bin", is_tied);
      ASSERT_TRUE(table.parts.front().quantization.has_value());
      EXPECT_EQ(table.parts.front().quantization->dtype,
                rows == TinyEmbedding::kBytes ? DType::kInt8 : DType::kInt4);
      EXPECT_EQ(table.parts.front().quantization->block_columns, 32);
      const std::vector<float> expected =
          is_tied ? rows_of_heads(folder.file("artifact"), model->manifest())
                  : rows_of_table(folder.file("kept.gguf"), options, table);
      EXPECT_TRUE(looked_up(*model) == expected);
      // Nothing was rounded.
      CompileOptions floats = stored(Scheme::kNone);
      const auto exact =
          compile_and_load({"exact", folder.file("kept.gguf")}, folder.file("floats"), floats);
      ASSERT_NE(exact, nullptr);
      EXPECT_TRUE(looked_up(*exact) == expected);
    }
}

// Every type of GGUF: integers that are taken over, and forms that are quantized again.
TEST(StoredEmbedding, HasTheRowsOfEveryQuantizedType) {
  const auto models = anemone::testing::shared_path("data/models/gguf-llama");
  if (!models) GTEST_SKIP() << "absent: data/models/gguf-llama (ANEMONE_SHARED)";
  int quantized = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*models)) {
    if (entry.path().extension() != ".gguf") continue;
    SCOPED_TRACE(entry.path().string());
    const TemporaryFolder folder;
    const CompileOptions options = stored(Scheme::kPassthrough);
    const auto model =
        compile_and_load({"kept", entry.path().string()}, folder.file("artifact"), options);
    ASSERT_NE(model, nullptr);
    const artifact::Embedding& table = model->manifest().embedding;
    const bool is_tied = table.parts.front().file != "embedding.bin";
    const std::vector<float> expected =
        is_tied ? rows_of_heads(folder.file("artifact"), model->manifest())
                : rows_of_table(entry.path().string(), options, table);
    EXPECT_TRUE(looked_up(*model) == expected);
    quantized += artifact::is_quantized(table) ? 1 : 0;
  }
  EXPECT_GT(quantized, 0);
}

// The per-layer embedding table of gemma4 is quantized like the first one.
TEST(StoredEmbedding, OfLayersIsQuantizedToo) {
  const TemporaryFolder folder;
  const Checkpoint checkpoint = {"gemma4", source_path("tests/compiler/data/tiny/gemma4_text")};
  CompileOptions options = stored(Scheme::kInt8Channel, DType::kFp32);
  const auto model = compile_and_load(checkpoint, folder.file("artifact"), options);
  ASSERT_NE(model, nullptr);
  const Golden golden = read_golden(checkpoint);
  const Answer answer = run_greedily(model, golden.prompt, 4);
  EXPECT_EQ(answer.continuation.size(), 4U);
  ASSERT_TRUE(model->manifest().layer_embedding.has_value());
  EXPECT_TRUE(artifact::is_quantized(*model->manifest().layer_embedding));
  EXPECT_EQ(std::filesystem::file_size(folder.file("artifact") + "/layer_embedding.bin"),
            artifact::stored_bytes(*model->manifest().layer_embedding,
                                   model->manifest().layer_embedding->parts.front()));
  // A scheme for embeddings is one for both tables.
  options.recipe.by_role[models::WeightRole::kEmbedding] = Scheme::kLut6;
  options.dry_run = true;
  const auto report = compile(checkpoint.path, folder.file("none"), options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  for (const artifact::Embedding& table :
       {report->manifest.embedding, *report->manifest.layer_embedding})
    EXPECT_EQ(artifact::element_type(table, table.parts.front()), DType::kUInt6);
}

// What a dry run promises is what the files of the rows take.
TEST(StoredEmbedding, CountsInADryRun) {
  const TemporaryFolder folder;
  for (const char* name : {"qwen2", "llama"}) {
    SCOPED_TRACE(name);
    const std::string checkpoint = folder.file(std::string(name) + "_checkpoint");
    write_wide(name, checkpoint);
    std::map<bool, std::uint64_t> bytes;
    for (const bool is_stored : {false, true}) {
      CompileOptions options = stored(Scheme::kInt4Block);
      if (!is_stored) options.form.embedding = artifact::EmbeddingForm::kFloat;
      options.dry_run = true;
      const auto report = compile(checkpoint, folder.file("none"), options);
      ASSERT_TRUE(report.ok()) << report.status().message();
      bytes[is_stored] = report->total_bytes;
    }
    const auto model =
        compile_and_load({"wide", checkpoint}, folder.file("artifact"), stored(Scheme::kInt4Block));
    ASSERT_NE(model, nullptr);
    const artifact::Embedding& table = model->manifest().embedding;
    const std::uint64_t floats =
        dtype_bytes(DType::kFp16, static_cast<std::uint64_t>(table.rows * table.columns));
    const bool is_tied = table.parts.front().file != "embedding.bin";
    EXPECT_EQ(bytes[false] - bytes[true],
              floats - (is_tied ? 0 : artifact::stored_bytes(table, table.parts.front())));
  }
}

// A run that takes over all packages of one that was cancelled at the end finds the places again,
// and the scales that lie in the program of the head.
TEST(StoredEmbedding, IsFoundAgainByAResumedRun) {
  for (const char* name : {"qwen2", "llama"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    write_wide(name, folder.file("checkpoint"));
    CompileOptions options = stored(Scheme::kInt8);
    const auto whole = compile(folder.file("checkpoint"), folder.file("whole"), options);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    const bool is_tied = whole->manifest.embedding.parts.front().file != "embedding.bin";
    EXPECT_EQ(whole->manifest.embedding.parts.front().quantization->scales.empty(), !is_tied);
    options.resume = true;
    std::atomic<bool> cancel = false;
    options.cancel = &cancel;
    const CompileProgress at_the_end = [&](std::uint64_t done, std::uint64_t total,
                                           const std::string&) { cancel = done >= total; };
    const auto cancelled =
        compile(folder.file("checkpoint"), folder.file("again"), options, at_the_end);
    EXPECT_EQ(cancelled.status().code(), Code::kCancelled);
    options.cancel = nullptr;
    const auto resumed = compile(folder.file("checkpoint"), folder.file("again"), options);
    ASSERT_TRUE(resumed.ok()) << resumed.status().message();
    EXPECT_TRUE(std::ranges::all_of(resumed->packages, &PackageReport::is_reused));
    EXPECT_TRUE(files_in(folder.file("again")) == files_in(folder.file("whole")));
  }
}

}  // namespace
}  // namespace anemone::compiler::testing
