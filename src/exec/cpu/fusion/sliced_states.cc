// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/sliced_states.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "exec/cpu/fusion/graph.h"
#include "tensor/slice.h"

namespace anemone::exec {
namespace {

constexpr std::size_t kRowRank = 3;  // heads, positions, dim

// A number of a vector that the program computes: known, or where it is.
struct Element {
  std::optional<std::int64_t> value;
  IntegerSource source;
};

void append_elements(const FusionGraph& graph, int reg, std::vector<Element>& out) {
  const ir::Type& type = graph.type(reg);
  const TensorView* constant = graph.constant(reg);
  if (!type.is_tensor() || type.shape.size() != 1 || !is_static(type.shape) ||
      type.dtype != DType::kInt32)
    return;
  for (std::int64_t i = 0; i < type.shape[0]; ++i)
    out.push_back({constant == nullptr ? std::nullopt : std::optional(element_as_int(*constant, i)),
                   {reg, i}});
}

// The numbers of a vector, which may be a concat of others; empty where it is anything else.
std::vector<Element> elements_of(const FusionGraph& graph, int reg) {
  std::vector<Element> out;
  if (reg < 0) return out;
  const PreparedOp* concat = graph.producer(reg, "concat");
  const Operand* values = concat == nullptr ? nullptr : concat->operand("values");
  if (values == nullptr || graph.flag(*concat, "interleave")) {
    append_elements(graph, reg, out);
    return out;
  }
  for (const int part : values->registers) append_elements(graph, part, out);
  if (Shape{static_cast<std::int64_t>(out.size())} != graph.type(reg).shape) out.clear();
  return out;
}

// A slice of one row: which one, and what of its positions.
struct RowSlice {
  std::int64_t row = 0;
  Element begin, end;
};

std::optional<RowSlice> row_slice(const FusionGraph& graph, const PreparedOp& op,
                                  const Shape& shape) {
  const std::size_t rank = shape.size();
  if (rank < kRowRank || !is_static(shape)) return std::nullopt;
  const std::size_t positions = rank - 2;
  const auto begin = elements_of(graph, FusionGraph::argument(op, "begin"));
  const auto end = elements_of(graph, FusionGraph::argument(op, "end"));
  SliceRequest request;
  for (auto [name, values] : {std::pair("stride", &request.stride),
                              {"begin_mask", &request.begin_mask},
                              {"end_mask", &request.end_mask},
                              {"squeeze_mask", &request.squeeze_mask}}) {
    const int reg = FusionGraph::argument(op, name);
    *values = graph.ints(op, name);
    if (reg >= 0 && values->size() != rank) return std::nullopt;
  }
  if (begin.size() != rank || end.size() != rank) return std::nullopt;
  const auto is_masked = [](const std::vector<std::int64_t>& mask, std::size_t axis) {
    return !mask.empty() && mask[axis] != 0;
  };
  const auto is_squeezed = [&](std::size_t axis) { return is_masked(request.squeeze_mask, axis); };
  for (std::size_t i = 0; i < rank; ++i) {
    const bool needs_begin = i != positions && !is_masked(request.begin_mask, i);
    const bool needs_end = i != positions && !is_masked(request.end_mask, i) && !is_squeezed(i);
    if ((needs_begin && !begin[i].value) || (needs_end && !end[i].value)) return std::nullopt;
    request.begin.push_back(i == positions ? 0 : begin[i].value.value_or(0));
    request.end.push_back(i == positions ? shape[i] : end[i].value.value_or(0));
  }
  RowSlice out{0, begin[positions], end[positions]};
  // Where a mask takes all positions from the first or to the last, the written numbers do not
  // count.
  if (is_masked(request.begin_mask, positions)) out.begin = {0, {}};
  if (is_masked(request.end_mask, positions)) out.end = {shape[positions], {}};
  const auto slice = resolve_slice(shape, request);
  if (!slice.ok()) return std::nullopt;
  for (std::size_t i = 0; i < rank; ++i) {
    const anemone::AxisSlice& axis = (*slice)[i];
    if (i < rank - kRowRank) {
      if (axis.count != 1) return std::nullopt;
      out.row = out.row * shape[i] + axis.start;
    } else if (axis.is_squeezed || axis.step != 1 || axis.start != 0 || axis.count != shape[i]) {
      return std::nullopt;
    }
  }
  if (!request.stride.empty() && request.stride[positions] != 1) return std::nullopt;
  return out;
}

std::optional<RowUpdate> row_update(const FusionGraph& graph, PreparedOp& op, const Shape& shape) {
  const int tokens = FusionGraph::argument(op, "update");
  const auto slice = row_slice(graph, op, shape);
  if (tokens < 0 || !slice || slice->begin.source.reg < 0 || slice->end.source.reg < 0)
    return std::nullopt;
  return RowUpdate{&op, slice->row, tokens, slice->begin.source, slice->end.source};
}

bool is_row_update(const PreparedOp& op) {
  return op.kind == PreparedOp::Kind::kKernel && op.op->type == "slice_update";
}

bool is_kept(const PreparedOp& op) {
  return op.kind != PreparedOp::Kind::kRemoved;
}

}  // namespace

SlicedStates::SlicedStates(FusionGraph& graph) {
  const PreparedFunction& function = graph.function();
  states_.resize(function.states.size());
  for (std::size_t s = 0; s < states_.size(); ++s) {
    states_[s].state = static_cast<int>(s);
    states_[s].shape = function.states[s]->shape;
    states_[s].is_known = !graph.is_accessed_inside(static_cast<int>(s));
  }
  for (PreparedOp& op : graph.ops()) visit(graph, op);
  for (State& state : states_) finish(graph, state);
}

void SlicedStates::visit(const FusionGraph& graph, PreparedOp& op) {
  std::set<int> seen;
  for (const Operand& operand : op.operands)
    for (const int reg : operand.registers) {
      const auto found = of_register_.find(reg);
      if (found == of_register_.end()) continue;
      State& state = states_[found->second];
      if (const auto part = state.readers.find(reg);
          part != state.readers.end() && part->second.op != nullptr)
        read_part(graph, op, reg, state);
      if (!state.versions.contains(reg)) continue;
      ++state.uses[reg];
      // An operation that takes it twice is none of the forms.
      if (!seen.insert(reg).second) state.is_known = false;
      use(graph, op, reg, state);
    }
  access(op);
}

void SlicedStates::access(PreparedOp& op) {
  const bool is_write = op.kind == PreparedOp::Kind::kWriteState;
  if (!is_write && op.kind != PreparedOp::Kind::kReadState) return;
  State& state = states_[static_cast<std::size_t>(op.state)];
  state.accesses.push_back(&op);
  if (is_write) {
    const auto data = state.versions.find(FusionGraph::argument(op, "data"));
    if (data == state.versions.end() || data->second != state.updates.size())
      state.is_known = false;
    if (state.unwritten != nullptr) state.gaps.emplace_back(state.unwritten, &op);
    state.unwritten = nullptr;
    return;
  }
  // A read before the write would give what was there before the update.
  if (state.unwritten != nullptr) state.is_known = false;
  const int reg = op.outputs[0];
  state.versions[reg] = state.updates.size();
  of_register_[reg] = static_cast<std::size_t>(op.state);
}

void SlicedStates::use(const FusionGraph& graph, PreparedOp& op, int reg, State& state) {
  const std::size_t version = state.versions[reg];
  if (is_row_update(op)) {
    auto update = FusionGraph::argument(op, "x") == reg && version == state.updates.size()
                      ? row_update(graph, op, state.shape)
                      : std::nullopt;
    if (!update) {
      state.is_known = false;
      return;
    }
    state.updates.push_back(*update);
    if (state.unwritten == nullptr) state.unwritten = &op;
    const int out = op.outputs[0];
    state.versions[out] = state.updates.size();
    of_register_[out] = static_cast<std::size_t>(state.state);
    return;
  }
  if (op.kind == PreparedOp::Kind::kWriteState && op.state == state.state) return;
  if (FusionGraph::is_statically_checked(op) && op.op->type == "slice_by_index") {
    const auto slice = row_slice(graph, op, state.shape);
    const Shape& given = graph.type(op.outputs[0]).shape;
    if (!slice || slice->begin.value != 0 || given.size() < kRowRank) {
      state.is_known = false;
      return;
    }
    state.readers[op.outputs[0]] = {&op, slice->row, given[given.size() - 2], version};
    of_register_[op.outputs[0]] = static_cast<std::size_t>(state.state);
    return;
  }
  // A state of one row may be taken as it is.
  const bool is_row = state.shape.size() >= kRowRank &&
                      element_count(Shape(state.shape.begin(), state.shape.end() - kRowRank)) == 1;
  if (!is_row || op.kind != PreparedOp::Kind::kKernel || !op.blocks.empty()) {
    state.is_known = false;
    return;
  }
  state.readers[reg] = {nullptr, 0, state.shape[state.shape.size() - 2], version};
}

// The first positions of a row that a slice has taken; PyTorch writes a slice for each axis.
void SlicedStates::read_part(const FusionGraph& graph, PreparedOp& op, int reg, State& state) {
  if (!FusionGraph::is_statically_checked(op) || op.op->type != "slice_by_index" ||
      FusionGraph::argument(op, "x") != reg)
    return;
  const auto slice = row_slice(graph, op, graph.type(reg).shape);
  const Shape& given = graph.type(op.outputs[0]).shape;
  if (!slice || slice->begin.value != 0 || given.size() < kRowRank) return;
  Reader part = state.readers.at(reg);
  part.op = &op;
  part.positions = given[given.size() - 2];
  state.readers[op.outputs[0]] = part;
  of_register_[op.outputs[0]] = static_cast<std::size_t>(state.state);
}

void SlicedStates::finish(const FusionGraph& graph, State& state) const {
  if (state.unwritten != nullptr || state.updates.empty()) state.is_known = false;
  // Uses by inner blocks and as outputs of the function are not among those that were seen.
  for (const auto& [reg, version] : state.versions) {
    const auto seen = state.uses.find(reg);
    if (graph.use_count(reg) != (seen == state.uses.end() ? 0 : seen->second))
      state.is_known = false;
  }
  for (std::size_t i = 0; i < state.updates.size(); ++i) {
    Row& row = state.rows[state.updates[i].row];
    ++row.updates;
    row.version = i + 1;
  }
  for (const auto& [reg, reader] : state.readers) {
    Row& row = state.rows[reader.row];
    row.first_read = std::min(row.first_read.value_or(reader.version), reader.version);
  }
}

std::optional<SlicedRow> SlicedStates::find(int reg, const PreparedOp& root) const {
  const auto found = of_register_.find(reg);
  if (found == of_register_.end()) return std::nullopt;
  const State& state = states_[found->second];
  const auto reader = state.readers.find(reg);
  if (!state.is_known || reader == state.readers.end()) return std::nullopt;
  const Row& row = state.rows.at(reader->second.row);
  if (row.updates != 1 || row.first_read < row.version) return std::nullopt;
  const auto gap =
      std::ranges::upper_bound(state.gaps, &root, {}, [](const auto& each) { return each.second; });
  if (gap != state.gaps.end() && gap->first < &root) return std::nullopt;
  return SlicedRow{state.state, reader->second.positions, &state.updates[row.version - 1]};
}

void SlicedStates::remove_unread(FusionGraph& graph) const {
  std::set<std::pair<int, std::int64_t>> stored;
  for (const PreparedOp& op : graph.ops())
    for (const StateRow& row : op.fused_states)
      if (row.row >= 0) stored.emplace(row.state, row.row);
  for (const State& state : states_) {
    std::set<std::int64_t> unread;
    for (const RowUpdate& update : state.updates)
      if (stored.contains({state.state, update.row})) unread.insert(update.row);
    if (!state.is_known || unread.empty()) continue;
    std::map<int, int> chain_uses;  // of the versions, by updates and writes
    for (const RowUpdate& update : state.updates)
      ++chain_uses[FusionGraph::argument(*update.op, "x")];
    for (const PreparedOp* access : state.accesses)
      if (access->kind == PreparedOp::Kind::kWriteState)
        ++chain_uses[FusionGraph::argument(*access, "data")];
    // Slices of slices come first.
    std::vector<std::pair<int, Reader>> readers(state.readers.begin(), state.readers.end());
    std::ranges::sort(readers, std::ranges::greater(),
                      [](const auto& each) { return each.second.op; });
    for (const auto& [reg, reader] : readers) {
      const int others = reader.op == nullptr ? chain_uses[reg] : 0;
      if (graph.use_count(reg) > others)
        unread.erase(reader.row);
      else if (reader.op != nullptr)
        graph.remove(*reader.op);
    }
    for (const RowUpdate& update : state.updates) {
      if (!unread.contains(update.row)) continue;
      graph.replace_uses(update.op->outputs[0], FusionGraph::argument(*update.op, "x"));
      graph.remove(*update.op);
    }
    // What is left of the chain: writes of what was just read, and reads that nobody uses.
    for (PreparedOp* access : state.accesses) {
      if (access->kind != PreparedOp::Kind::kWriteState) continue;
      const PreparedOp* made = graph.producer(FusionGraph::argument(*access, "data"));
      if (made != nullptr && made->kind == PreparedOp::Kind::kReadState) graph.remove(*access);
    }
    for (PreparedOp* access : state.accesses)
      if (is_kept(*access) && access->kind == PreparedOp::Kind::kReadState &&
          graph.use_count(access->outputs[0]) == 0)
        graph.remove(*access);
  }
}

}  // namespace anemone::exec
