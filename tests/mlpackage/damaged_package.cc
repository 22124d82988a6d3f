// SPDX-License-Identifier: Apache-2.0
#include "tests/mlpackage/damaged_package.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "mlpackage/package_reader.h"
#include "mlpackage/package_writer.h"
#include "mlpackage/proto/mil.pb.h"
#include "mlpackage/proto/model.pb.h"
#include "tests/mlpackage/sample_model.h"

namespace anemone::mlpackage::testing {
namespace {

Model small_model() {
  Model model = plain_model();
  auto& ops = model.program.functions()[0]->block->ops;
  ops.back()->inputs.erase("weight");
  ops.erase(ops.begin());
  return model;
}

}  // namespace

DamagedPackage::DamagedPackage(bool without_weights)
    : DamagedPackage(without_weights ? small_model() : plain_model()) {}

DamagedPackage::DamagedPackage(const Model& model) {
  const auto report = write_package(model, path(), {.stamp = false});
  EXPECT_TRUE(report.ok()) << report.status().message();
}

void DamagedPackage::edit_model(const std::function<void(wire::Model&)>& edit) {
  edit_bytes(kModelFile, [&](std::string& bytes) {
    wire::Model model;
    ASSERT_TRUE(model.ParseFromString(bytes));
    edit(model);
    bytes = model.SerializeAsString();
  });
}

void DamagedPackage::edit_bytes(std::string_view relative,
                                const std::function<void(std::string&)>& edit) {
  auto bytes = read_file(file(relative));
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  edit(*bytes);
  write(relative, *bytes);
}

void DamagedPackage::edit_weights(const std::function<void(std::string&)>& edit) {
  edit_bytes("Data/com.apple.CoreML/weights/weight.bin", edit);
}

void DamagedPackage::edit_manifest(std::string_view what, std::string_view with) {
  edit_bytes("Manifest.json", [&](std::string& text) {
    const auto at = text.find(what);
    ASSERT_NE(at, text.npos) << what;
    text.replace(at, what.size(), with);
  });
}

void DamagedPackage::write(std::string_view relative, std::string_view text) {
  ASSERT_TRUE(write_file(file(relative), text).ok());
}

Result<Model> DamagedPackage::read() const {
  return read_package(path());
}

wire::Block& block_of(wire::Model& model) {
  return *model.mutable_program()
              ->mutable_functions(0)
              ->mutable_value()
              ->mutable_block_specializations(0)
              ->mutable_value();
}

std::unique_ptr<DamagedPackage> damaged_package(const Damage& damage) {
  auto package = damage.has_two_functions ? std::make_unique<DamagedPackage>(two_function_model())
                                          : std::make_unique<DamagedPackage>();
  damage.inflict(*package);
  return package;
}

void expect_refused(const DamagedPackage& package, const Damage& damage) {
  const Status status = package.read().status();
  EXPECT_EQ(status.code(), damage.code) << damage.name << ": " << status.message();
  EXPECT_NE(status.message().find(damage.message_part), std::string::npos)
      << damage.name << ": " << status.message();
  EXPECT_TRUE(status.message().starts_with("[" + package.path())) << status.message();
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
}

}  // namespace anemone::mlpackage::testing
