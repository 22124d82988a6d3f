// SPDX-License-Identifier: Apache-2.0
// Every tensor type of GGUF against gguf-py, bit for bit, through a GGUF file and an export.
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tuple>

#include "checkpoint/checkpoint.h"
#include "checkpoint/export_tensors.h"
#include "checkpoint/gguf/block_type.h"
#include "checkpoint/safetensors.h"
#include "tensor/half.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/shared_data.h"

namespace anemone::checkpoint {
namespace {

using anemone::testing::GgufBuilder;
using anemone::testing::TemporaryFolder;

const gguf::BlockType* type_named(std::string_view name) {
  for (std::uint32_t id = 0; id < 64; ++id)
    for (const gguf::BlockType* type : gguf::find_block_types(id))
      if (type->name == name) return type;
  return nullptr;
}

// The integers, scales and minimums of a type give its values.
void expect_integers(const std::string& name, const WeightRef& tensor,
                     const std::vector<float>& values) {
  const auto form = tensor.decoder == nullptr ? std::nullopt : tensor.decoder->quantized_form();
  if (!form) return;
  const auto columns = static_cast<std::size_t>(tensor.shape[1]);
  const auto group = static_cast<std::size_t>(form->group);
  std::vector<std::int8_t> quants(columns);
  std::vector<float> scales(columns / group);
  std::vector<float> minimums(scales.size());
  for (std::int64_t row = 0; row < tensor.shape[0]; ++row) {
    tensor.decoder->read_quants(tensor, row, quants, scales);
    if (form->has_minimums) tensor.decoder->read_minimums(tensor, row, minimums);
    for (std::size_t i = 0; i < columns; ++i) {
      const float scale = scales[i / group];
      const float minimum = minimums[i / group];
      const int least = -(1 << (form->bits - 1));
      ASSERT_TRUE(quants[i] >= least && quants[i] < -least) << name << " " << int{quants[i]};
      const float want = values[static_cast<std::size_t>(row) * columns + i];
      const float got = scale * static_cast<float>(quants[i]) + minimum;
      if (!std::isfinite(want)) continue;
      // Integers without a sign are moved by 8 scales, which rounds twice.
      const float tolerance =
          form->has_minimums ? 0x1p-22F * (8 * std::abs(scale) + std::abs(minimum)) : 0.0F;
      ASSERT_NEAR(got, want, tolerance) << name << " " << row << " " << i;
    }
  }
}

// `raw` is uint8 [rows, bytes], `values` fp32 [rows, columns].
void expect_exact(const std::string& name, const WeightRef& raw, const WeightRef& values) {
  const gguf::BlockType* type = type_named(name);
  ASSERT_NE(type, nullptr) << name;
  const TemporaryFolder folder;
  GgufBuilder()
      .text("general.architecture", "blocks")
      .tensor("t",
              {static_cast<std::uint64_t>(values.shape[0]),
               static_cast<std::uint64_t>(values.shape[1])},
              type->id, {reinterpret_cast<const char*>(raw.bytes.data()), raw.bytes.size()})
      .write(folder.file("blocks.gguf"));
  const auto source = open_tensors(folder.file("blocks.gguf"));
  ASSERT_TRUE(source.ok()) << source.status().message();
  ASSERT_TRUE(export_tensors(**source, folder.file("out.safetensors"), DType::kFp32).ok());
  const auto out = SafetensorsFile::open(folder.file("out.safetensors"));
  ASSERT_TRUE(out.ok());
  const WeightRef* got = (*out)->find("t");
  ASSERT_NE(got, nullptr);
  ASSERT_EQ(got->shape, values.shape) << name;
  const std::vector<float> a = to_floats(got->view());
  const std::vector<float> b = to_floats(values.view());
  std::size_t differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]))
      if (++differing < 4) ADD_FAILURE() << name << " " << i << ": " << a[i] << ", not " << b[i];
  EXPECT_EQ(differing, 0U) << name;

  // A part that begins and ends inside of blocks has the same bits.
  const WeightRef* tensor = (*source)->find("t");
  std::vector<float> part(a.size() - 2);
  read_floats(*tensor, 1, part);
  EXPECT_EQ(0, std::memcmp(part.data(), &a[1], part.size() * sizeof(float))) << name;
  expect_integers(name, *tensor, b);
}

TEST(GgufBlocks, EveryQuantizedTypeEqualsItsFixture) {
  const auto file = SafetensorsFile::open(
      anemone::testing::source_path("tests/checkpoint/data/gguf_blocks.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status().message();
  int types = 0;
  for (const WeightRef* raw : (*file)->all()) {
    if (!raw->name.ends_with(".raw")) continue;
    const std::string name = raw->name.substr(0, raw->name.size() - 4);
    expect_exact(name, *raw, *(*file)->find(name + ".values"));
    ++types;
  }
  EXPECT_EQ(types, 23);
}

TEST(GgufBlocks, EveryTypeEqualsTheSharedBlocks) {
  const auto folder = anemone::testing::shared_path("data/gguf-blocks");
  if (!folder) GTEST_SKIP() << "absent: data/gguf-blocks (ANEMONE_SHARED)";
  int types = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    const auto file = SafetensorsFile::open(entry.path().string());
    ASSERT_TRUE(file.ok()) << file.status().message();
    expect_exact(entry.path().stem().string(), *(*file)->find("raw"), *(*file)->find("values"));
    ++types;
  }
  EXPECT_EQ(types, 26);
}

// gguf-py does not read these: two blocks each, by the definition.
struct LowBits {
  const char* name;
  std::size_t values;  // of a block
  std::size_t bits;
  int step;
  int least;
};

TEST(GgufBlocks, ValuesOfOneAndTwoBits) {
  for (const LowBits& form :
       {LowBits{"Q1_0", 128, 1, 2, -1}, {"Q2_0", 64, 2, 1, -1}, {"SEQ", 512, 2, 2, -3}}) {
    const gguf::BlockType* type = type_named(form.name);
    ASSERT_NE(type, nullptr);
    std::string bytes;
    std::vector<float> wanted;
    for (const float scale : {0.25F, -3.0F}) {
      const std::uint16_t half = to_half(scale).bits;
      bytes += {static_cast<char>(half & 0xff), static_cast<char>(half >> 8)};
      for (std::size_t i = 0; i < form.values; i += 8 / form.bits) {
        const auto byte = static_cast<std::uint8_t>(i * 37 + 11);
        bytes += static_cast<char>(byte);
        for (std::size_t bit = 0; bit < 8; bit += form.bits)
          wanted.push_back(
              scale *
              static_cast<float>(form.least + form.step * (byte >> bit & ((1 << form.bits) - 1))));
      }
    }
    const TemporaryFolder folder;
    // What comes after ends the first tensor; the last one ends with the file.
    GgufBuilder()
        .text("general.architecture", "blocks")
        .tensor("first", {1, 2 * form.values}, type->id, bytes)
        .tensor("last", {2, form.values}, type->id, bytes)
        .write(folder.file("blocks.gguf"));
    const auto source = open_tensors(folder.file("blocks.gguf"));
    ASSERT_TRUE(source.ok()) << source.status().message();
    for (const char* name : {"first", "last"}) {
      const WeightRef* tensor = (*source)->find(name);
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->storage(), form.name);
      std::vector<float> got(wanted.size());
      read_floats(*tensor, 0, got);
      EXPECT_EQ(got, wanted) << form.name << " " << name;
    }
  }
}

// Sizes of blocks as gguf-py has them.
TEST(GgufBlocks, TypesOfActivationsAreRefusedByTheirNames) {
  for (const auto& [id, name, values, bytes] :
       {std::tuple(9U, "Q8_1", 32U, 40U), {15U, "Q8_K", 256U, 292U}}) {
    const TemporaryFolder folder;
    GgufBuilder()
        .text("general.architecture", "blocks")
        .tensor("t", {1, values}, id, std::string(bytes, '\1'))
        .write(folder.file("blocks.gguf"));
    const Status status = open_tensors(folder.file("blocks.gguf")).status();
    EXPECT_EQ(status.code(), Code::kUnsupported) << name;
    EXPECT_NE(status.message().find(fmt::format("tensor t in a type of weights, got {}", name)),
              std::string::npos)
        << status.message();
  }
}

TEST(GgufBlocks, ANumberWithTwoMeaningsMustFitOneOfThem) {
  const TemporaryFolder folder;
  GgufBuilder()
      .text("general.architecture", "blocks")
      .tensor("t", {1, 512}, 41, std::string(200, '\0'))
      .write(folder.file("blocks.gguf"));
  const auto source = open_tensors(folder.file("blocks.gguf"));
  ASSERT_FALSE(source.ok());
  EXPECT_NE(source.status().message().find("as Q1_0 or as SEQ"), std::string::npos)
      << source.status().message();
}

}  // namespace
}  // namespace anemone::checkpoint
