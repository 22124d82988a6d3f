// SPDX-License-Identifier: Apache-2.0
#include "models/function_cut.h"

#include <algorithm>

#include "base/error.h"

namespace anemone::models {
namespace {

using artifact::PortRole;
using ir::Op;
using ir::Value;

template <typename Visit>
void for_each_input(Op& op, Visit visit) {
  for (auto& [parameter, arguments] : op.inputs)
    for (ir::Argument& argument : arguments)
      if (auto* value = std::get_if<Value*>(&argument)) visit(*value);
}

// What a state holds before the function, which every package reads from a state of its own: the
// rows of other packages are not in it.
bool is_first_read(const std::vector<Op*>& ops, const Value* value) {
  const Op* read = value->producer;
  if (read == nullptr || read->type != "read_state") return false;
  const Value* state = read->input("input");
  for (const Op* op : ops) {
    if (op == read) return true;
    if (op->type == "write_state" && op->input("input") == state) return false;
  }
  return false;
}

}  // namespace

FunctionCut::FunctionCut(LayerGraph& graph)
    : graph_(graph), function_(graph.builder().function()), ops_(function_.block->ops) {
  for (std::size_t i = 0; i < ops_.size(); ++i) positions_[ops_[i]] = i;
}

void FunctionCut::find_what_depends_on_the_text() {
  for (Value* input : function_.inputs) {
    const auto port = std::ranges::find(graph_.ports(), input->name, &artifact::Port::name);
    if (port == graph_.ports().end() || port->role == PortRole::kHidden ||
        port->role == PortRole::kExperts)
      of_the_text_.insert(input);
    if (port != graph_.ports().end() && port->role == PortRole::kHidden) hidden_ = input;
  }
  for (Op* op : ops_) {
    bool is_of_the_text = false;
    for_each_input(*op, [&](Value* value) { is_of_the_text |= of_the_text_.contains(value); });
    if (is_of_the_text) of_the_text_.insert(op->outputs.begin(), op->outputs.end());
  }
}

// Inputs are made before the first operation.
std::size_t FunctionCut::position_of(const Value* value) const {
  return value->producer == nullptr ? 0 : positions_.at(value->producer) + 1;
}

std::optional<std::size_t> FunctionCut::border(std::int64_t layer, std::int64_t part) const {
  for (const LayerGraph::PartEnd& end : graph_.part_ends())
    if (end.layer == layer && end.part == part) return end.operations;
  return std::nullopt;
}

std::vector<Value*> FunctionCut::crossing(std::size_t border, Value* hidden) {
  std::unordered_set<const Value*> needed;
  // The hidden state is the only input that crosses: a cache belongs to the shard that attends to
  // it.
  const auto use = [&](Value* value) {
    if (!of_the_text_.contains(value) || position_of(value) > border) return;
    if (is_first_read(ops_, value)) return;
    if (value->producer != nullptr || value == hidden_) needed.insert(value);
  };
  for (std::size_t i = border; i < ops_.size(); ++i) for_each_input(*ops_[i], use);
  use(hidden);
  const auto is_needed = [&](const Value* value) { return needed.contains(value); };
  for (std::size_t i = 0; i < border; ++i) {
    Value* whole = ops_[i]->type == "split" ? ops_[i]->input("x") : nullptr;
    if (whole == nullptr || whole->producer == nullptr) continue;
    if (std::ranges::count_if(ops_[i]->outputs, is_needed) < 2) continue;
    for (const Value* piece : ops_[i]->outputs) needed.erase(piece);
    needed.insert(whole);
  }
  std::vector<Value*> values;
  std::ranges::copy_if(function_.inputs, std::back_inserter(values), is_needed);
  for (std::size_t i = 0; i < border; ++i)
    std::ranges::copy_if(ops_[i]->outputs, std::back_inserter(values), is_needed);
  for (const Value* value : values) {
    const ir::Type& type = value->type;
    if (type.is_tensor() && type.shape.size() == 4 && type.dtype == graph_.options().dtype &&
        type.shape == graph_.hidden_shape(type.shape[1]))
      continue;
    graph_.builder().fail(internal_error(
        "expected what crosses a border inside a layer in the form of the hidden state, got {}",
        value->name));
  }
  return values;
}

// Values that come from the shard before are those of its output.
void FunctionCut::enter(const std::vector<Value*>& values) {
  std::vector<std::int64_t> sizes;
  std::int64_t channels = 0;
  for (const Value* value : values) {
    sizes.push_back(value->type.shape[1]);
    channels += sizes.back();
  }
  ir::Builder& builder = graph_.builder();
  Value* all = builder.input("hidden", graph_.tensor_type(graph_.hidden_shape(channels)));
  const std::vector<Value*> parts =
      values.size() == 1 ? std::vector<Value*>{all} : graph_.split(all, sizes, 1, "entered_part");
  for (std::size_t i = 0; i < values.size(); ++i) entered_[values[i]] = parts[i];
  for (Op* op : ops_)
    for_each_input(*op, [&](Value*& value) {
      if (const auto found = entered_.find(value); found != entered_.end()) value = found->second;
    });
  std::vector<Op*>& ops = function_.block->ops;
  std::rotate(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(ops_.size()), ops.end());
}

Value* FunctionCut::leave(const std::vector<Value*>& values) {
  std::vector<Value*> parts;
  for (Value* value : values) {
    const auto found = entered_.find(value);
    parts.push_back(found == entered_.end() ? value : found->second);
  }
  return parts.size() == 1 ? parts.front() : graph_.join(parts, 1, "left_part");
}

// Operations that nothing kept asks for go; writes of states are asked for by their place.
void FunctionCut::keep_what_is_used(const std::vector<Value*>& outputs, std::size_t begin,
                                    std::size_t end) {
  used_.insert(outputs.begin(), outputs.end());
  std::vector<Op*> kept;
  std::vector<Op*>& ops = function_.block->ops;
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    const auto position = positions_.find(*op);
    const bool is_write =
        (*op)->type == "write_state" && position->second >= begin && position->second < end;
    if (!is_write && std::ranges::none_of(
                         (*op)->outputs, [&](const Value* value) { return used_.contains(value); }))
      continue;
    for_each_input(**op, [&](Value* value) { used_.insert(value); });
    kept.push_back(*op);
  }
  std::ranges::reverse(kept);
  ops = std::move(kept);
  std::erase_if(function_.inputs, [&](const Value* input) { return !used_.contains(input); });
}

Value* FunctionCut::apply(Value* hidden, std::vector<artifact::Port>& ports,
                          std::vector<artifact::Cache>& caches,
                          std::vector<Value*>& other_outputs) {
  const artifact::LayerSpan& layers = graph_.layers();
  const bool begins_inside = layers.part_begin != 0;
  const bool ends_inside = layers.part_end != 0;
  const auto begin = begins_inside ? border(layers.begin, layers.part_begin) : 0;
  const auto end = ends_inside ? border(layers.end - 1, layers.part_end) : ops_.size();
  ir::Builder& builder = graph_.builder();
  if (!begin || !end) {
    builder.fail(internal_error("expected {} to have these parts", artifact::layers_text(layers)));
    return nullptr;
  }
  find_what_depends_on_the_text();
  std::vector<Value*> entering;
  if (begins_inside) entering = crossing(*begin, hidden);
  const std::vector<Value*> leaving =
      ends_inside ? crossing(*end, hidden) : std::vector<Value*>{hidden};
  if (begins_inside) enter(entering);
  Value* out = leave(leaving);
  if (!builder.status().ok()) return nullptr;

  std::erase_if(other_outputs, [&](const Value* value) {
    const std::size_t position = positions_.at(value->producer);
    return position < *begin || position >= *end;
  });
  std::vector<Value*> outputs = other_outputs;
  outputs.push_back(out);
  keep_what_is_used(outputs, *begin, *end);

  const auto is_gone = [&](const std::string& name) {
    return std::ranges::find(function_.inputs, name, &Value::name) == function_.inputs.end();
  };
  if (begins_inside)
    std::ranges::find(ports, PortRole::kHidden, &artifact::Port::role)->name = "hidden";
  std::erase_if(ports, [&](const artifact::Port& port) { return is_gone(port.name); });
  std::erase_if(caches, [&](const artifact::Cache& cache) { return is_gone(cache.name); });
  return out;
}

}  // namespace anemone::models
