// SPDX-License-Identifier: Apache-2.0
// Packages that differ from ours and are still good.
#include <filesystem>
#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/verifier.h"
#include "mlpackage/package_reader.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/proto/model.pb.h"
#include "ops/registry.h"
#include "tests/mlpackage/damaged_package.h"
#include "tests/mlpackage/sample_model.h"

namespace anemone::mlpackage::testing {
namespace {

namespace fs = std::filesystem;

void expect_read(const DamagedPackage& package) {
  const auto model = package.read();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto difference = ir::first_difference(plain_model().program, model->program);
  ASSERT_TRUE(difference.ok());
  EXPECT_EQ(*difference, "");
}

TEST(ReaderTest, files_are_found_through_the_manifest) {
  DamagedPackage package;
  fs::rename(package.file("Data/com.apple.CoreML"), package.file("Data/com.microsoft.OnnxRuntime"));
  fs::rename(package.file("Data/com.microsoft.OnnxRuntime/model.mlmodel"),
             package.file("Data/com.microsoft.OnnxRuntime/net.mlmodel"));
  package.edit_manifest("com.apple.CoreML/model.mlmodel", "com.microsoft.OnnxRuntime/net.mlmodel");
  package.edit_manifest("com.apple.CoreML/weights", "com.microsoft.OnnxRuntime/weights");
  expect_read(package);
}

TEST(ReaderTest, a_weight_folder_of_another_path_is_found_by_its_name) {
  DamagedPackage package;
  fs::rename(package.file("Data/com.apple.CoreML/weights"), package.file("Data/elsewhere"));
  package.edit_manifest("\"com.apple.CoreML/weights\"", "\"elsewhere\"");
  expect_read(package);
}

TEST(ReaderTest, a_link_that_stays_inside_is_followed) {
  DamagedPackage package;
  fs::rename(package.file("Data/com.apple.CoreML/weights/weight.bin"),
             package.file("Data/real.bin"));
  fs::create_symlink("../../real.bin", package.file("Data/com.apple.CoreML/weights/weight.bin"));
  expect_read(package);
}

TEST(ReaderTest, files_that_the_manifest_does_not_list_are_ignored) {
  DamagedPackage package;
  package.write("executorch_debug_handle_mapping.json", "{}");
  expect_read(package);
}

TEST(ReaderTest, garbage_in_fields_that_older_writers_left_is_ignored) {
  DamagedPackage package;
  package.edit_weights(
      [](std::string& bytes) { bytes.replace(64 + 24, 40, std::string(40, '\x7f')); });
  expect_read(package);
}

TEST(ReaderTest, states_among_the_inputs_are_states) {
  DamagedPackage package;
  package.edit_model([](wire::Model& model) {
    *model.mutable_description()->add_input() = model.description().state(0);
    model.mutable_description()->clear_state();
  });
  expect_read(package);
  EXPECT_EQ(package.read()->functions[0].states.size(), 1u);
}

TEST(ReaderTest, an_output_may_leave_its_shape_open) {
  DamagedPackage package;
  package.edit_model([](wire::Model& model) {
    model.mutable_description()
        ->mutable_output(0)
        ->mutable_type()
        ->mutable_multi_array_type()
        ->clear_shape();
  });
  expect_read(package);
}

TEST(ReaderTest, a_bare_model_file_finds_its_weights_beside_it) {
  DamagedPackage package;
  const auto model = read_package(package.file("Data/com.apple.CoreML/model.mlmodel"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->weight_files.size(), 1u);
}

TEST(ReaderTest, unlawful_operations_are_left_to_the_verifier) {
  DamagedPackage package;
  package.edit_model([](wire::Model& model) {
    auto* operations = block_of(model).mutable_operations();
    operations->SwapElements(3, 4);  // an operand before its definition
    (*(*operations)[5].mutable_inputs())[0].mutable_value()->mutable_arguments(0)->set_name(
        "ghost");
  });
  const auto model = package.read();
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Status status = ir::verify(model->program, ops::op_registry());
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("not defined before its use"), std::string::npos)
      << status.message();
}

TEST(ReaderTest, integers_may_be_widened_and_any_number_may_come_as_bytes) {
  const auto with_bias = [](const std::function<void(wire::Value&)>& edit) {
    DamagedPackage package(true);
    package.edit_model([&](wire::Model& model) {
      edit(*block_of(model).mutable_operations(0)->mutable_attributes(1)->mutable_value());
    });
    auto model = package.read();
    EXPECT_TRUE(model.ok()) << model.status().message();
    return model.ok() ? to_ints(model->program.functions()[0]
                                    ->block->ops[0]
                                    ->attributes.at("val")
                                    .to_tensor()
                                    ->view())
                      : std::vector<std::int64_t>();
  };
  const auto set_type = [](wire::Value& value, int code, int count) {
    auto* tensor = value.mutable_type()->mutable_tensor_type();
    tensor->set_data_type(code);
    tensor->mutable_dimensions(0)->mutable_constant()->set_size(static_cast<unsigned>(count));
    value.mutable_immediate()->mutable_tensor()->Clear();
  };
  using Ints = std::vector<std::int64_t>;
  EXPECT_EQ(with_bias([&](wire::Value& value) {
              set_type(value, 21, 2);
              auto* ints = value.mutable_immediate()->mutable_tensor()->mutable_ints();
              ints->add_values(-128);
              ints->add_values(127);
            }),
            (Ints{-128, 127}));
  EXPECT_EQ(with_bias([&](wire::Value& value) {
              set_type(value, 25, 3);
              auto* ints = value.mutable_immediate()->mutable_tensor()->mutable_long_ints();
              for (const int i : {-8, 7, -1}) ints->add_values(i);
            }),
            (Ints{-8, 7, -1}));
  EXPECT_EQ(with_bias([&](wire::Value& value) {
              set_type(value, 23, 1);
              value.mutable_immediate()->mutable_tensor()->mutable_bytes_values()->set_values(
                  std::string("\x01\x02\x00\x00", 4));
            }),
            (Ints{513}));
}

}  // namespace
}  // namespace anemone::mlpackage::testing
