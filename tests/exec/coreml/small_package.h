// SPDX-License-Identifier: Apache-2.0
// A package with the kinds of functions that an executor meets.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "mlpackage/package_writer.h"
#include "ops/registry.h"
#include "tensor/tensor.h"
#include "tests/exec/coreml/checked_runtime.h"
#include "tests/support/shared_data.h"

namespace anemone::exec::coreml::testing {

using ir::Builder;
using ir::Opset;
using ir::Type;
using ir::Value;

inline void add_interface(mlpackage::Model& model, const ir::Function& function) {
  auto interface = mlpackage::describe_function(function);
  ASSERT_TRUE(interface.ok()) << interface.status().message();
  interface->name = function.name;
  model.functions.push_back(*std::move(interface));
}

// state += x, output sum = state; for `decode` [1, 2, 3] and `prefill` the same. "twice" has no
// state: y = x + x.
inline std::string write_small_package(const std::string& path, float factor = 1) {
  mlpackage::Model model;
  model.is_multifunction = true;
  model.default_function = "decode";
  for (const char* name : {"decode", "prefill"}) {
    Builder b(model.program, ops::op_registry(), name, Opset::kIOS18);
    Value* x = b.input("x", Type::tensor(DType::kFp16, {1, 2, 3}));
    Value* total = b.input("total", Type::state(DType::kFp16, {1, 2, 3}));
    Value* sum = b.op("add", {{"x", b.read_state(total, "before")}, {"y", x}}, "added");
    b.write_state(total, sum, "stored");
    Value* after = b.read_state(total, "sum");
    EXPECT_TRUE(b.finish({after}).ok()) << b.status().message();
    add_interface(model, b.function());
  }
  Builder b(model.program, ops::op_registry(), "twice", Opset::kIOS18);
  Value* x = b.input("x", Type::tensor(DType::kFp16, {1, 2, 3}));
  Value* scaled =
      b.op("mul", {{"x", x}, {"y", ir::Literal::number(factor, DType::kFp16)}}, "scaled");
  EXPECT_TRUE(b.finish({b.op("add", {{"x", scaled}, {"y", scaled}}, "y")}).ok());
  add_interface(model, b.function());
  const auto written = mlpackage::write_package(model, path, {.registry = &ops::op_registry()});
  EXPECT_TRUE(written.ok()) << written.status().message();
  return path;
}

inline Tensor halves(const Shape& shape, const std::vector<float>& values) {
  Tensor out(DType::kFp16, shape);
  store_floats(values, out.mutable_view());
  return out;
}

}  // namespace anemone::exec::coreml::testing
