// SPDX-License-Identifier: Apache-2.0
// The writer refuses faults of a package that Core ML's loaders would not notice.
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "mlpackage/package_writer.h"
#include "ops/registry.h"
#include "tests/mlpackage/sample_model.h"
#include "tests/support/shared_data.h"

namespace anemone::mlpackage::testing {
namespace {

using anemone::testing::TemporaryFolder;
using ir::Type;

void expect_refused(const Model& model, std::string_view part, WriteOptions options = {}) {
  TemporaryFolder folder;
  const auto status = write_package(model, folder.file("a.mlpackage"), options).status();
  EXPECT_EQ(status.code(), Code::kCorrupt) << part;
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  EXPECT_TRUE(status.message().starts_with("[" + folder.path())) << status.message();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

Model matmul_model() {
  Model model;
  ir::Builder builder(model.program, ops::op_registry(), "main", ir::Opset::kIOS18);
  ir::Value* x = builder.input("x", Type::tensor(DType::kFp16, {2, 2}));
  ir::Value* y = builder.op("matmul", {{"x", x}, {"y", x}}, "y");
  EXPECT_TRUE(builder.finish({y}).ok()) << builder.status().message();
  model.functions.push_back(*describe_function(builder.function()));
  return model;
}

TEST(WriterChecksTest, a_built_program_is_written) {
  TemporaryFolder folder;
  const auto report =
      write_package(matmul_model(), folder.file("a.mlpackage"), {.registry = &ops::op_registry()});
  EXPECT_TRUE(report.ok()) << report.status().message();
}

TEST(WriterChecksTest, a_defaulted_parameter_must_be_spelled_out) {
  Model model = matmul_model();
  for (ir::Op* op : model.program.functions()[0]->block->ops) op->inputs.erase("transpose_x");
  expect_refused(model, "\"transpose_x\" to be spelled out, got none (matmul \"y\")",
                 {.registry = &ops::op_registry()});
}

TEST(WriterChecksTest, an_unlawful_operation_is_refused_when_operations_are_known) {
  Model model = matmul_model();
  model.program.functions()[0]->block->outputs[0]->type.shape = {2, 3};
  model.functions[0].outputs[0].shape = {2, 3};
  expect_refused(model, "matmul", {.registry = &ops::op_registry()});
}

TEST(WriterChecksTest, a_shape_that_differs_from_the_program_is_refused) {
  Model model = plain_model();
  model.functions[0].inputs[0].shape = {1, 5};
  expect_refused(model, "(input x)");
}

// An image of 4 x 5 pixels behind a tensor of [1, channels, 4, 5].
Model image_model(FeatureDescription::ColorSpace color_space, DType dtype, ir::Opset opset) {
  Model model;
  const Type pixels = Type::tensor(dtype, {1, image_channels(color_space), 4, 5});
  ir::Builder builder(model.program, ops::op_registry(), "main", opset);
  ir::Value* x = builder.input("x", pixels);
  ir::Value* y = builder.op("identity", {{"x", x}}, "y");
  EXPECT_TRUE(builder.finish({y}).ok()) << builder.status().message();
  FunctionInterface& interface = model.functions.emplace_back();
  for (auto* features : {&interface.inputs, &interface.outputs}) {
    FeatureDescription& image = features->emplace_back();
    image.name = features == &interface.inputs ? "x" : "y";
    image.kind = FeatureDescription::Kind::kImage;
    image.color_space = color_space;
    image.shape = {4, 5};
  }
  return model;
}

TEST(WriterChecksTest, bytes_are_pixels_of_grayscale_images_from_ios17_on) {
  using enum FeatureDescription::ColorSpace;
  for (const ir::Opset opset : {ir::Opset::kIOS17, ir::Opset::kIOS18}) {
    TemporaryFolder folder;
    const auto report = write_package(image_model(kGrayscale, DType::kUInt8, opset),
                                      folder.file("a.mlpackage"), {});
    EXPECT_TRUE(report.ok()) << report.status().message();
    for (const auto color_space : {kRgb, kBgr, kGrayscaleFp16})
      expect_refused(image_model(color_space, DType::kUInt8, opset), "expected a float tensor");
    expect_refused(image_model(kGrayscale, DType::kInt32, opset), "float or uint8 tensor");
  }
  expect_refused(image_model(kGrayscale, DType::kInt32, ir::Opset::kIOS16),
                 "expected a float tensor");
}

TEST(WriterChecksTest, an_image_has_the_size_of_its_tensor) {
  const auto model_of = [](const std::vector<std::int64_t>& size) {
    Model model =
        image_model(FeatureDescription::ColorSpace::kRgb, DType::kFp16, ir::Opset::kIOS18);
    model.functions[0].inputs[0].shape = size;
    return model;
  };
  TemporaryFolder folder;
  EXPECT_TRUE(write_package(model_of({4, 5}), folder.file("a.mlpackage"), {}).ok());
  expect_refused(model_of({4, 6}), "expected size 5 alone in dimension 1");
  expect_refused(model_of({3, 5}), "expected size 4 alone in dimension 0");
}

TEST(WriterChecksTest, an_output_of_another_name_is_refused) {
  Model model = plain_model();
  model.functions[0].outputs[0].name = "z";
  expect_refused(model, "\"z\"");
}

TEST(WriterChecksTest, an_input_that_nobody_describes_is_refused) {
  Model model = plain_model();
  model.functions[0].inputs.clear();
  expect_refused(model, "\"x\"");
}

TEST(WriterChecksTest, a_name_that_mil_reserves_is_refused) {
  Model model = plain_model();
  model.program.functions()[0]->inputs[0]->name = "tensor";
  model.functions[0].inputs[0].name = "tensor";
  expect_refused(model, "tensor_workaround");
}

TEST(WriterChecksTest, a_version_below_what_is_used_is_refused) {
  Model model = plain_model();
  model.specification_version = 8;
  expect_refused(model, "version 9");
  model.specification_version = 11;
  expect_refused(model, "6 to 10");
}

TEST(WriterChecksTest, a_single_function_is_named_main) {
  Model model = plain_model();
  model.program.functions()[0]->name = "decode";
  model.functions[0].name = "decode";
  expect_refused(model, "\"main\"");
}

TEST(WriterChecksTest, the_default_function_must_exist) {
  Model model = two_function_model();
  model.default_function = "verify";
  expect_refused(model, "\"verify\"");
}

TEST(WriterChecksTest, other_program_attributes_are_refused) {
  Model model = plain_model();
  model.program.attributes.emplace("note", ir::Literal::text("x"));
  expect_refused(model, "buildInfo");
}

TEST(WriterChecksTest, an_undefined_operand_is_refused) {
  Model model = plain_model();
  model.program.functions()[0]->block->ops[3]->inputs["y"] = {
      model.program.add_value("ghost", Type::tensor(DType::kFp16, {1, 4}))};
  expect_refused(model, "ghost");
}

}  // namespace
}  // namespace anemone::mlpackage::testing
