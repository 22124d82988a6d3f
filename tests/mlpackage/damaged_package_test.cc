// SPDX-License-Identifier: Apache-2.0
// Packages that are damaged one thing at a time; the damages are in damaged_*_cases.cc.
#include "tests/mlpackage/damaged_package.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

#include "base/file.h"
#include "mlpackage/package_reader.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/proto/model.pb.h"

namespace anemone::mlpackage::testing {
namespace {

namespace fs = std::filesystem;

class DamagedPackageTable : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedPackageTable, is_refused_in_one_line) {
  const auto package = damaged_package(GetParam());
  expect_refused(*package, GetParam());
}

std::string name_of(const ::testing::TestParamInfo<Damage>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Model, DamagedPackageTable, ::testing::ValuesIn(model_damages()), name_of);
INSTANTIATE_TEST_SUITE_P(Description, DamagedPackageTable,
                         ::testing::ValuesIn(description_damages()), name_of);
INSTANTIATE_TEST_SUITE_P(Functions, DamagedPackageTable, ::testing::ValuesIn(function_damages()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Files, DamagedPackageTable, ::testing::ValuesIn(blob_damages()), name_of);

TEST(ParseModelTest, a_model_in_memory_has_no_weight_files) {
  const DamagedPackage package;
  const auto text = read_file(package.file(kModelFile));
  ASSERT_TRUE(text.ok());
  const auto model = parse_model(std::as_bytes(std::span(*text)), "memory");
  EXPECT_EQ(model.status().code(), Code::kCorrupt);
  EXPECT_TRUE(model.status().message().starts_with("[memory] "));
}

TEST(ParseModelTest, no_cut_or_flipped_byte_crashes_the_reader) {
  const DamagedPackage package(true);
  const auto text = read_file(package.file(kModelFile));
  ASSERT_TRUE(text.ok());
  ASSERT_TRUE(parse_model(std::as_bytes(std::span(*text)), "m").ok());
  int refused = 0;
  for (std::size_t i = 0; i < text->size(); ++i) {
    refused += !parse_model(std::as_bytes(std::span(text->data(), i)), "m").ok();
    for (const int bit : {0, 3, 7}) {
      std::string flipped = *text;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      refused += !parse_model(std::as_bytes(std::span(flipped)), "m").ok();
    }
  }
  EXPECT_GT(refused, static_cast<int>(text->size()));
}

TEST(DamagedPackageTest, a_path_that_is_not_there_is_an_io_error) {
  const DamagedPackage package;
  fs::remove_all(package.path());
  EXPECT_EQ(package.read().status().code(), Code::kIo);
}

TEST(DamagedPackageTest, a_compiled_model_is_told_apart) {
  DamagedPackage package;
  fs::remove(package.file("Manifest.json"));
  package.write("coremldata.bin", "");
  EXPECT_EQ(package.read().status().code(), Code::kUnsupported);
}

TEST(DamagedPackageTest, the_padding_of_sub_byte_data_must_fit) {
  const auto put = [](DamagedPackage& package, std::size_t offset, auto value) {
    package.edit_weights(
        [=](std::string& bytes) { std::memcpy(&bytes[offset], &value, sizeof value); });
  };
  for (const std::uint64_t padding : {1u, 3u, 5u, 8u, 9u}) {
    DamagedPackage package;
    // 32 bytes of int4 are 64 elements with padding 0, and 63 with padding 4.
    package.edit_model([](wire::Model& model) {
      auto* weight = block_of(model).mutable_operations(0)->mutable_attributes(1)->mutable_value();
      auto* type = weight->mutable_type()->mutable_tensor_type();
      type->set_data_type(25);
      type->mutable_dimensions(0)->mutable_constant()->set_size(16);
    });
    put(package, 68, std::uint32_t{8});
    ASSERT_TRUE(package.read().ok());
    put(package, 88, padding);
    EXPECT_EQ(package.read().status().code(), Code::kCorrupt) << padding;
  }
}

}  // namespace
}  // namespace anemone::mlpackage::testing
