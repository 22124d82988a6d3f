// SPDX-License-Identifier: Apache-2.0
// How kernels and type rules see one operation of a run.
#pragma once

#include <anemone/status.h>

#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/cpu/prepared_program.h"
#include "exec/cpu/register.h"
#include "ir/op_schema.h"
#include "kernels/kernel.h"

namespace anemone::exec {

// Operands and outputs of one kernel call. Lives for the call.
class OpCall : public kernels::KernelCall {
 public:
  OpCall(const PreparedOp& op, const Registers& registers, std::vector<MutableTensorView>& outputs,
         ThreadPool& threads)
      : op_(op), registers_(registers), outputs_(outputs), threads_(threads) {}
  std::size_t count(std::string_view parameter) const override;
  TensorView input(std::string_view parameter, std::size_t i) const override;
  std::string_view text(std::string_view parameter, std::string_view fallback) const override;
  std::size_t output_count() const override { return outputs_.size(); }
  MutableTensorView output(std::size_t i) const override { return outputs_[i]; }
  ThreadPool& threads() const override { return threads_; }

 private:
  const PreparedOp& op_;
  const Registers& registers_;
  std::vector<MutableTensorView>& outputs_;
  ThreadPool& threads_;
};

using Types = std::vector<ir::Type>;

// Registers as types and known values, of a run or of a plan. Lives for the call of one type rule.
class RegisterInferContext : public ir::InferContext {
 public:
  // `types`: of the registers that have no value yet; null in a run, where all have one.
  RegisterInferContext(const PreparedOp& op, const Registers& registers, const Types* types)
      : op_(op), registers_(registers), types_of_registers_(types) {}
  ir::Opset opset() const override { return op_.opset; }
  std::size_t count(std::string_view parameter) const override;
  const ir::Type& type(std::string_view parameter, std::size_t i) const override;
  std::optional<TensorView> value(std::string_view parameter, std::size_t i) const override;
  std::optional<std::string_view> text(std::string_view parameter) const override;
  bool is_constant(std::string_view, std::size_t) const override { return true; }
  std::size_t output_count() const override { return op_.outputs.size(); }
  // Whether the rule asked for a value that is not known yet: its answer may be another in a run.
  bool has_asked_unknown() const { return has_asked_unknown_; }
  const ir::Type* declared_output(std::size_t i) const override {
    return &op_.op->outputs[i]->type;
  }
  const ir::Type& declared_type(std::string_view parameter) const override;

 private:
  const PreparedOp& op_;
  const Registers& registers_;
  const Types* const types_of_registers_;
  mutable std::deque<ir::Type> types_;
  mutable bool has_asked_unknown_ = false;
};

// Memory for a value; `data` is null when there is none.
struct Memory {
  std::byte* data = nullptr;
  BufferRef buffer = {};  // that it lies in; null in an arena
};
// Gives the memory of one output, by its register.
using Allocate = std::function<Memory(int reg, std::uint64_t bytes)>;
// Gives each output a buffer that nothing else shares, counted against the limit.
Allocate separate_buffers(std::shared_ptr<MemoryLimit> limit);

// Runs the kernel of `op` over `registers` and sets `results`, one per output. Before that it asks
// the type rule, unless it was checked statically: kCorrupt when the rule refuses the values of the
// run, or gives what contradicts `types`, PreparedFunction's.
Status call_kernel(const PreparedOp& op, const Types& types, const Registers& registers,
                   const Allocate& allocate, ThreadPool& threads, std::vector<Register>& results);

// "[conv "q_proj"]": how errors name an operation.
std::string describe(const PreparedOp& op);

}  // namespace anemone::exec
