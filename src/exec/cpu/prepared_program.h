// SPDX-License-Identifier: Apache-2.0
// A function made ready to run, as data. prepare() (prepare.h) resolves names to register numbers
// and finds kernels; plan() (planner.h) then infers types, fuses patterns, evaluates constants and
// plans memory. After that it is immutable and shared by all runs.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/cache_binding.h"
#include "exec/cpu/memory_plan.h"
#include "exec/cpu/register.h"
#include "exec/executor.h"
#include "ir/op_schema.h"
#include "ir/program.h"
#include "kernels/kernel.h"

namespace anemone::exec {

struct PreparedOp;
class FusedOp;

struct PreparedBlock {
  std::vector<int> inputs;  // registers
  std::vector<int> outputs;
  std::vector<PreparedOp> ops;
  // The outputs that the block itself makes or takes as inputs. Whoever runs the block releases
  // them once they were returned, so that a list that a loop writes to has one owner.
  std::vector<int> owned_outputs;
};

// One parameter of an operation with the registers of its arguments.
struct Operand {
  std::string_view name;
  std::vector<int> registers;
};

// A state that an operation works on in place, or one row [heads, positions, dim] of it.
struct StateRow {
  int state = -1;         // index into PreparedFunction::states
  std::int64_t row = -1;  // of [.., heads, positions, dim]; -1: the whole state
};

struct PreparedOp {
  enum class Kind {
    kKernel,
    kReadState,
    kWriteState,
    kUpdateState,  // an update (updated_register) of what was read of a state, in its memory
    kCond,
    kWhile,
    kClassify,
    kMakeList,
    kListLength,
    kListRead,
    kListWrite,
    kListGather,
    kListScatter,
    kView,     // the outputs are parts of the memory of the input "x", in order
    kFused,    // `fused` instead of the operation and others before it
    kRemoved,  // part of a fusion; gone when the program is prepared
  };

  Kind kind = Kind::kKernel;
  const ir::Op* op = nullptr;
  const ir::OpSchema* schema = nullptr;
  kernels::Kernel kernel = nullptr;
  std::string_view updated_operand = {};  // by the kernel (KernelEntry::updates)
  ir::Opset opset = ir::Opset::kIOS18;
  std::vector<Operand> operands;
  std::vector<int> outputs;
  // PreparedFunction::types has what every run gives: memory is planned for it.
  bool has_static_outputs = false;
  // The plan knows all that the type rule reads, so that its answer holds in every run. Else a
  // run asks it again, and it refuses values of the run that the kernel could not execute.
  bool is_statically_checked = false;
  // A kView whose outputs have a place in the arena: a run skips it.
  bool is_placed_view = false;
  // Nothing but outputs of the function depends on what it gives: a run whose outputs nobody reads
  // (BatchItem::wants_outputs) does without that.
  bool gives_for_outputs = false;
  // Besides, it stores nothing: such a run leaves it out.
  bool is_for_outputs = false;
  std::vector<int> dead_after;  // registers that nobody reads after this operation
  std::vector<PreparedBlock> blocks;
  int state = -1;  // index into PreparedFunction::states
  std::shared_ptr<const FusedOp> fused;
  std::vector<StateRow> fused_states;  // that it writes in place
  std::vector<int> fused_caches;       // the same, indices into PreparedFunction::caches

  const Operand* operand(std::string_view name) const;
  // Register of the first argument of a parameter that the schema guarantees.
  int reg(std::string_view name) const;
  // The register of updated_operand, in whose memory the kernel may work. -1 where there is none,
  // or the operation takes the register twice.
  int updated_register() const;
};

struct PreparedInput {
  int reg = 0;
  const ir::Type* type = nullptr;
  const Feature* feature = nullptr;
  std::shared_ptr<const Tensor> default_value;  // null unless it is optional with a default
  // With a plan: set when all that use the input take facts about a mask of this role.
  std::optional<MaskFact::Role> mask = {};
};

struct PreparedOutput {
  int reg = 0;
  const Feature* feature = nullptr;
};

// A cache in tensors that fused operations work on as on a state: in the caller's memory where it
// is bound, else in a copy. Nothing else of the function uses its input.
struct PreparedCache {
  CacheBinding::Kind kind = CacheBinding::Kind::kReplace;
  std::size_t input = 0;   // index into PreparedFunction::inputs
  std::size_t output = 0;  // index into PreparedFunction::outputs
  // What a copy has: [1, heads, positions, dim], with room for the step where its rows are
  // appended; or any shape of a recurrent state.
  Shape shape;
  DType dtype = DType::kFp16;
};

struct PreparedFunction {
  const ir::Function* function = nullptr;
  std::shared_ptr<const Signature> signature;  // shared by all plans of the function
  std::vector<PreparedInput> inputs;
  std::vector<PreparedOutput> outputs;  // in the order of the signature
  std::vector<const Feature*> states;   // those that it declares, in `signature`
  std::vector<int> states_in_place;     // those that operations write in place, as indices
  std::vector<PreparedCache> caches;
  // Operations [begin, end) of the outermost block between the first access to a state and the
  // last: runs of a batch over the same states do them one run after the other. In order, apart
  // from each other; what fused operations write in place needs none.
  struct Stretch {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<Stretch> stretches;
  // Several runs over the same states may be batched: no inner block accesses states.
  bool is_batchable = true;
  PreparedBlock block;
  Registers initial;  // constants in their registers, the others empty: what a run starts from
  // Type of each register: what the program declares, the exact type of a constant, and, with a
  // plan, what is known for the shapes of the inputs.
  std::vector<ir::Type> types;
  // Whether the register's value in `initial` follows from the shapes of the inputs.
  std::vector<bool> is_shape_dependent;
  MemoryPlan memory;
  std::vector<int> unplaced;  // registers that a run sets, and that `memory` gives no place

  const ir::Type& type(int reg) const { return types[static_cast<std::size_t>(reg)]; }
};

}  // namespace anemone::exec
