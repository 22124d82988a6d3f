// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/port_order.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "exec/ane_direct/loaded_program.h"
#include "exec/ane_direct/text_form.h"
#include "ir/builder.h"
#include "ops/registry.h"

namespace anemone::exec::ane_direct {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kCount = kRows * kColumnMultiple;
constexpr float kFactors[] = {2, 4};  // of the outputs, as the program has them

// Declared as (beta, alpha) -> (omega = 2 beta, delta = 4 alpha).
Result<ir::Program> marker_program(ir::Opset target) {
  ir::Program program;
  add_build_info(program);
  ir::Builder b(program, ops::op_registry(), "main", target);
  const ir::Type type = ir::Type::tensor(DType::kFp16, {1, kRows, 1, kColumnMultiple});
  ir::Value* beta = b.input("beta", type);
  ir::Value* alpha = b.input("alpha", type);
  const auto scaled = [&](ir::Value* x, float factor, const char* name) {
    return b.op("mul", {{"x", x}, {"y", ir::Literal::number(factor, DType::kFp16)}}, name);
  };
  ir::Value* omega = scaled(beta, kFactors[0], "omega");
  ir::Value* delta = scaled(alpha, kFactors[1], "delta");
  ANEMONE_RETURN_IF_ERROR(b.finish({omega, delta}));
  return program;
}

// Element i of input k. All of them, and their multiples, are different and exact in fp16.
float marker(std::size_t input, std::size_t i) {
  return static_cast<float>(1 + i + input * static_cast<std::size_t>(kCount + 1));
}

}  // namespace

Result<BindingOptions> measure_port_order(std::shared_ptr<const Device> device) {
  constexpr std::string_view kSubject = "self-test of the order of surfaces";
  ANEMONE_ASSIGN_OR_RETURN(const ir::Program program, marker_program(device->target()));
  // As if the order were that of the program, so that input k and output k are those at position k.
  const BindingOptions declared = {PortOrder::kDeclared, PortOrder::kDeclared, false};
  ANEMONE_ASSIGN_OR_RETURN(
      const auto loaded,
      LoadedAneProgram::make(std::move(device), program, std::string(kSubject), declared));
  std::vector<Half> values(static_cast<std::size_t>(kCount));
  for (std::size_t k = 0; k < 2; ++k) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_half(marker(k, i));
    ANEMONE_RETURN_IF_ERROR(
        loaded->write(k, {values.data(), kColumnMultiple, 1}, 0, kColumnMultiple));
  }
  ANEMONE_RETURN_IF_ERROR(loaded->evaluate());
  std::vector<std::vector<Half>> got;
  for (std::size_t k = 0; k < 2; ++k) {
    ANEMONE_RETURN_IF_ERROR(
        loaded->read(k, 0, kColumnMultiple, {values.data(), kColumnMultiple, 1}));
    got.push_back(values);
  }
  // Position k holds the input that the program declares there, or the other one of the two.
  const auto fits = [&](bool swaps_inputs, bool swaps_outputs) {
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t output = swaps_outputs ? 1 - k : k;
      const std::size_t input = swaps_inputs ? 1 - output : output;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (to_float(got[k][i]) != kFactors[output] * marker(input, i)) return false;
    }
    return true;
  };
  for (const bool swaps_inputs : {true, false})
    for (const bool swaps_outputs : {true, false})
      if (fits(swaps_inputs, swaps_outputs))
        return BindingOptions{
            .inputs = swaps_inputs ? PortOrder::kAlphabetical : PortOrder::kDeclared,
            .outputs = swaps_outputs ? PortOrder::kAlphabetical : PortOrder::kDeclared};
  return Status(Code::kDevice,
                fmt::format("[{}] expected the markers in some order, got {}, {}, .. "
                            "and {}, {}, ..",
                            kSubject, to_float(got[0][0]), to_float(got[0][1]), to_float(got[1][0]),
                            to_float(got[1][1])));
}

}  // namespace anemone::exec::ane_direct
