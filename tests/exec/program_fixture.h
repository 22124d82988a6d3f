// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "exec/cpu/cpu_executor.h"
#include "ir/builder.h"
#include "ops/registry.h"
#include "tensor/tensor.h"

namespace anemone::exec {

using ir::Builder;
using ir::Literal;
using ir::Opset;
using ir::Program;
using ir::Type;
using ir::Value;

inline Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::from<float>(std::move(shape), values);
}
inline Tensor ints(Shape shape, const std::vector<std::int32_t>& values) {
  return Tensor::from<std::int32_t>(std::move(shape), values);
}

// A program under construction and what it is loaded with.
struct ProgramFixture : ::testing::Test {
  std::shared_ptr<Program> program = std::make_shared<Program>();
  ProgramInterface interface;
  CpuOptions options{.threads = 2};

  Builder function(std::string name = "main") {
    return Builder(*program, ops::op_registry(), std::move(name), Opset::kIOS18);
  }

  std::shared_ptr<const LoadedProgram> load() {
    auto loaded = load_program(program, interface, {}, options);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return loaded.ok() ? *loaded : nullptr;
  }

  // Runs and returns one output as floats; empty after an error, which is in `status`.
  std::vector<float> run(const LoadedProgram& loaded, const Inputs& inputs, std::string_view output,
                         StateStore* states = nullptr, std::string_view name = "") {
    Outputs outputs;
    status = loaded.run(name, inputs, outputs, states);
    if (!status.ok()) return {};
    const Tensor* tensor = find_output(outputs, output);
    EXPECT_NE(tensor, nullptr) << output;
    return tensor == nullptr ? std::vector<float>() : to_floats(tensor->view());
  }

  Status status;
};

}  // namespace anemone::exec
