// SPDX-License-Identifier: Apache-2.0
// Packages as coremltools wrote them: data/coremltools, made by make_coremltools_packages.py.
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

#include "base/file.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "mlpackage/package_reader.h"
#include "mlpackage/package_writer.h"
#include "ops/registry.h"
#include "tests/support/shared_data.h"

namespace anemone::mlpackage::testing {
namespace {

using anemone::testing::source_path;
using anemone::testing::TemporaryFolder;

constexpr const char* kPackages[] = {
    "classifier",     "control_flow",   "functions",   "int4_blocks_ios18",
    "int8_ios18",     "listed_shapes",  "mlp_ios15",   "mlp_ios17_fp32",
    "palette3_ios18", "palette6_ios16", "range",       "palette4_scales_ios18",
    "sparse_ios16",   "state",          "uint8_ios16", "sparse_palette4_ios18",
};

Model read_fixture(const std::string& name) {
  auto model = read_package(source_path("tests/mlpackage/data/coremltools/" + name + ".mlpackage"));
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? std::move(*model) : Model();
}

void expect_same(const ir::Program& a, const ir::Program& b) {
  const auto difference = ir::first_difference(a, b);
  ASSERT_TRUE(difference.ok()) << difference.status().message();
  EXPECT_EQ(*difference, "");
}

class CoremltoolsPackage : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, CoremltoolsPackage, ::testing::ValuesIn(kPackages),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(CoremltoolsPackage, is_lawful) {
  const Model model = read_fixture(GetParam());
  const Status status = ir::verify(model.program, ops::op_registry());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(CoremltoolsPackage, is_the_same_after_writing_and_reading) {
  const TemporaryFolder folder;
  const Model model = read_fixture(GetParam());
  WriteOptions options;
  options.registry = &ops::op_registry();
  options.stamp = false;
  const std::string first = folder.file("first.mlpackage");
  const auto report = write_package(model, first, options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  const auto read = read_package(first);
  ASSERT_TRUE(read.ok()) << read.status().message();
  expect_same(model.program, read->program);
  EXPECT_EQ(model.specification_version, read->specification_version);
  EXPECT_EQ(model.functions, read->functions);
  EXPECT_EQ(model.default_function, read->default_function);
  EXPECT_EQ(model.is_multifunction, read->is_multifunction);
  EXPECT_EQ(model.metadata, read->metadata);
  EXPECT_EQ(model.blob_offsets.size(), read->blob_offsets.size());

  const std::string second = folder.file("second.mlpackage");
  ASSERT_TRUE(write_package(*read, second, options).ok());
  for (const char* file :
       {"/Data/com.apple.CoreML/model.mlmodel", "/Data/com.apple.CoreML/weights/weight.bin"}) {
    if (!std::filesystem::exists(first + file)) continue;
    EXPECT_EQ(*read_file(first + file), *read_file(second + file)) << file;
  }
}

TEST_P(CoremltoolsPackage, is_the_same_after_printing_and_parsing) {
  const Model model = read_fixture(GetParam());
  const auto parsed = ir::parse(ir::print(model.program), GetParam());
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  expect_same(model.program, *parsed);
}

TEST(CoremltoolsPackages, are_all_listed_here) {
  std::set<std::string> found;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_path("tests/mlpackage/data/coremltools")))
    found.insert(entry.path().stem());
  EXPECT_EQ(found, std::set<std::string>(std::begin(kPackages), std::end(kPackages)));
}

TEST(CoremltoolsPackages, have_the_specification_of_their_target) {
  EXPECT_EQ(read_fixture("mlp_ios15").specification_version, 6);
  EXPECT_EQ(read_fixture("uint8_ios16").specification_version, 7);
  EXPECT_EQ(read_fixture("mlp_ios17_fp32").specification_version, 8);
  EXPECT_EQ(read_fixture("state").specification_version, 9);
}

TEST(CoremltoolsPackages, describe_states) {
  const Model model = read_fixture("state");
  const FunctionInterface& main = model.functions.at(0);
  ASSERT_EQ(main.states.size(), 1u);
  EXPECT_EQ(main.states[0].name, "total");
  EXPECT_EQ(main.states[0].dtype, DType::kFp16);
  EXPECT_EQ(main.states[0].shape, (Shape{1, 4}));
}

TEST(CoremltoolsPackages, describe_flexible_shapes) {
  const Model ranged = read_fixture("range");
  const FeatureDescription& range = ranged.functions.at(0).inputs.at(0);
  EXPECT_EQ(range.shape, (Shape{1, 4, 8}));
  EXPECT_EQ(range.flexibility.ranges, (std::vector<DimensionRange>{{1, 1}, {1, 64}, {8, 8}}));
  const Model listed = read_fixture("listed_shapes");
  const FeatureDescription& list = listed.functions.at(0).inputs.at(0);
  EXPECT_EQ(list.flexibility.enumerated, (std::vector<Shape>{{1, 4, 8}, {1, 16, 8}}));
}

TEST(CoremltoolsPackages, describe_pictures_and_classes) {
  const Model model = read_fixture("classifier");
  const FunctionInterface& main = model.functions.at(0);
  EXPECT_EQ(main.inputs.at(0).kind, FeatureDescription::Kind::kImage);
  EXPECT_EQ(main.inputs.at(0).color_space, FeatureDescription::ColorSpace::kBgr);
  EXPECT_EQ(main.inputs.at(0).shape, (Shape{16, 20}));
  EXPECT_EQ(main.predicted_feature_name, "classLabel");
  EXPECT_EQ(main.predicted_probabilities_name, "classLabel_probs");
}

TEST(CoremltoolsPackages, share_weights_between_functions) {
  const Model model = read_fixture("functions");
  EXPECT_TRUE(model.is_multifunction);
  EXPECT_EQ(model.default_function, "two");
  ASSERT_EQ(model.functions.size(), 2u);
  // Two weights and a bias, each used twice; the other bias is short and stands in the program.
  EXPECT_EQ(model.blob_offsets.size(), 3u);
}

}  // namespace
}  // namespace anemone::mlpackage::testing
