// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "ir/builder.h"
#include "mlpackage/package_writer.h"
#include "ops/registry.h"
#include "tests/cli/process.h"

namespace anemone::cli {

// y = sum + x; sum = sum + x, where sum is a state. The scalar `k` is added to y.
struct PackageFixture : ::testing::Test {
  testing::TemporaryFolder folder;
  const std::string package = folder.file("adder.mlpackage");
  const std::string inputs = folder.file("in.safetensors");
  const std::string outputs = folder.file("out.safetensors");

  static Tensor tensor(DType dtype, Shape shape, const std::vector<float>& values) {
    Tensor out(dtype, std::move(shape));
    store_floats(values, out.mutable_view());
    return out;
  }

  void write_package_file() {
    using ir::Type;
    mlpackage::Model model;
    ir::Builder b(model.program, ops::op_registry(), "main", ir::Opset::kIOS18);
    ir::Value* x = b.input("x", Type::tensor(DType::kFp16, {2}));
    ir::Value* k = b.input("k", Type::tensor(DType::kFp16, {1}));
    ir::Value* sum = b.input("sum", Type::state(DType::kFp16, {2}));
    ir::Value* next = b.op("add", {{"x", b.read_state(sum, "before")}, {"y", x}}, "next");
    b.write_state(sum, next, "write");
    ir::Value* y = b.op("add", {{"x", next}, {"y", k}}, "y");
    ASSERT_TRUE(b.finish({y}).ok()) << b.status().message();
    auto described = mlpackage::describe_function(b.function());
    ASSERT_TRUE(described.ok()) << described.status().message();
    model.functions = {*described};
    const auto report = mlpackage::write_package(model, package, {.registry = &ops::op_registry()});
    ASSERT_TRUE(report.ok()) << report.status().message();
  }

  void write_inputs(const std::vector<float>& x, float k, DType dtype = DType::kFp16) {
    const Tensor x_tensor = tensor(dtype, {static_cast<std::int64_t>(x.size())}, x);
    const Tensor k_tensor = tensor(dtype, {1}, {k});
    ASSERT_TRUE(
        checkpoint::write_safetensors(inputs, {{"x", x_tensor.view()}, {"k", k_tensor.view()}})
            .ok());
  }

  static std::vector<float> read(const std::string& path, const std::string& name) {
    const auto file = checkpoint::SafetensorsFile::open(path);
    if (!file.ok() || (*file)->find(name) == nullptr) return {};
    return to_floats((*file)->find(name)->view());
  }

  static bool exists(const std::string& path) { return std::ifstream(path).good(); }

  std::string flags() const { return package + " --inputs " + inputs + " --outputs " + outputs; }
};

}  // namespace anemone::cli
