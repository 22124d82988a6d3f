// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "exec/ane_direct/text_form.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/builder.h"
#include "ops/registry.h"

namespace anemone::exec::ane_direct {
namespace {

constexpr const char* kInput = "i0_x";

std::string output_name(std::size_t index) {
  return fmt::format("o{:02}_y", index);
}

Status check(const KernelSpec& spec) {
  const auto& matrices = spec.matrices;
  if (matrices.empty() || matrices.size() > kMostPorts)
    return unsupported("[{}] expected 1 to {} matrices, got {}", spec.name, kMostPorts,
                       matrices.size());
  for (const KernelMatrix& matrix : matrices) {
    const Shape& shape = matrix.weights.shape();
    if (matrix.weights.dtype() != DType::kFp16 || shape.size() != 2 ||
        shape[1] != matrices[0].weights.shape()[1])
      return invalid_argument("[{}] expected fp16 matrices of the same depth, got {}", spec.name,
                              to_string(shape));
    if (!matrix.bias.empty() &&
        (matrix.bias.dtype() != DType::kFp16 || matrix.bias.shape() != Shape{shape[0]}))
      return invalid_argument("[{}] expected an fp16 bias [{}], got {}", spec.name, shape[0],
                              to_string(matrix.bias.shape()));
    for (const std::int64_t channels : shape)
      if (channels < 1 || channels > kMostChannels)
        return unsupported("[{}] expected at most {} channels, got {}", spec.name, kMostChannels,
                           to_string(shape));
  }
  return {};
}

// The elements of a tensor under another shape.
ir::Literal literal_of(const Tensor& tensor, Shape shape) {
  return ir::Literal::of(Tensor::from<Half>(std::move(shape), tensor.view().as<Half>()));
}

// Numbers from -1 to 1 that look random and are the same on every machine.
Tensor test_activations(std::int64_t rows, std::int64_t columns) {
  Tensor out(DType::kFp16, {1, rows, 1, columns});
  std::uint32_t state = 12345;
  for (Half& value : out.mutable_view().as<Half>()) {
    state = state * 1664525u + 1013904223u;
    value = to_half(static_cast<float>(state >> 8) * 0x1p-23f - 1);
  }
  return out;
}

// Infinite where a number is not finite on one side.
double relative_error(std::span<const Half> got, std::span<const Half> expected) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double a = to_float(got[i]);
    const double b = to_float(expected[i]);
    if (got[i] == expected[i] && !std::isnan(a)) {
      if (std::isfinite(b)) size += b * b;
      continue;
    }
    difference += (a - b) * (a - b);
    size += b * b;
  }
  if (difference == 0) return 0;
  const double error = std::sqrt(difference / size);
  return std::isnan(error) ? INFINITY : error;
}

}  // namespace

Result<ir::Program> kernel_program(const KernelSpec& spec, ir::Opset target) {
  ANEMONE_RETURN_IF_ERROR(check(spec));
  const std::int64_t k = spec.matrices[0].weights.shape()[1];
  ir::Program program;
  add_build_info(program);
  ir::Builder b(program, ops::op_registry(), "main", target);
  ir::Value* x = b.input(kInput, ir::Type::tensor(DType::kFp16, {1, k, 1, spec.columns}));
  std::vector<ir::Value*> outputs;
  for (std::size_t i = 0; i < spec.matrices.size(); ++i) {
    const KernelMatrix& matrix = spec.matrices[i];
    const std::int64_t rows = matrix.weights.shape()[0];
    ir::Value* weight =
        b.constant(literal_of(matrix.weights, {rows, k, 1, 1}), fmt::format("w{:02}", i));
    const bool has_bias = !matrix.bias.empty();
    const std::string name = output_name(i);
    ir::Value* product = b.op("conv",
                              {{"x", x},
                               {"weight", weight},
                               {"strides", ir::Literal::int32s({1, 1})},
                               {"pad_type", ir::Literal::text("valid")},
                               {"pad", ir::Literal::int32s({0, 0, 0, 0})},
                               {"dilations", ir::Literal::int32s({1, 1})},
                               {"groups", ir::Literal::int32(1)}},
                              has_bias ? fmt::format("p{:02}", i) : name);
    if (has_bias) {
      ir::Value* bias =
          b.constant(literal_of(matrix.bias, {1, rows, 1, 1}), fmt::format("b{:02}", i));
      product = b.op("add", {{"x", product}, {"y", bias}}, name);
    }
    outputs.push_back(product);
  }
  ANEMONE_RETURN_IF_ERROR(b.finish(outputs));
  return program;
}

Kernel::Kernel(std::unique_ptr<LoadedAneProgram> program, std::string name, std::int64_t k,
               std::size_t outputs, std::int64_t columns)
    : program_(std::move(program)),
      name_(std::move(name)),
      k_(k),
      outputs_(outputs),
      columns_(columns) {}

Result<std::unique_ptr<Kernel>> Kernel::make(std::shared_ptr<const Device> device,
                                             KernelSpec spec) {
  ANEMONE_ASSIGN_OR_RETURN(ir::Program made, kernel_program(spec, device->target()));
  const auto program = std::make_shared<const ir::Program>(std::move(made));
  const std::int64_t k = spec.matrices[0].weights.shape()[1];
  const std::size_t outputs = spec.matrices.size();
  spec.matrices.clear();  // the program has copies
  ANEMONE_ASSIGN_OR_RETURN(auto loaded,
                           LoadedAneProgram::make(std::move(device), *program, spec.name));
  std::unique_ptr<Kernel> kernel(
      new Kernel(std::move(loaded), std::move(spec.name), k, outputs, spec.columns));
  ANEMONE_RETURN_IF_ERROR(kernel->compare(program));
  return kernel;
}

Status Kernel::compare(std::shared_ptr<const ir::Program> program) {
  ANEMONE_ASSIGN_OR_RETURN(const auto cpu,
                           load_program(std::move(program), {}, {}, CpuOptions{.threads = 1}));
  const Tensor x = test_activations(k_, columns_);
  Outputs expected;
  ANEMONE_RETURN_IF_ERROR(cpu->run("", {{kInput, x.view()}}, expected, nullptr));
  std::vector<Tensor> got;
  std::vector<Columns<Half>> outputs;
  for (std::size_t i = 0; i < outputs_; ++i) {
    const Tensor* tensor = find_output(expected, output_name(i));
    if (tensor == nullptr) return internal_error("[{}] expected output {}", name_, output_name(i));
    got.emplace_back(DType::kFp16, tensor->shape());
    outputs.push_back({got.back().mutable_view().as<Half>().data(), columns_, 1});
  }
  ANEMONE_RETURN_IF_ERROR(run({x.view().as<Half>().data(), columns_, 1}, columns_, outputs));
  for (std::size_t i = 0; i < outputs_; ++i) {
    const Tensor* tensor = find_output(expected, output_name(i));
    const double error = relative_error(got[i].view().as<Half>(), tensor->view().as<Half>());
    if (error > kMostError)
      return Status(Code::kDevice,
                    fmt::format("[{}] expected what the CPU engine computes, got output {} with a "
                                "relative error of {:.3g}",
                                name_, i, error));
  }
  return {};
}

Status Kernel::run(const Columns<const Half>& x, std::int64_t count,
                   std::span<const Columns<Half>> outputs) {
  if (outputs.size() != outputs_)
    return invalid_argument("[{}] expected {} outputs, got {}", name_, outputs_, outputs.size());
  const std::lock_guard lock(mutex_);
  for (std::int64_t first = 0; first < count; first += columns_) {
    const std::int64_t block = std::min(columns_, count - first);
    ANEMONE_RETURN_IF_ERROR(program_->write(0, x, first, block));
    ANEMONE_RETURN_IF_ERROR(program_->evaluate());
    for (std::size_t i = 0; i < outputs_; ++i)
      ANEMONE_RETURN_IF_ERROR(program_->read(i, first, block, outputs[i]));
  }
  return {};
}

}  // namespace anemone::exec::ane_direct
