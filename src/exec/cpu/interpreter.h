// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "exec/cpu/buffer_pool.h"
#include "exec/cpu/fusion/fused_op.h"
#include "exec/cpu/op_call.h"
#include "exec/cpu/op_times.h"
#include "exec/cpu/prepared_program.h"
#include "exec/cpu/register.h"

namespace anemone::exec {

// What one run writes to; kept between runs of the same function, so that a decode loop finds its
// buffers. Single-thread.
struct Frame {
  explicit Frame(std::shared_ptr<MemoryLimit> limit) : pool(std::move(limit)) {}
  // Starts as a copy of PreparedFunction::initial. Registers that have a place keep their view.
  Registers registers;
  BufferRef arena = nullptr;       // MemoryPlan::arena_bytes
  std::vector<std::byte*> places;  // of the registers; null where MemoryPlan gives none
  BufferPool pool;                 // of values that MemoryPlan gives no place
};

// Walks the operations of one function in order, for one set of inputs. Lives for one run.
class Interpreter {
 public:
  // `states` has one buffer per state of the function. A write replaces the reference here; what
  // the caller commits after success is this vector. Runs of a batch over the same states share it.
  // `max_rounds` bounds the rounds of all loops together. `caches`: the memory of
  // PreparedFunction::caches.
  Interpreter(const PreparedFunction& function, Frame& frame, std::vector<BufferRef>& states,
              std::span<const FusedState> caches, ThreadPool& threads, std::int64_t max_rounds,
              RealTokens real = {}, bool wants_outputs = true)
      : function_(function),
        frame_(frame),
        states_(states),
        caches_(caches),
        threads_(threads),
        max_rounds_(max_rounds),
        real_(real),
        wants_outputs_(wants_outputs) {}

  // Runs of one function as a batch: an operation for all of them, then the next. The registers of
  // the inputs are set; after success those of the outputs are. `times` may be null; `meanwhile`,
  // too: it is called after each operation. Those without `wants_outputs` leave out what only
  // outputs need.
  static Status run(const PreparedFunction& function, std::span<Interpreter> runs,
                    const FusedContext& context, OpTimes* times,
                    const std::function<void()>* meanwhile);
  // Drops all values without a place, so that the frame holds no input of the caller's; constants
  // stay.
  void clear();

 private:
  Status run_block(const PreparedBlock& block);
  Status run_op(const PreparedOp& op);
  void release_dead(const PreparedOp& op);
  Status run_kernel(const PreparedOp& op);
  Status run_view(const PreparedOp& op);
  // Operands of a fused operation, with memory for its output.
  Status bind(const PreparedOp& op, FusedCall& call);
  Status read_state(const PreparedOp& op);
  Status write_state(const PreparedOp& op);
  Status run_cond(const PreparedOp& op);
  Status run_while(const PreparedOp& op);
  Status classify(const PreparedOp& op);
  Status enter(const PreparedOp& op, std::size_t block, const std::vector<Register>& values);
  Result<bool> truth(const PreparedOp& op, int reg) const;

  // interpreter_lists.cc
  Status run_list_op(const PreparedOp& op);
  Status make_list(const PreparedOp& op);
  Status list_length(const PreparedOp& op);
  Status list_read(const PreparedOp& op);
  Status list_write(const PreparedOp& op);
  Status list_gather(const PreparedOp& op);
  Status list_scatter(const PreparedOp& op);
  // The one integer of a parameter; a tensor of unknown size may turn out to have none.
  Result<std::int64_t> integer(const PreparedOp& op, std::string_view parameter) const;
  // The list "ls" to be changed.
  Result<std::shared_ptr<List>> take_list(const PreparedOp& op);
  // Gives a list so many items; kOutOfMemory.
  Status resize(const PreparedOp& op, List& list, std::int64_t length);
  Status put(const PreparedOp& op, List& list, std::int64_t index, Register value);
  // Counts items that are made or copied one by one.
  Status count_items(const PreparedOp& op, std::int64_t items);
  Status set_list_output(const PreparedOp& op, std::shared_ptr<List> list);

  Register& reg(int index) { return frame_.registers[static_cast<std::size_t>(index)]; }
  const Register& reg(int index) const { return frame_.registers[static_cast<std::size_t>(index)]; }
  // The place of a register that has one, made ready to be written.
  std::byte* place_of(int reg);
  // Memory for an output: its place, or memory of its own.
  Memory memory(int reg, std::uint64_t bytes);
  // New memory for a value of the interpreter's own making.
  Result<Register> allocate(const PreparedOp& op, DType dtype, Shape shape);
  // Sets an output after comparing it with its type.
  Status set_output(const PreparedOp& op, std::size_t i, Register value);
  void release(Register& reg);

  const PreparedFunction& function_;
  Frame& frame_;
  std::vector<BufferRef>& states_;
  const std::span<const FusedState> caches_;
  ThreadPool& threads_;
  std::vector<Register> results_;
  const std::int64_t max_rounds_;
  const RealTokens real_;
  const bool wants_outputs_;
  std::int64_t rounds_left_ = max_rounds_;
  std::int64_t items_ = 0;  // of lists, that were made or copied
};

}  // namespace anemone::exec
