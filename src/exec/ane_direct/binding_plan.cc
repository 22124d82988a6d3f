// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/binding_plan.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "exec/ane_direct/runtime.h"
#include "tensor/half.h"

namespace anemone::exec::ane_direct {
namespace {

constexpr std::uint64_t kMostBytes = 1ULL << 30;

Result<Port> port_of(const ir::Value& value, std::size_t index) {
  const ir::Type& type = value.type;
  const Shape& shape = type.shape;
  if (!type.is_tensor() || type.dtype != DType::kFp16 || shape.size() != 4 || !is_static(shape) ||
      shape[0] != 1)
    return unsupported("[{}] expected an fp16 tensor [1, C, H, S], got {}", value.name,
                       to_string(type));
  if (shape[3] < kColumnMultiple || shape[3] % kColumnMultiple != 0)
    return unsupported("[{}] expected a last axis that is a multiple of {}, got {}", value.name,
                       kColumnMultiple, shape[3]);
  const auto count = checked_element_count(shape);
  if (!count.ok() || *count <= 0 || static_cast<std::uint64_t>(*count) > kMostBytes / sizeof(Half))
    return unsupported("[{}] expected a surface of at most {} bytes, got the shape {}", value.name,
                       kMostBytes, to_string(shape));
  Port port{.name = value.name, .index = index, .rows = shape[1] * shape[2], .columns = shape[3]};
  // No rounding: kColumnMultiple columns are kRowBytes bytes.
  port.row_bytes = static_cast<std::uint64_t>(port.columns) * sizeof(Half);
  port.bytes = static_cast<std::uint64_t>(port.rows) * port.row_bytes;
  return port;
}
static_assert(kColumnMultiple * sizeof(Half) == kRowBytes);

Result<std::vector<Port>> ports_of(const std::vector<ir::Value*>& values, PortOrder order,
                                   std::string_view what) {
  if (values.empty() || values.size() > kMostPorts)
    return unsupported("[program] expected 1 to {} {}, got {}", kMostPorts, what, values.size());
  std::vector<Port> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(Port port, port_of(*values[i], i));
    out.push_back(std::move(port));
  }
  if (order == PortOrder::kAlphabetical) std::ranges::sort(out, {}, &Port::name);
  return out;
}

}  // namespace

Result<BindingPlan> plan_bindings(const ir::Function& function, const BindingOptions& options) {
  BindingPlan plan;
  ANEMONE_ASSIGN_OR_RETURN(plan.inputs, ports_of(function.inputs, options.inputs, "inputs"));
  ANEMONE_ASSIGN_OR_RETURN(plan.outputs,
                           ports_of(function.block->outputs, options.outputs, "outputs"));
  if (!options.has_equal_surfaces) return plan;
  std::uint64_t most = 0;
  for (const auto* ports : {&plan.inputs, &plan.outputs})
    for (const Port& port : *ports) most = std::max(most, port.bytes);
  for (auto* ports : {&plan.inputs, &plan.outputs})
    for (Port& port : *ports) port.bytes = most;
  return plan;
}

}  // namespace anemone::exec::ane_direct
