// SPDX-License-Identifier: Apache-2.0
// States that a function changes by slice_update alone: each update writes the tokens of a step
// into one row, [heads, positions, dim], of [.., heads, positions, dim], at a position that may be
// known only when the function runs. ANEMLL and PyTorch's register_buffer keep caches so.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "exec/cpu/prepared_program.h"
#include "tensor/shape.h"

namespace anemone::exec {

class FusionGraph;

// One number of a vector of int32.
struct IntegerSource {
  int reg = -1;
  std::int64_t element = 0;
};

struct RowUpdate {
  PreparedOp* op = nullptr;
  std::int64_t row = 0;
  int tokens = -1;      // register, [.., heads, T, dim]
  IntegerSource begin;  // of the positions that it writes
  IntegerSource end;
};

// A row of a state as an attention takes it: its first positions, after the only update of it.
struct SlicedRow {
  int state = -1;
  std::int64_t positions = 0;
  const RowUpdate* update = nullptr;
};

class SlicedStates {
 public:
  SlicedStates() = default;  // no states
  // The states of the outermost block, before anything is fused.
  explicit SlicedStates(FusionGraph& graph);

  // What the register is, if it can be worked on in place by an operation at `root`.
  std::optional<SlicedRow> find(int reg, const PreparedOp& root) const;
  // After operations that store rows by themselves (PreparedOp::fused_states): takes away the
  // updates of these rows that nobody else reads, and what only served them.
  void remove_unread(FusionGraph& graph) const;

 private:
  struct Reader {
    PreparedOp* op = nullptr;  // a slice; nullptr where the register is the whole of one row
    std::int64_t row = 0;
    std::int64_t positions = 0;
    std::size_t version = 0;
  };
  struct Row {
    int updates = 0;
    std::size_t version = 0;  // after the last of them
    std::optional<std::size_t> first_read;
  };
  struct State {
    int state = -1;
    Shape shape;
    bool is_known = true;                 // all accesses are of these forms
    std::map<int, std::size_t> versions;  // by register: how many updates it is after
    std::vector<RowUpdate> updates;       // in order
    std::vector<PreparedOp*> accesses;    // reads and writes of the state, in order
    std::map<int, Reader> readers;        // by the register that they give
    std::map<std::int64_t, Row> rows;
    // From an update to the write of it, in order: what is stored in place between is lost.
    std::vector<std::pair<const PreparedOp*, const PreparedOp*>> gaps;
    const PreparedOp* unwritten = nullptr;
    std::map<int, int> uses;  // of the versions, by operations of the outermost block
  };

  void visit(const FusionGraph& graph, PreparedOp& op);
  void access(PreparedOp& op);
  void use(const FusionGraph& graph, PreparedOp& op, int reg, State& state);
  void read_part(const FusionGraph& graph, PreparedOp& op, int reg, State& state);
  void finish(const FusionGraph& graph, State& state) const;

  std::vector<State> states_;               // [state of the function]
  std::map<int, std::size_t> of_register_;  // versions and readers
};

}  // namespace anemone::exec
