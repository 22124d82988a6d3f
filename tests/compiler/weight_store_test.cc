// SPDX-License-Identifier: Apache-2.0
#include "compiler/weight_store.h"

#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "compiler/embedding_file.h"
#include "compiler/options.h"
#include "compiler/stored_rows.h"
#include "ir/builder.h"
#include "ops/registry.h"
#include "tests/support/shared_data.h"

namespace anemone::compiler {
namespace {

// One fp32 tensor "m" whose element is its index.
class CountingMatrix : public checkpoint::WeightSource {
 public:
  explicit CountingMatrix(Shape shape) : values_(static_cast<std::size_t>(element_count(shape))) {
    std::iota(values_.begin(), values_.end(), 0.0f);
    weight_.name = "m";
    weight_.shape = std::move(shape);
    weight_.bytes = std::as_bytes(std::span(values_));
  }
  const checkpoint::WeightRef* find(std::string_view name) const override {
    return name == weight_.name ? &weight_ : nullptr;
  }
  std::vector<const checkpoint::WeightRef*> all() const override { return {&weight_}; }
  const std::string& origin() const override { return weight_.name; }

 private:
  std::vector<float> values_;
  checkpoint::WeightRef weight_;
};

models::Projection head_rows(std::int64_t begin, std::int64_t end) {
  return {.name = "head",
          .role = models::WeightRole::kHead,
          .parts = {{"m", begin, end - begin}},
          .inputs = 4};
}

// The elements of an fp32 constant.
std::vector<float> floats_of(const ir::Value* value) {
  const ir::Literal* literal = ir::constant_of(value);
  if (literal == nullptr) return {};
  const auto data = literal->data()->load();
  if (!data.ok()) return {};
  std::vector<float> out(data->bytes.size() / sizeof(float));
  std::memcpy(out.data(), data->bytes.data(), data->bytes.size());
  return out;
}

class WeightStoreTest : public ::testing::Test {
 protected:
  std::shared_ptr<CountingMatrix> matrix_ = std::make_shared<CountingMatrix>(Shape{6, 4});
  WeightStore store_{matrix_, {.quant = {.scheme = quant::Scheme::kNone}}, DType::kFp32};
  ir::Program program_;
  ir::Builder builder_{program_, ops::op_registry(), "main", ir::Opset::kIOS18};
};

TEST_F(WeightStoreTest, GivesTwoRangesOfOneMatrixTheirOwnRowsThoughTheNamesAreAlike) {
  const auto first = floats_of(store_.projection(builder_, head_rows(0, 3)));
  const auto second = floats_of(store_.projection(builder_, head_rows(3, 6)));
  ASSERT_TRUE(builder_.status().ok()) << builder_.status().message();
  ASSERT_EQ(first.size(), 12u);
  ASSERT_EQ(second.size(), 12u);
  EXPECT_EQ(first.front(), 0.0f);
  EXPECT_EQ(second.front(), 12.0f);
  EXPECT_EQ(second.back(), 23.0f);
}

TEST_F(WeightStoreTest, SharesTheDataOfOneProjectionBetweenFunctions) {
  const auto* first = ir::constant_of(store_.projection(builder_, head_rows(0, 3)));
  const auto* again = ir::constant_of(store_.projection(builder_, head_rows(0, 3)));
  ASSERT_NE(first, nullptr);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(first->data(), again->data());
}

// Two matrices of [3, 4] in one tensor; in another two of [4, 3] that hold the transposed ones.
TEST(StackedMatrices, AreReadByTheirRows) {
  WeightStore store(std::make_shared<CountingMatrix>(Shape{2, 3, 4}),
                    {.quant = {.scheme = quant::Scheme::kNone}}, DType::kFp32);
  ir::Program program;
  ir::Builder builder(program, ops::op_registry(), "main", ir::Opset::kIOS18);
  models::Projection::Part part = {
      .tensor = "m", .row_begin = 2, .rows = 1, .shape = {2, 3, 4}, .matrix = 1};
  EXPECT_EQ(floats_of(store.projection(builder, {.name = "a", .parts = {part}, .inputs = 4})),
            (std::vector<float>{20, 21, 22, 23}));
  part = {.tensor = "m", .rows = 2, .row_step = 2, .shape = {2, 3, 4}, .matrix = 1};
  part.is_transposed = true;
  // Columns 0 and 2 of the second matrix.
  EXPECT_EQ(floats_of(store.projection(builder, {.name = "b", .parts = {part}, .inputs = 3})),
            (std::vector<float>{12, 16, 20, 14, 18, 22}));
  EXPECT_EQ(floats_of(store.vector(
                builder, {{.tensor = "m", .size = 2, .shape = {2, 3, 4}, .begin = 5, .step = 2}},
                {2}, "c")),
            (std::vector<float>{5, 7}));
  part.shape = {2, 4, 3};
  EXPECT_EQ(store.projection(builder, {.name = "d", .parts = {part}, .inputs = 3}), nullptr);
  EXPECT_NE(builder.status().message().find("[2, 4, 3]"), std::string::npos)
      << builder.status().message();
}

// A range of the inputs, of floats and of transposed ones.
TEST(StackedMatrices, AreReadByRangesOfTheirColumns) {
  WeightStore store(std::make_shared<CountingMatrix>(Shape{3, 4}),
                    {.quant = {.scheme = quant::Scheme::kNone}}, DType::kFp32);
  ir::Program program;
  ir::Builder builder(program, ops::op_registry(), "main", ir::Opset::kIOS18);
  const auto range = [&](std::int64_t begin, std::int64_t count) {
    return floats_of(store.projection(builder, {.name = "m",
                                                .parts = {{.tensor = "m", .rows = 3}},
                                                .inputs = count,
                                                .input_begin = begin,
                                                .all_inputs = 4}));
  };
  EXPECT_EQ(range(1, 2), (std::vector<float>{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(range(0, 1), (std::vector<float>{0, 4, 8}));
  EXPECT_EQ(range(3, 1), (std::vector<float>{3, 7, 11}));
  const models::Projection::Part part = {
      .tensor = "m", .rows = 2, .shape = {3, 4}, .is_transposed = true};
  EXPECT_EQ(
      floats_of(store.projection(
          builder, {.name = "t", .parts = {part}, .inputs = 2, .input_begin = 1, .all_inputs = 3})),
      (std::vector<float>{4, 8, 5, 9}));
  EXPECT_TRUE(builder.status().ok()) << builder.status().message();
}

TEST_F(WeightStoreTest, RefusesRowsThatTheMatrixDoesNotHave) {
  EXPECT_EQ(store_.projection(builder_, head_rows(3, 7)), nullptr);
  EXPECT_EQ(builder_.status().code(), Code::kCorrupt);
}

TEST_F(WeightStoreTest, GivesTwoPartsOfOneTensorTheirOwnValuesThoughTheNamesAreAlike) {
  const auto part = [&](std::int64_t begin, double offset) {
    return floats_of(store_.vector(
        builder_, {{.tensor = "m", .size = 2, .offset = offset, .shape = {6, 4}, .begin = begin}},
        {2}, "bias"));
  };
  EXPECT_EQ(part(0, 0), (std::vector<float>{0, 1}));
  EXPECT_EQ(part(5, 0), (std::vector<float>{5, 6}));
  EXPECT_EQ(part(5, 1), (std::vector<float>{6, 7}));
  EXPECT_TRUE(builder_.status().ok()) << builder_.status().message();
}

// Options that give other bytes are told apart, where an unfinished run is resumed or a model that
// was compiled before is found again.
TEST(EmbeddingFile, OfItsOwnSchemeIsAnotherRecipe) {
  CompileOptions options;
  options.recipe.quant.scheme = quant::Scheme::kInt8Channel;
  const std::string before = describe_options(options);
  options.recipe.by_role[models::WeightRole::kEmbedding] = quant::Scheme::kInt8Channel;
  EXPECT_NE(describe_options(options), before);
  EXPECT_EQ(options.recipe.description(), "int8-channel, embedding int8-channel");
}

// A large table is stored piece by piece, each with the blocks that the whole has.
TEST(EmbeddingFile, OfSeveralPiecesIsThatOfTheWholeTable) {
  const std::int64_t rows = 120'008;  // in three pieces, the last of which is short
  const std::int64_t columns = 80;
  const auto matrix = std::make_shared<CountingMatrix>(Shape{rows, columns});
  ThreadPool threads(2);
  const testing::TemporaryFolder folder;
  for (const quant::Scheme scheme :
       {quant::Scheme::kInt4Block, quant::Scheme::kLut6, quant::Scheme::kInt8}) {
    Recipe recipe;
    recipe.quant.palette_mode = quant::PaletteMode::kUniform;
    recipe.by_role[models::WeightRole::kEmbedding] = scheme;
    const WeightStore store(matrix, recipe, DType::kFp32);
    const auto whole = store.embedding_rows("m", {rows, columns}, 0, rows);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    artifact::Embedding table = {.dtype = DType::kFp32,
                                 .rows = rows,
                                 .columns = columns,
                                 .parts = {{"embedding.bin", 0, rows, quantization_of(*whole)}}};
    artifact::EmbeddingPart& part = table.parts.front();
    part.quantization->offset = quantized_scales_offset(table, part);
    std::uint64_t advanced = 0;
    const Status status = write_quantized_embedding(
        [&](std::int64_t begin, std::int64_t count) {
          return store.embedding_rows("m", {rows, columns}, begin, count);
        },
        table, folder.file("embedding.bin"), threads,
        [&](std::uint64_t bytes) { advanced += bytes; });
    ASSERT_TRUE(status.ok()) << status.message();
    std::string expected;
    for (const std::size_t i : {0U, 1U}) {
      const auto tensor = whole->parameters[i].second.to_tensor();
      ASSERT_TRUE(tensor.ok()) << tensor.status().message();
      const auto bytes = tensor->view().bytes();
      expected.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    const auto written = read_file(folder.file("embedding.bin"), 1 << 28);
    ASSERT_TRUE(written.ok());
    EXPECT_TRUE(*written == expected) << quant::scheme_name(scheme);
    EXPECT_EQ(advanced, artifact::stored_bytes(table, part));
  }
}

}  // namespace
}  // namespace anemone::compiler
