// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/interpreter.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "exec/cpu/op_call.h"
#include "exec/cpu/red_zone.h"

namespace anemone::exec {
namespace {

bool fits(const ir::Type& declared, const Register& value) {
  if (declared.kind == ir::Type::Kind::kList) return value.list != nullptr;
  if (!declared.is_tensor() || value.view.data == nullptr) return false;
  const Shape& shape = value.view.shape;
  if (declared.dtype != value.view.dtype || declared.shape.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (declared.shape[i] >= 0 && declared.shape[i] != shape[i]) return false;
  return true;
}

std::string describe_value(const Register& value) {
  if (value.list != nullptr) return "a list";
  if (value.view.data == nullptr) return "no tensor";
  return ir::to_string(ir::Type::tensor(value.view.dtype, value.view.shape));
}

}  // namespace

void Interpreter::release(Register& reg) {
  reg.view.data = nullptr;
  reg.list.reset();
  if (reg.buffer != nullptr) frame_.pool.give(std::move(reg.buffer));
  reg.buffer.reset();
}

void Interpreter::clear() {
  for (const int unplaced : function_.unplaced) release(reg(unplaced));
  frame_.pool.end_run();
}

std::byte* Interpreter::place_of(int reg) {
  const auto index = static_cast<std::size_t>(reg);
  std::byte* const place = frame_.places[index];
  // The caller's memory has no red zones.
  if (kRedZone > 0 && place == frame_.arena->data() + function_.memory.offsets[index]) {
    const ir::Type& type = function_.type(reg);
    const auto size =
        static_cast<std::int64_t>(TensorView{type.dtype, type.shape, place}.size_bytes());
    allow(place, static_cast<std::size_t>(size));
    forbid(place + size, static_cast<std::size_t>(MemoryPlan::place_bytes(size) - size));
  }
  return place;
}

Memory Interpreter::memory(int reg, std::uint64_t bytes) {
  if (function_.memory.has_place(reg)) return {place_of(reg)};
  BufferRef buffer = frame_.pool.take(bytes);
  std::byte* data = buffer == nullptr ? nullptr : buffer->data();
  return {data, std::move(buffer)};
}

Result<Register> Interpreter::allocate(const PreparedOp& op, DType dtype, Shape shape) {
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t count, checked_element_count(shape));
  const std::uint64_t bytes = dtype_bytes(dtype, static_cast<std::uint64_t>(count));
  Register out;
  out.buffer = frame_.pool.take(bytes);
  if (out.buffer == nullptr)
    return out_of_memory("{} expected {} bytes of memory, got none", describe(op), bytes);
  out.view = {dtype, std::move(shape), out.buffer->data()};
  return out;
}

Status Interpreter::set_output(const PreparedOp& op, std::size_t i, Register value) {
  const ir::Type& declared = function_.type(op.outputs[i]);
  if (!fits(declared, value))
    return corrupt("{} expected an output of {}, got {}", describe(op), ir::to_string(declared),
                   describe_value(value));
  Register& out = reg(op.outputs[i]);
  release(out);
  out = std::move(value);
  return {};
}

Status Interpreter::run(const PreparedFunction& function, std::span<Interpreter> runs,
                        const FusedContext& context, OpTimes* times,
                        const std::function<void()>* meanwhile) {
  std::optional<OpTimer> timer;
  if (times != nullptr) timer.emplace(*times);
  for (const Interpreter& run : runs)
    forbid(run.frame_.arena->data(), static_cast<std::size_t>(function.memory.arena_bytes));
  // Runs over the same states are in different waves, in their order.
  std::vector<std::vector<Interpreter*>> waves;
  std::vector<Interpreter*> all;
  for (Interpreter& run : runs) {
    const auto wave = static_cast<std::size_t>(std::ranges::count_if(
        all, [&](const Interpreter* earlier) { return &earlier->states_ == &run.states_; }));
    if (wave == waves.size()) waves.emplace_back();
    waves[wave].push_back(&run);
    all.push_back(&run);
  }
  std::vector<FusedCall> calls(runs.size());
  // Operations [begin, end), each for all of these runs.
  const auto run_ops = [&](std::size_t begin, std::size_t end,
                           const std::vector<Interpreter*>& all_of_these) -> Status {
    std::vector<Interpreter*> read;
    for (Interpreter* run : all_of_these)
      if (run->wants_outputs_) read.push_back(run);
    for (std::size_t k = begin; k < end; ++k) {
      const PreparedOp& op = function.block.ops[k];
      const std::vector<Interpreter*>& these = op.is_for_outputs ? read : all_of_these;
      if (op.is_placed_view || these.empty()) continue;
      if (op.kind == PreparedOp::Kind::kFused) {
        for (std::size_t i = 0; i < these.size(); ++i)
          ANEMONE_RETURN_IF_ERROR(these[i]->bind(op, calls[i]));
        context.bytes_read = 0;
        ANEMONE_RETURN_IF_ERROR(op.fused->run(std::span(calls).first(these.size()), context));
        if (times != nullptr) times->add_bytes(k, context.bytes_read);
      } else {
        for (Interpreter* run : these) ANEMONE_RETURN_IF_ERROR(run->run_op(op));
      }
      for (Interpreter* run : these) run->release_dead(op);
      if (timer) timer->done(k);
      if (meanwhile != nullptr) (*meanwhile)();
    }
    return {};
  };
  std::size_t done = 0;
  for (const PreparedFunction::Stretch& stretch : function.stretches) {
    ANEMONE_RETURN_IF_ERROR(run_ops(done, stretch.begin, all));
    for (const auto& wave : waves)
      ANEMONE_RETURN_IF_ERROR(run_ops(stretch.begin, stretch.end, wave));
    done = stretch.end;
  }
  return run_ops(done, function.block.ops.size(), all);
}

void Interpreter::release_dead(const PreparedOp& op) {
  for (const int dead : op.dead_after)
    if (!function_.memory.has_place(dead)) release(reg(dead));
}

Status Interpreter::run_block(const PreparedBlock& block) {
  for (const PreparedOp& op : block.ops) {
    ANEMONE_RETURN_IF_ERROR(run_op(op));
    release_dead(op);
  }
  return {};
}

Status Interpreter::run_op(const PreparedOp& op) {
  switch (op.kind) {
    case PreparedOp::Kind::kKernel:
    case PreparedOp::Kind::kUpdateState:
      return run_kernel(op);
    case PreparedOp::Kind::kView:
      return run_view(op);
    case PreparedOp::Kind::kReadState:
      return read_state(op);
    case PreparedOp::Kind::kWriteState:
      return write_state(op);
    case PreparedOp::Kind::kCond:
      return run_cond(op);
    case PreparedOp::Kind::kWhile:
      return run_while(op);
    case PreparedOp::Kind::kClassify:
      return classify(op);
    default:
      return run_list_op(op);
  }
}

Status Interpreter::run_kernel(const PreparedOp& op) {
  const auto take = [&](int reg, std::uint64_t bytes) -> Memory {
    if (op.kind == PreparedOp::Kind::kUpdateState) {
      // Another run, or a value that was written since, may have given the state other memory.
      const BufferRef& state = states_[static_cast<std::size_t>(op.state)];
      if (this->reg(op.updated_register()).view.data == state->data())
        return {state->data(), state};
    }
    return memory(reg, bytes);
  };
  ANEMONE_RETURN_IF_ERROR(
      call_kernel(op, function_.types, frame_.registers, take, threads_, results_));
  for (std::size_t i = 0; i < results_.size(); ++i) {
    Register& out = reg(op.outputs[i]);
    release(out);
    std::swap(out.view, results_[i].view);
    out.buffer = std::move(results_[i].buffer);
  }
  return {};
}

Status Interpreter::run_view(const PreparedOp& op) {
  const Register& in = reg(op.reg("x"));
  const std::byte* at = in.view.data;
  std::uint64_t left = in.view.size_bytes();
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const ir::Type& type = function_.type(op.outputs[i]);
    Register& out = reg(op.outputs[i]);
    release(out);
    out.view.dtype = type.dtype;
    out.view.shape = type.shape;
    out.view.data = at;
    out.buffer = in.buffer;
    const std::uint64_t bytes = out.view.size_bytes();
    if (bytes > left)
      return corrupt("{} expected at most {} bytes, got {}", describe(op), left, bytes);
    at += bytes;
    left -= bytes;
  }
  return {};
}

Status Interpreter::bind(const PreparedOp& op, FusedCall& call) {
  call.inputs.clear();
  for (const int index : op.operands.front().registers) call.inputs.push_back(&reg(index).view);
  call.states.clear();
  for (const StateRow& row : op.fused_states) {
    const Feature& feature = *function_.states[static_cast<std::size_t>(row.state)];
    const auto last = feature.shape.end();
    std::byte* data = states_[static_cast<std::size_t>(row.state)]->data();
    if (row.row >= 0) {
      const auto elements = static_cast<std::uint64_t>(last[-3] * last[-2] * last[-1]);
      data += row.row * static_cast<std::int64_t>(dtype_bytes(feature.dtype, elements));
    }
    call.states.push_back({data, last[-2]});
  }
  for (const int cache : op.fused_caches)
    call.states.push_back(caches_[static_cast<std::size_t>(cache)]);
  call.real = real_;
  call.needs_outputs = wants_outputs_ || !op.gives_for_outputs;
  call.outputs.resize(1);
  MutableTensorView& view = call.outputs[0];
  const ir::Type& declared = function_.type(op.outputs[0]);
  view.dtype = declared.dtype;
  // Not by one expression, which would make a copy of the shape first.
  if (op.is_statically_checked)
    view.shape = declared.shape;
  else
    view.shape = op.fused->output_shape(call.inputs);
  if (op.is_statically_checked && function_.memory.has_place(op.outputs[0])) {
    // The register views its place already.
    view.data = place_of(op.outputs[0]);
    return {};
  }
  if (!op.is_statically_checked &&
      !ir::is_compatible(declared, ir::Type::tensor(view.dtype, view.shape)))
    return corrupt("{} expected an output of {}, got {}", describe(op), ir::to_string(declared),
                   to_string(view.shape));
  Register& out = reg(op.outputs[0]);
  release(out);
  const std::uint64_t bytes = TensorView{view.dtype, view.shape, nullptr}.size_bytes();
  Memory place = memory(op.outputs[0], bytes);
  if (place.data == nullptr)
    return out_of_memory("{} expected {} bytes of memory, got none", describe(op), bytes);
  view.data = place.data;
  out.view = {view.dtype, view.shape, view.data};
  out.buffer = std::move(place.buffer);
  return {};
}

Status Interpreter::read_state(const PreparedOp& op) {
  const ir::Type& type = op.op->input("input")->type;
  Register value;
  value.buffer = states_[static_cast<std::size_t>(op.state)];
  value.view = {type.dtype, type.shape, value.buffer->data()};
  return set_output(op, 0, std::move(value));
}

Status Interpreter::write_state(const PreparedOp& op) {
  const ir::Type& type = op.op->input("input")->type;
  const Register& value = reg(op.reg("data"));
  if (!fits(ir::Type::tensor(type.dtype, type.shape), value))
    return corrupt("{} expected {}, got {}", describe(op), ir::to_string(type),
                   describe_value(value));
  BufferRef& state = states_[static_cast<std::size_t>(op.state)];
  // Nobody writes to a buffer after the operation that made it, so the value becomes the state as
  // it is. Constants and inputs belong to others, and a view into the middle of a buffer is no
  // whole state.
  BufferRef next = value.buffer;
  if (next == nullptr || next->data() != value.view.data) {
    ANEMONE_ASSIGN_OR_RETURN(Register copy, allocate(op, type.dtype, type.shape));
    std::memcpy(copy.buffer->data(), value.view.data,
                static_cast<std::size_t>(value.view.size_bytes()));
    next = std::move(copy.buffer);
  }
  frame_.pool.give(std::exchange(state, std::move(next)));
  return {};
}

Result<bool> Interpreter::truth(const PreparedOp& op, int index) const {
  const Register& value = reg(index);
  if (value.view.data == nullptr || value.view.dtype != DType::kBool || value.view.size() != 1)
    return corrupt("{} expected one bool as condition, got {}", describe(op),
                   describe_value(value));
  return value.view.data[0] != std::byte{0};
}

Status Interpreter::run_cond(const PreparedOp& op) {
  ANEMONE_ASSIGN_OR_RETURN(const bool is_true, truth(op, op.reg("pred")));
  const PreparedBlock& block = op.blocks[is_true ? 0 : 1];
  ANEMONE_RETURN_IF_ERROR(run_block(block));
  for (std::size_t i = 0; i < block.outputs.size(); ++i)
    ANEMONE_RETURN_IF_ERROR(set_output(op, i, reg(block.outputs[i])));
  for (const int index : block.owned_outputs) release(reg(index));
  return {};
}

// Puts loop variables into the inputs of a block.
Status Interpreter::enter(const PreparedOp& op, std::size_t index,
                          const std::vector<Register>& values) {
  const PreparedBlock& block = op.blocks[index];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ir::Value* declared = op.op->blocks[index]->inputs[i];
    const ir::Type& type = function_.type(block.inputs[i]);
    if (!fits(type, values[i]))
      return corrupt("{} expected loop variable {} to be {}, got {}", describe(op), declared->name,
                     ir::to_string(type), describe_value(values[i]));
    Register& target = reg(block.inputs[i]);
    release(target);
    target = values[i];
  }
  return {};
}

Status Interpreter::run_while(const PreparedOp& op) {
  std::vector<Register> variables;
  for (const int index : op.operand("loop_vars")->registers) variables.push_back(reg(index));
  while (true) {
    ANEMONE_RETURN_IF_ERROR(enter(op, 0, variables));
    ANEMONE_RETURN_IF_ERROR(run_block(op.blocks[0]));
    ANEMONE_ASSIGN_OR_RETURN(const bool goes_on, truth(op, op.blocks[0].outputs[0]));
    for (const int index : op.blocks[0].inputs) release(reg(index));
    if (!goes_on) break;
    if (rounds_left_-- == 0)
      return corrupt("{} ran its loops for more than {} rounds", describe(op), max_rounds_);
    ANEMONE_RETURN_IF_ERROR(enter(op, 1, variables));
    // The body alone holds the variables now, so that it can free or reuse them.
    for (Register& variable : variables) release(variable);
    ANEMONE_RETURN_IF_ERROR(run_block(op.blocks[1]));
    for (std::size_t i = 0; i < variables.size(); ++i) variables[i] = reg(op.blocks[1].outputs[i]);
    for (const int index : op.blocks[1].owned_outputs) release(reg(index));
    for (const int index : op.blocks[1].inputs) release(reg(index));
  }
  for (std::size_t i = 0; i < variables.size(); ++i)
    ANEMONE_RETURN_IF_ERROR(set_output(op, i, std::move(variables[i])));
  return {};
}

// The dictionary is handed out as the probabilities in class order, so that is what its register
// holds. An int64 label is the class of the largest probability; a string label stays empty.
Status Interpreter::classify(const PreparedOp& op) {
  const Register probabilities = reg(op.reg("probabilities"));
  Register& dictionary = reg(op.outputs[1]);
  release(dictionary);
  dictionary = probabilities;
  const auto classes = op.op->inputs.find("classes");
  const ir::Literal* literal =
      classes == op.op->inputs.end() ? nullptr : ir::constant_of(classes->second.front());
  if (op.op->outputs[0]->type.dtype != DType::kInt64 || literal == nullptr) return {};
  const std::vector<float> values = to_floats(probabilities.view);
  const auto best =
      static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  if (best >= literal->items().size())
    return corrupt("{} expected a label for each of {} probabilities, got {} labels", describe(op),
                   values.size(), literal->items().size());
  ANEMONE_ASSIGN_OR_RETURN(const Tensor label, literal->items()[best].to_tensor());
  if (label.view().size() != 1)
    return corrupt("{} expected the label of class {} to be a single number, got shape {}",
                   describe(op), best, to_string(label.view().shape));
  ANEMONE_ASSIGN_OR_RETURN(Register out, allocate(op, DType::kInt64, {}));
  const std::int64_t number = element_as_int(label.view(), 0);
  std::memcpy(out.buffer->data(), &number, sizeof(number));
  return set_output(op, 0, std::move(out));
}

}  // namespace anemone::exec
