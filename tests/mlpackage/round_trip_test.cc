// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/file.h"
#include "mlpackage/package_reader.h"
#include "mlpackage/package_writer.h"
#include "tests/mlpackage/sample_model.h"
#include "tests/support/shared_data.h"

namespace anemone::mlpackage::testing {
namespace {

using anemone::testing::TemporaryFolder;

Model written_and_read(const Model& model, WriteOptions options = {}) {
  TemporaryFolder folder;
  const std::string path = folder.file("x.mlpackage");
  const auto report = write_package(model, path, options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  auto read = read_package(path);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(*read) : Model();
}

void expect_same(const Model& model, const Model& read) {
  const auto difference = ir::first_difference(model.program, read.program);
  ASSERT_TRUE(difference.ok()) << difference.status().message();
  EXPECT_EQ(*difference, "");
  EXPECT_EQ(model.functions, read.functions);
  EXPECT_EQ(model.default_function, read.default_function);
  EXPECT_EQ(model.is_multifunction, read.is_multifunction);
}

TEST(RoundTripTest, every_form_of_constant_block_and_state_survives) {
  const Model model = model_of_all_forms();
  const Model read = written_and_read(model);
  expect_same(model, read);
  EXPECT_EQ(read.specification_version, 9);
  EXPECT_EQ(read.program.functions()[0]->block->ops.size(),
            model.program.functions()[0]->block->ops.size());
}

TEST(RoundTripTest, metadata_survive_and_the_version_is_added) {
  const Model model = model_of_all_forms();
  Model read = written_and_read(model);
  EXPECT_EQ(read.metadata.user_defined.erase("com.github.anemone.version"), 1u);
  EXPECT_EQ(read.metadata, model.metadata);
  EXPECT_EQ(written_and_read(model, {.stamp = false}).metadata, model.metadata);
}

TEST(RoundTripTest, a_program_without_build_info_gets_one_unless_told_otherwise) {
  EXPECT_TRUE(written_and_read(plain_model()).program.attributes.contains("buildInfo"));
  const Model model = plain_model();
  expect_same(model, written_and_read(model, {.stamp = false}));
}

TEST(RoundTripTest, functions_share_the_blob_of_a_shared_weight) {
  const Model model = two_function_model();
  const Model read = written_and_read(model, {.stamp = false});
  expect_same(model, read);
  const ir::Literal* first =
      ir::constant_of(read.program.function("decode")->block->ops[0]->outputs[0]);
  const ir::Literal* second =
      ir::constant_of(read.program.function("prefill")->block->ops[0]->outputs[0]);
  EXPECT_EQ(first->data(), second->data());
  EXPECT_EQ(read.blob_offsets.size(), 1u);
  EXPECT_EQ(read.blob_offsets.at(first->data().get()), 64u);
}

TEST(RoundTripTest, constants_outlive_the_model_that_was_read) {
  std::shared_ptr<const ir::Data> data;
  {
    const Model read = written_and_read(plain_model());
    data = ir::constant_of(read.program.functions()[0]->block->ops[0]->outputs[0])->data();
  }
  const auto loaded = data->load();
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->bytes[2], std::byte{1});
}

TEST(RoundTripTest, flexible_and_optional_features_survive) {
  Model model;
  ir::Function* main = model.program.add_function("main", ir::Opset::kIOS18);
  const ir::Type open = ir::Type::tensor(DType::kFp32, {1, kDynamic});
  const ir::Type image = ir::Type::tensor(DType::kFp16, {1, 3, kDynamic, kDynamic});
  for (const char* name : {"ranged", "listed", "unbounded", "optional"})
    main->inputs.push_back(model.program.add_value(name, open));
  main->inputs.push_back(model.program.add_value("picture", image));
  main->inputs.push_back(model.program.add_value("scalar", ir::Type::scalar(DType::kInt32)));
  BlockWriter block(model.program, *main->block);
  main->block->outputs = {block.op("use", "y", {{"x", {main->inputs[0]}}}, {open})->outputs[0]};

  FunctionInterface& interface = model.functions.emplace_back();
  const auto add = [&](std::string name, Shape shape) -> FeatureDescription& {
    FeatureDescription& feature = interface.inputs.emplace_back();
    feature.name = std::move(name);
    feature.shape = std::move(shape);
    return feature;
  };
  add("ranged", {1, 4}).flexibility.ranges = {{1, 1}, {1, 64}};
  add("listed", {1, 8}).flexibility.enumerated = {{1, 8}, {1, 16}};
  add("unbounded", {1, 1}).flexibility.ranges = {{1, 1}, {0, -1}};
  FeatureDescription& optional = add("optional", {1, 2});
  optional.is_optional = true;
  optional.default_value = 2.5f;
  optional.description = "may be left out";
  FeatureDescription& picture = add("picture", {224, 320});
  picture.kind = FeatureDescription::Kind::kImage;
  picture.dtype = DType::kFp32;
  picture.color_space = FeatureDescription::ColorSpace::kBgr;
  picture.flexibility.ranges = {{100, 224}, {320, -1}};
  add("scalar", {1}).dtype = DType::kInt32;
  FeatureDescription& output = interface.outputs.emplace_back();
  output.name = "y";
  expect_same(model, written_and_read(model, {.stamp = false}));

  interface.inputs[4].flexibility.ranges.clear();
  interface.inputs[4].flexibility.enumerated = {{224, 320}, {64, 32}};
  interface.inputs[3].default_value = 2.5;
  expect_same(model, written_and_read(model, {.stamp = false}));
}

TEST(RoundTripTest, a_classifier_keeps_its_labels_and_probabilities) {
  Model model;
  ir::Function* main = model.program.add_function("main", ir::Opset::kIOS17);
  main->inputs = {model.program.add_value("x", ir::Type::tensor(DType::kFp32, {1, 2}))};
  BlockWriter block(model.program, *main->block);
  const ir::Type text = ir::Type::scalar(DType::kString);
  ir::Op* classify = block.op("classify", "classify", {{"probabilities", {main->inputs[0]}}},
                              {text, ir::Type::dictionary(text, ir::Type::scalar(DType::kFp64))});
  classify->outputs[0]->name = "label";
  classify->outputs[1]->name = "probabilities";
  main->block->outputs = classify->outputs;
  FunctionInterface& interface = model.functions.emplace_back();
  interface.inputs.push_back({.name = "x", .shape = {1, 2}});
  interface.outputs.push_back({.name = "label", .kind = FeatureDescription::Kind::kString});
  interface.outputs.push_back(
      {.name = "probabilities", .kind = FeatureDescription::Kind::kDictionary});
  interface.predicted_feature_name = "label";
  interface.predicted_probabilities_name = "probabilities";
  const Model read = written_and_read(model, {.stamp = false});
  expect_same(model, read);
  EXPECT_EQ(read.specification_version, 8);
}

TEST(RoundTripTest, what_was_read_can_be_written_to_the_same_bytes) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_package(model_of_all_forms(), folder.file("a.mlpackage")).ok());
  auto read = read_package(folder.file("a.mlpackage"));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_TRUE(write_package(*read, folder.file("b.mlpackage")).ok());
  for (const char* file : {"/Manifest.json", "/Data/com.apple.CoreML/model.mlmodel",
                           "/Data/com.apple.CoreML/weights/weight.bin"})
    EXPECT_EQ(*read_file(folder.file("a.mlpackage") + file),
              *read_file(folder.file("b.mlpackage") + file))
        << file;
}

}  // namespace
}  // namespace anemone::mlpackage::testing
