// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/op_call.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace anemone::exec {

const Operand* PreparedOp::operand(std::string_view name) const {
  for (const Operand& operand : operands)
    if (operand.name == name) return &operand;
  return nullptr;
}

int PreparedOp::reg(std::string_view name) const {
  const Operand* found = operand(name);
  ANEMONE_CHECK(found != nullptr && !found->registers.empty());
  return found->registers.front();
}

int PreparedOp::updated_register() const {
  if (updated_operand.empty() || (kind != Kind::kKernel && kind != Kind::kUpdateState)) return -1;
  const int updated = reg(updated_operand);
  std::ptrdiff_t uses = 0;
  for (const Operand& each : operands) uses += std::ranges::count(each.registers, updated);
  return uses == 1 ? updated : -1;
}

namespace {

const Register& argument(const PreparedOp& op, const Registers& registers,
                         std::string_view parameter, std::size_t i) {
  const Operand* operand = op.operand(parameter);
  ANEMONE_CHECK(operand != nullptr && i < operand->registers.size());
  return registers[static_cast<std::size_t>(operand->registers[i])];
}

std::size_t count_of(const PreparedOp& op, std::string_view parameter) {
  const Operand* operand = op.operand(parameter);
  return operand == nullptr ? 0 : operand->registers.size();
}

Status check_output(const PreparedOp& op, const ir::Type& declared, const ir::Type& actual) {
  if (ir::is_compatible(declared, actual)) return {};
  return corrupt("{} expected an output of {}, got {}", describe(op), ir::to_string(declared),
                 ir::to_string(actual));
}

}  // namespace

std::string describe(const PreparedOp& op) {
  return fmt::format("[{} \"{}\"]", op.op->type, op.op->name);
}

Allocate separate_buffers(std::shared_ptr<MemoryLimit> limit) {
  return [limit = std::move(limit)](int /*reg*/, std::uint64_t bytes) -> Memory {
    BufferRef buffer = Buffer::make(bytes, limit);
    std::byte* data = buffer == nullptr ? nullptr : buffer->data();
    return {data, std::move(buffer)};
  };
}

std::size_t OpCall::count(std::string_view parameter) const {
  return count_of(op_, parameter);
}

TensorView OpCall::input(std::string_view parameter, std::size_t i) const {
  return argument(op_, registers_, parameter, i).view;
}

std::string_view OpCall::text(std::string_view parameter, std::string_view fallback) const {
  if (count_of(op_, parameter) == 0) return fallback;
  return argument(op_, registers_, parameter, 0).text.value_or(fallback);
}

std::size_t RegisterInferContext::count(std::string_view parameter) const {
  return count_of(op_, parameter);
}

const ir::Type& RegisterInferContext::type(std::string_view parameter, std::size_t i) const {
  const Operand* operand = op_.operand(parameter);
  ANEMONE_CHECK(operand != nullptr && i < operand->registers.size());
  const auto index = static_cast<std::size_t>(operand->registers[i]);
  const Register& reg = registers_[index];
  if (reg.text.has_value())
    types_.push_back(ir::Type::scalar(DType::kString));
  else if (reg.view.data == nullptr && types_of_registers_ != nullptr)
    return (*types_of_registers_)[index];
  else
    types_.push_back(ir::Type::tensor(reg.view.dtype, reg.view.shape));
  return types_.back();
}

const ir::Type& RegisterInferContext::declared_type(std::string_view parameter) const {
  const ir::Value* value = op_.op->input(parameter);
  return value == nullptr ? type(parameter, 0) : value->type;
}

std::optional<TensorView> RegisterInferContext::value(std::string_view parameter,
                                                      std::size_t i) const {
  const Register& reg = argument(op_, registers_, parameter, i);
  if (reg.text.has_value()) return std::nullopt;
  if (reg.view.data == nullptr) {
    has_asked_unknown_ = true;
    return std::nullopt;
  }
  return reg.view;
}

std::optional<std::string_view> RegisterInferContext::text(std::string_view parameter) const {
  if (count_of(op_, parameter) == 0) return std::nullopt;
  const Register& reg = argument(op_, registers_, parameter, 0);
  if (!reg.text.has_value()) has_asked_unknown_ = true;
  return reg.text;
}

Status call_kernel(const PreparedOp& op, const Types& types, const Registers& registers,
                   const Allocate& allocate, ThreadPool& threads, std::vector<Register>& results) {
  const std::size_t count = op.outputs.size();
  std::vector<ir::Type> inferred;
  // The rule is asked even if the plan has the types: the kernel counts on what it says of the
  // values of this run, and the memory on what it says of their sizes.
  if (!op.is_statically_checked) {
    const RegisterInferContext context(op, registers, nullptr);
    if (Status status = op.schema->infer(context, inferred); !status.ok())
      return Status(status.code(), describe(op) + " " + status.message());
    if (inferred.size() != count)
      return corrupt("{} expected {} outputs, got {}", describe(op), count, inferred.size());
  }
  std::vector<MutableTensorView> outputs(count);
  results.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const ir::Type& declared = types[static_cast<std::size_t>(op.outputs[i])];
    if (!op.is_statically_checked) ANEMONE_RETURN_IF_ERROR(check_output(op, declared, inferred[i]));
    const ir::Type& type = op.is_statically_checked ? declared : inferred[i];
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t elements, checked_element_count(type.shape));
    const std::uint64_t bytes = dtype_bytes(type.dtype, static_cast<std::uint64_t>(elements));
    Register& reg = results[i];
    Memory memory = allocate(op.outputs[i], bytes);
    if (memory.data == nullptr)
      return out_of_memory("{} not enough memory: the output needs {} bytes", describe(op), bytes);
    reg.buffer = std::move(memory.buffer);
    outputs[i] = {type.dtype, type.shape, memory.data};
    reg.view = outputs[i];
  }
  const OpCall call(op, registers, outputs, threads);
  if (Status status = op.kernel(call); !status.ok())
    return Status(status.code(), describe(op) + " " + status.message());
  return {};
}

}  // namespace anemone::exec
