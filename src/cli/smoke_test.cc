// SPDX-License-Identifier: Apache-2.0
#include "cli/smoke_test.h"

#include "base/error.h"
#include "ir/builder.h"
#include "mlpackage/package_writer.h"
#include "ops/registry.h"

namespace anemone::cli {
namespace {

// y = W x + b with W = 2 I and b = (0, 1, 2, 3): exact in fp32. 16 weights are enough for a blob of
// their own in the weight file.
constexpr std::int64_t kSize = 4;

Tensor filled(Shape shape, const std::vector<float>& values) {
  Tensor out(DType::kFp32, std::move(shape));
  store_floats(values, out.mutable_view());
  return out;
}

Status write_smoke_test(const std::string& package) {
  std::vector<float> weight(kSize * kSize, 0.0F);
  for (std::size_t i = 0; i < kSize; ++i) weight[i * (kSize + 1)] = 2;
  mlpackage::Model model;
  ir::Builder builder(model.program, ops::op_registry(), "main", ir::Opset::kIOS18);
  ir::Value* x = builder.input("x", ir::Type::tensor(DType::kFp32, {1, kSize}));
  ir::Value* y = builder.op("linear",
                            {{"x", x},
                             {"weight", ir::Literal::of(filled({kSize, kSize}, weight))},
                             {"bias", ir::Literal::of(filled({kSize}, {0, 1, 2, 3}))}},
                            "y");
  ANEMONE_RETURN_IF_ERROR(builder.finish({y}));
  ANEMONE_ASSIGN_OR_RETURN(auto interface, mlpackage::describe_function(builder.function()));
  model.functions.push_back(std::move(interface));
  return mlpackage::write_package(model, package, {.registry = &ops::op_registry()}).status();
}

}  // namespace

Status run_smoke_test(exec::Executor& executor, const std::string& folder) {
  const std::string package = folder + "/smoke_test.mlpackage";
  ANEMONE_RETURN_IF_ERROR(write_smoke_test(package));
  ANEMONE_ASSIGN_OR_RETURN(const auto program, executor.load(package));
  const Tensor x = filled({1, kSize}, {1, -2, 3, 0.5F});
  exec::Outputs outputs;
  ANEMONE_RETURN_IF_ERROR(program->run("", {{"x", x.view()}}, outputs, nullptr));
  const Tensor* y = exec::find_output(outputs, "y");
  if (y == nullptr || to_floats(y->view()) != std::vector<float>{2, -3, 8, 4})
    return check_not_met(
        "[smoke test] expected 2, -3, 8, 4 from the {} executor, got other numbers",
        executor.name());
  return {};
}

}  // namespace anemone::cli
