// SPDX-License-Identifier: Apache-2.0
// Rows of quantized tables, against the reference kernels on the whole matrix. What the compiler
// writes of them is tested in tests/compiler/stored_embedding_test.cc.
#include "engine/model/embedding_table.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "tests/support/decoded_weight.h"
#include "tests/support/shared_data.h"

namespace anemone::engine {
namespace {

using anemone::testing::decoded_weight;
using anemone::testing::TemporaryFolder;
using artifact::Embedding;
using artifact::Quantization;

constexpr std::int64_t kRows = 6;
constexpr std::int64_t kColumns = 20;
constexpr std::uint64_t kGap = 6;  // before the rows: they begin where no float may

struct Table {
  std::string name;
  DType dtype;
  Quantization quantization;
  friend void PrintTo(const Table& table, std::ostream* out) { *out << table.name; }
};

std::vector<Table> tables() {
  std::vector<Table> all;
  for (const DType dtype : {DType::kFp16, DType::kFp32}) {
    const auto add = [&](DType elements, std::int64_t rows, std::int64_t columns) {
      all.push_back({std::string(dtype_name(elements)) + "_" + std::to_string(rows) + "_" +
                         std::to_string(columns) + "_" + std::string(dtype_name(dtype)),
                     dtype,
                     {elements, rows, columns}});
    };
    for (const DType elements : {DType::kInt4, DType::kInt8}) {
      add(elements, 1, 5);
      add(elements, 1, kColumns);
      add(elements, 3, 4);
      add(elements, kRows, kColumns);
    }
    for (const DType elements : {DType::kUInt4, DType::kUInt6, DType::kUInt8}) {
      add(elements, 1, kColumns);
      add(elements, 2, kColumns);
      add(elements, kRows, kColumns);
    }
  }
  return all;
}

// Any bytes are elements, and these are no two alike.
std::string varied_bytes(std::uint64_t count) {
  std::string bytes;
  std::uint32_t seed = 3;
  for (std::uint64_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    bytes.push_back(static_cast<char>(seed >> 24));
  }
  return bytes;
}

// The bytes of floats of this type, of magnitudes around 1 and of both signs.
std::string varied_floats(DType dtype, std::uint64_t count) {
  std::vector<float> values;
  for (std::uint64_t i = 0; i < count; ++i)
    values.push_back((i % 2 == 0 ? 1.0F : -1.0F) / (1.0F + 0.37F * static_cast<float>(i)));
  Tensor tensor(dtype, {static_cast<std::int64_t>(count)});
  store_floats(values, tensor.mutable_view());
  const auto bytes = tensor.view().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Tensor tensor_of(DType dtype, Shape shape, const std::string& bytes) {
  Tensor tensor(dtype, std::move(shape));
  std::memcpy(tensor.mutable_view().bytes().data(), bytes.data(), bytes.size());
  return tensor;
}

class QuantizedTable : public ::testing::TestWithParam<Table> {
 protected:
  void SetUp() override {
    embedding_ = {GetParam().dtype, kRows, kColumns, {{"rows.bin", kGap, kRows}}};
    part().quantization = GetParam().quantization;
    elements_ = varied_bytes(artifact::row_bytes(embedding_, part()));
    blocks_ = varied_floats(embedding_.dtype, artifact::block_values(embedding_, part()));
    const std::uint64_t end = kGap + elements_.size();
    part().quantization->offset = (end + 3) / 4 * 4;
    write(std::string(kGap, 'x') + elements_ + std::string(part().quantization->offset - end, 'x') +
          blocks_);
  }
  artifact::EmbeddingPart& part() { return embedding_.parts.front(); }
  void write(const std::string& bytes) {
    ASSERT_TRUE(write_file(folder_.file("rows.bin"), bytes).ok());
    file_ = bytes;
  }
  // The whole matrix, as a graph would have it.
  std::vector<float> reference() {
    const Quantization& form = *part().quantization;
    const std::int64_t rows = kRows / form.block_rows;
    std::vector<std::pair<std::string, Tensor>> inputs;
    const bool has_palettes = artifact::is_palette_index(form.dtype);
    inputs.emplace_back(has_palettes ? "indices" : "data",
                        tensor_of(form.dtype, {kRows, kColumns, 1, 1}, elements_));
    inputs.emplace_back(
        has_palettes ? "lut" : "scale",
        tensor_of(embedding_.dtype,
                  has_palettes ? Shape{rows, 1, 1, 1, std::int64_t{1} << dtype_bits(form.dtype), 1}
                               : Shape{rows, kColumns / form.block_columns, 1, 1},
                  blocks_));
    const auto matrix =
        decoded_weight(has_palettes ? "constexpr_lut_to_dense" : "constexpr_blockwise_shift_scale",
                       std::move(inputs));
    EXPECT_TRUE(matrix.ok()) << matrix.status().message();
    return to_floats(matrix->view());
  }
  // Columns [first, first + count) of the rows of `ids`, in a step of `tokens` tokens.
  std::vector<float> look_up(const std::vector<std::int32_t>& ids, std::int64_t first,
                             std::int64_t count, std::int64_t tokens, DType dtype) {
    const auto table = EmbeddingTable::open(folder_.path(), embedding_);
    EXPECT_TRUE(table.ok()) << table.status().message();
    if (!table.ok()) return {};
    Tensor out(dtype, {1, count, tokens, 1});
    const Status status = table->look_up(ids, first, out.mutable_view());
    EXPECT_TRUE(status.ok()) << status.message();
    return to_floats(out.view());
  }
  void expect_reference() {
    const std::vector<float> matrix = reference();
    const std::vector<std::int32_t> ids = {3, 0, 5, 1};
    constexpr std::int64_t kTokens = 6;  // the last two repeat the last id
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, kColumns}, {3, 9}})
      for (const DType dtype : {DType::kFp16, DType::kFp32}) {
        std::vector<float> expected;
        for (std::int64_t c = first; c < first + count; ++c)
          for (std::size_t t = 0; t < kTokens; ++t) {
            const float value =
                matrix[static_cast<std::size_t>(ids[std::min(t, ids.size() - 1)] * kColumns + c)];
            expected.push_back(dtype == DType::kFp16 ? to_float(to_half(value)) : value);
          }
        EXPECT_EQ(look_up(ids, first, count, kTokens, dtype), expected) << first;
      }
  }

  TemporaryFolder folder_;
  Embedding embedding_;
  std::string elements_, blocks_, file_;
};

TEST_P(QuantizedTable, HasTheRowsOfTheWholeMatrix) {
  expect_reference();
}

class TableOfScales : public QuantizedTable {};

TEST_P(TableOfScales, TakesThemFromTheManifest) {
  const std::uint64_t values = artifact::block_values(embedding_, part());
  part().quantization->scales =
      to_floats(tensor_of(embedding_.dtype, {static_cast<std::int64_t>(values)}, blocks_).view());
  part().quantization->offset = 0;
  write(std::string(kGap, 'x') + elements_);
  expect_reference();
}

TEST_P(QuantizedTable, OfAFileThatIsTooShortIsCorrupt) {
  const std::string whole = file_;
  write(whole.substr(0, whole.size() - 1));
  const Status blocks = EmbeddingTable::open(folder_.path(), embedding_).status();
  EXPECT_EQ(blocks.code(), Code::kCorrupt);
  const bool has_palettes = artifact::is_palette_index(part().quantization->dtype);
  EXPECT_NE(blocks.message().find(has_palettes ? "values of palettes in" : "scales in"),
            std::string::npos)
      << blocks.message();
  write(whole.substr(0, kGap + elements_.size() - 1));
  const Status rows = EmbeddingTable::open(folder_.path(), embedding_).status();
  EXPECT_EQ(rows.code(), Code::kCorrupt);
  EXPECT_NE(rows.message().find("for 6 rows of 20 in " +
                                std::string(dtype_name(part().quantization->dtype))),
            std::string::npos)
      << rows.message();
  write(whole);
  part().quantization->offset = ~std::uint64_t{0} - 3;
  EXPECT_EQ(EmbeddingTable::open(folder_.path(), embedding_).status().code(), Code::kCorrupt);
  part().quantization->offset = 0;
  part().offset = ~std::uint64_t{0};
  EXPECT_EQ(EmbeddingTable::open(folder_.path(), embedding_).status().code(), Code::kCorrupt);
}

INSTANTIATE_TEST_SUITE_P(, QuantizedTable, ::testing::ValuesIn(tables()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(, TableOfScales, ::testing::ValuesIn([] {
                           std::vector<Table> all = tables();
                           std::erase_if(all, [](const Table& table) {
                             return artifact::is_palette_index(table.quantization.dtype);
                           });
                           return all;
                         }()),
                         [](const auto& info) { return info.param.name; });

// The floats of this table are 32 GiB, its file a hole of 4: only the rows that are asked for are
// read.
TEST(EmbeddingTable, DecodesNoMoreThanItIsAskedFor) {
  constexpr std::int64_t kManyRows = 1 << 22;
  constexpr std::int64_t kManyColumns = 2048;
  Embedding embedding = {DType::kFp32, kManyRows, kManyColumns, {{"rows.bin", 0, kManyRows}}};
  artifact::EmbeddingPart& part = embedding.parts.front();
  part.quantization = Quantization{DType::kInt4, kManyRows, kManyColumns};
  part.quantization->scales = {2.0F};
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.file("rows.bin"), "\x21").ok());
  std::error_code error;
  std::filesystem::resize_file(folder.file("rows.bin"), artifact::row_bytes(embedding, part),
                               error);
  if (error) GTEST_SKIP() << "no file of this size: " << error.message();
  const auto table = EmbeddingTable::open(folder.path(), embedding);
  ASSERT_TRUE(table.ok()) << table.status().message();
  Tensor out(DType::kFp32, {1, kManyColumns, 2, 1});
  const std::vector<std::int32_t> ids = {0, static_cast<std::int32_t>(kManyRows - 1)};
  ASSERT_TRUE(table->look_up(ids, 0, out.mutable_view()).ok());
  const std::span<const float> values = out.view().as<float>();
  EXPECT_EQ(values[0], 2.0F);
  EXPECT_EQ(values[2], 4.0F);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0.0F), 6.0F);
}

}  // namespace
}  // namespace anemone::engine
