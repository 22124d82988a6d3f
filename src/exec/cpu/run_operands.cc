// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/run_operands.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/name_index.h"
#include "exec/cache_binding.h"

namespace anemone::exec {
namespace {

// Sets a mask that is a fact. kInvalidArgument where the function has another use for it, or where
// the step is not within the mask.
Status bind_mask(const PreparedInput& input, const MaskFact& fact, const StepFacts& facts,
                 bool has_bound_caches, TensorView& view, MaskCache& masks) {
  const bool is_past = fact.role == MaskFact::Role::kAttentionPastAndStep;
  if (input.mask != fact.role || (is_past && !has_bound_caches))
    return invalid_argument("[{}] expected a tensor, since the function takes no such fact",
                            fact.input);
  view = {input.feature->dtype, mask_shape(*input.feature, fact, facts), nullptr};
  const bool is_write = fact.role == MaskFact::Role::kWrite;
  const std::int64_t tokens = view.shape[is_write ? 3 : 2];
  const std::int64_t positions = view.shape[is_write ? 2 : 3] - (is_past ? tokens : 0);
  const std::int64_t last = is_past ? positions : positions - facts.count;
  // The past may end further back than it is long, if the window is no longer: see CacheBinding.
  const bool is_in_reach = is_past && fact.window > 0 && fact.window <= positions + 1;
  if (facts.tokens != tokens || facts.count < 1 || facts.count > tokens || facts.position < 0 ||
      (facts.position > last && !is_in_reach) || fact.window < 0)
    return invalid_argument(
        "[{}] expected a step of at most {} tokens within {} positions, got {} from position {} "
        "in a function for {}",
        fact.input, tokens, positions, facts.count, facts.position, facts.tokens);
  masks.set(view, fact, facts);
  return {};
}

// The description says [1] for what is a scalar in the program.
Shape shape_of_output(const TensorView& value) {
  return value.shape.empty() ? Shape{1} : value.shape;
}

// Whether the caller's tensor has the type of an output.
bool is_output_of(const TensorView& value, const Tensor& tensor) {
  if (tensor.empty() || tensor.dtype() != value.dtype) return false;
  return value.shape.empty() ? tensor.shape() == Shape{1} : tensor.shape() == value.shape;
}

}  // namespace

Result<std::vector<std::size_t>> match_states(const PreparedFunction& function,
                                              const CpuStateStore* store) {
  std::vector<std::size_t> out;
  for (const Feature* wanted : function.states) {
    if (store == nullptr)
      return invalid_argument("[{}] function {} needs a state store, got none", wanted->name,
                              function.function->name);
    const auto place = store->place(wanted->name);
    if (!place || store->states()[*place].dtype != wanted->dtype ||
        store->states()[*place].shape != wanted->shape)
      return invalid_argument(
          "[{}] the state store was made for another program, which has no such state",
          wanted->name);
    out.push_back(*place);
  }
  return out;
}

Status unshare_states(const PreparedFunction& function, const std::vector<std::size_t>& places,
                      CpuStateStore* store, const std::shared_ptr<MemoryLimit>& limit) {
  for (const int state : function.states_in_place) {
    BufferRef& buffer = store->buffers()[places[static_cast<std::size_t>(state)]];
    if (buffer.use_count() == 1) continue;
    const Feature* feature = function.states[static_cast<std::size_t>(state)];
    const auto bytes = TensorView{feature->dtype, feature->shape}.size_bytes();
    BufferRef own = Buffer::make(bytes, limit);
    if (own == nullptr)
      return out_of_memory("[state {}] not enough memory: the state needs {} bytes", feature->name,
                           bytes);
    std::memcpy(own->data(), buffer->data(), static_cast<std::size_t>(bytes));
    buffer = std::move(own);
  }
  return {};
}

Status bind_inputs(const PreparedFunction& function, const BatchItem& item, Registers& registers,
                   MaskCache& masks) {
  const bool appends = std::ranges::any_of(item.caches, [](const CacheBinding& binding) {
    return binding.kind == CacheBinding::Kind::kAppend;
  });
  const NameIndex by_name(*item.inputs);
  NameCursor bindings(item.caches);
  for (const PreparedInput& input : function.inputs) {
    const NamedView* given = by_name.find(input.feature->name);
    Register& reg = registers[static_cast<std::size_t>(input.reg)];
    if (const MaskFact* fact = find_mask(item.facts, input.feature->name)) {
      ANEMONE_RETURN_IF_ERROR(bind_mask(input, *fact, *item.facts, appends, reg.view, masks));
      continue;
    }
    // Only the operation that works on the cache takes it, by another way.
    if (bindings.find(input.feature->name) != nullptr) continue;
    reg.view = given != nullptr ? given->tensor : input.default_value->view();
    // The description says [1] for what is a scalar in the program.
    if (input.type->shape.empty()) reg.view.shape.clear();
    const ir::Type& type = function.type(input.reg);
    if (!ir::is_compatible(type, ir::Type::tensor(reg.view.dtype, reg.view.shape)))
      return invalid_argument("[{}] expected {}, got {} {}", input.feature->name,
                              ir::to_string(type), dtype_name(reg.view.dtype),
                              to_string(reg.view.shape));
  }
  const StepFacts* facts = item.facts;
  if (facts != nullptr && (facts->count < 1 || facts->count > facts->tokens))
    return invalid_argument("[step] expected 1 to {} real tokens, got {}", facts->tokens,
                            facts->count);
  return {};
}

void place_outputs(const PreparedFunction& function, Outputs& outputs, Frame& frame) {
  const std::vector<std::int64_t>& offsets = function.memory.offsets;
  auto next = outputs.begin();  // both are in the order of the signature
  for (const MemoryPlan::MovableOutput& movable : function.memory.movable_outputs) {
    const PreparedOutput& output = function.outputs[movable.output];
    const auto first = static_cast<std::size_t>(output.reg);
    std::byte* to = frame.arena->data() + offsets[first];
    const auto old = std::find_if(next, outputs.end(), [&](const NamedTensor& one) {
      return one.name == output.feature->name;
    });
    if (old != outputs.end()) {
      next = old + 1;
      if (is_output_of(frame.registers[first].view, old->tensor)) to = old->tensor.mutable_data();
    }
    for (const int reg : movable.registers) {
      const auto index = static_cast<std::size_t>(reg);
      frame.places[index] = to + (offsets[index] - offsets[first]);
      frame.registers[index].view.data = frame.places[index];
    }
  }
}

Status copy_outputs(const PreparedFunction& function, const Registers& registers,
                    const std::vector<const CacheBinding*>& bindings, MemoryLimit& limit,
                    Outputs& outputs) {
  // Those of caches are in the caller's memory already.
  std::vector<bool> is_done(function.outputs.size());
  for (std::size_t c = 0; c < bindings.size(); ++c)
    if (bindings[c] != nullptr) is_done[function.caches[c].output] = true;
  Outputs old = std::exchange(outputs, {});
  outputs.reserve(function.outputs.size());
  NameCursor old_by_name(old);
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    if (is_done[i]) continue;
    const Feature& feature = *function.outputs[i].feature;
    const TensorView& value = registers[static_cast<std::size_t>(function.outputs[i].reg)].view;
    const auto size = static_cast<std::size_t>(value.size_bytes());
    NamedTensor& out = outputs.emplace_back();
    out.name = feature.name;
    const auto reused = old_by_name.place(feature.name);
    if (reused && is_output_of(value, old[*reused].tensor)) {
      out.tensor = std::move(old[*reused].tensor);
      if (out.tensor.data() == value.data) continue;
    } else if (limit.take(size)) {
      limit.give_back(size);  // it is the caller's from now on
      out.tensor = Tensor(value.dtype, shape_of_output(value));
    } else {
      return out_of_memory("[{}] not enough memory: the output needs {} bytes", feature.name, size);
    }
    if (size > 0) std::memcpy(out.tensor.mutable_data(), value.data, size);
  }
  return {};
}

}  // namespace anemone::exec
