// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/cpu_program.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "exec/cpu/loaded_constants.h"
#include "exec/cpu/state_store.h"

namespace anemone::exec {
namespace {

// Where each state of a function lies in the caller's store.
Result<std::vector<std::size_t>> match_states(const PreparedFunction& function,
                                              const CpuStateStore* store) {
  std::vector<std::size_t> out;
  for (const std::string& name : function.states) {
    if (store == nullptr)
      return invalid_argument("[{}] function {} needs a state store, got none", name,
                              function.function->name);
    const Feature* wanted = function.signature->state(name);
    const auto& given = store->states();
    const auto it = std::find_if(given.begin(), given.end(),
                                 [&](const Feature& state) { return state.name == name; });
    if (it == given.end() || wanted == nullptr || it->dtype != wanted->dtype ||
        it->shape != wanted->shape)
      return invalid_argument("[{}] expected a store with this state, got one of another program",
                              name);
    out.push_back(static_cast<std::size_t>(it - given.begin()));
  }
  return out;
}

void bind_inputs(const PreparedFunction& function, const Inputs& inputs, Slots& slots) {
  for (const PreparedInput& input : function.inputs) {
    const auto given = std::find_if(inputs.begin(), inputs.end(), [&](const NamedView& view) {
      return view.name == input.feature->name;
    });
    Slot& slot = slots[static_cast<std::size_t>(input.slot)];
    slot.view = given != inputs.end() ? given->tensor : input.default_value->view();
    // The description says [1] for what is a scalar in the program.
    if (input.type->shape.empty()) slot.view.shape.clear();
  }
}

void copy_outputs(const PreparedFunction& function, const Slots& slots, Outputs& outputs) {
  Outputs old = std::exchange(outputs, {});
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    const Feature& feature = *function.outputs[i].feature;
    TensorView value = slots[static_cast<std::size_t>(function.outputs[i].slot)].view;
    if (value.shape.empty()) value.shape = {1};
    NamedTensor& out = outputs.emplace_back();
    out.name = feature.name;
    // A loop passes last time's outputs in the same order: look there first.
    auto reused = i < old.size() && old[i].name == feature.name
                      ? old.begin() + static_cast<std::ptrdiff_t>(i)
                      : std::find_if(old.begin(), old.end(), [&](const NamedTensor& tensor) {
                          return tensor.name == feature.name;
                        });
    if (reused != old.end() && !reused->tensor.empty() && reused->tensor.dtype() == value.dtype &&
        reused->tensor.shape() == value.shape)
      out.tensor = std::move(reused->tensor);
    else
      out.tensor = Tensor(value.dtype, value.shape);
    const std::size_t size = static_cast<std::size_t>(value.size_bytes());
    if (size > 0) std::memcpy(out.tensor.mutable_view().data, value.data, size);
  }
}

// Fused operations write into states, which must then not be the memory of anything else, such as a
// second state that a program set to the same value.
Status own_states(const PreparedFunction& function, const std::vector<std::size_t>& places,
                  CpuStateStore* store) {
  for (const int state : function.states_in_place) {
    BufferRef& buffer = store->buffers()[places[static_cast<std::size_t>(state)]];
    if (buffer.use_count() == 1) continue;
    BufferRef own = Buffer::make(buffer->capacity());
    if (own == nullptr)
      return out_of_memory("expected {} bytes of memory for a state, got none", buffer->capacity());
    std::memcpy(own->data(), buffer->data(), buffer->capacity());
    buffer = std::move(own);
  }
  return {};
}

bool have_same_shapes(const BatchItem& a, const BatchItem& b) {
  return std::ranges::all_of(*a.inputs, [&](const NamedView& input) {
    const auto other = std::ranges::find(*b.inputs, input.name, &NamedView::name);
    return other != b.inputs->end() && other->tensor.shape == input.tensor.shape;
  });
}

// How many of the first runs go in step: those with the shapes of the first, and no state that one
// of them replaces while another uses it.
std::size_t count_together(const PreparedFunction& function, std::span<const BatchItem> items) {
  std::size_t count = 1;
  for (; count < items.size(); ++count) {
    const BatchItem& next = items[count];
    if (next.inputs->size() != items[0].inputs->size() || !have_same_shapes(next, items[0])) break;
    const auto before = items.first(count);
    if (!function.is_in_step && next.states != nullptr &&
        std::ranges::find(before, next.states, &BatchItem::states) != before.end())
      break;
  }
  return count;
}

}  // namespace

Status ProgramSource::check() const {
  for (const auto& file : files) ANEMONE_RETURN_IF_ERROR(file->check());
  return {};
}

CpuProgram::CpuProgram(ProgramSource source, std::string default_function,
                       std::shared_ptr<SharedThreads> threads)
    : source_(std::move(source)),
      default_function_(std::move(default_function)),
      threads_(std::move(threads)) {}

Result<std::shared_ptr<const CpuProgram>> CpuProgram::prepare_and_make(
    ProgramSource source, const std::vector<const ir::Function*>& functions,
    std::vector<Signature> signatures, std::string default_function,
    std::shared_ptr<SharedThreads> threads) {
  std::shared_ptr<CpuProgram> out(
      new CpuProgram(std::move(source), std::move(default_function), std::move(threads)));
  ANEMONE_ASSIGN_OR_RETURN(out->states_, states_of(signatures));
  const Status planned = out->make_plans(functions, std::move(signatures));
  // First: what a plan finds wrong with zeros is not the reason.
  ANEMONE_RETURN_IF_ERROR(out->source_.check());
  ANEMONE_RETURN_IF_ERROR(planned);
  return std::shared_ptr<const CpuProgram>(std::move(out));
}

Status CpuProgram::make_plans(const std::vector<const ir::Function*>& functions,
                              std::vector<Signature> signatures) {
  ANEMONE_CHECK(functions.size() == signatures.size());
  LoadedConstants constants(owners_);
  std::vector<std::optional<PreparedFunction>> open;
  std::vector<PreparedFunction> planned;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    names_.push_back(functions[i]->name);
    ANEMONE_ASSIGN_OR_RETURN(PreparedFunction function,
                             prepare(*functions[i], std::move(signatures[i]), constants));
    // The reference runs every operation as it is written, whatever the shapes.
    if (!threads_->is_reference && has_open_shapes(function)) {
      planned.push_back(with_shapes(function, least_shapes(function)));
      open.emplace_back(std::move(function));
    } else {
      planned.push_back(std::move(function));
      open.emplace_back();
    }
  }
  std::vector<PreparedFunction*> first;
  for (PreparedFunction& function : planned) first.push_back(&function);
  {
    const std::lock_guard lock(threads_->mutex);
    ANEMONE_RETURN_IF_ERROR(exec::plan(first, !threads_->is_reference, folder_, threads_->pool));
  }
  for (std::size_t i = 0; i < planned.size(); ++i)
    functions_.push_back(open[i]
                             ? std::make_unique<FunctionPlans>(
                                   std::move(*open[i]), std::move(planned[i]), folder_, *threads_)
                             : std::make_unique<FunctionPlans>(std::move(planned[i])));
  return {};
}

void CpuProgram::set_timed(bool is_timed) const {
  if (is_timed)
    for (const auto& function : functions_) function->reset_times();
  is_timed_ = is_timed;
}

Result<std::vector<Feature>> states_of(const std::vector<Signature>& signatures) {
  std::vector<Feature> states;
  for (const Signature& signature : signatures)
    for (const Feature& state : signature.states) {
      const auto it = std::ranges::find(states, state.name, &Feature::name);
      if (it == states.end())
        states.push_back(state);
      else if (it->dtype != state.dtype || it->shape != state.shape)
        return corrupt("[{}] expected one shape for the state in all functions, got {} and {}",
                       state.name, to_string(it->shape), to_string(state.shape));
    }
  return states;
}

Result<std::size_t> index_of_function(const std::vector<std::string>& names,
                                      const std::string& default_function,
                                      std::string_view function) {
  const std::string_view name = function.empty() ? default_function : function;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return i;
  std::string known;
  for (const std::string& each : names) known += (known.empty() ? "" : ", ") + each;
  return not_found("[{}] expected one of the functions {}", name, known);
}

Result<std::shared_ptr<const Plan>> CpuProgram::plan(std::string_view function) const {
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t index, index_of(function));
  return functions_[index]->last();
}

const Signature* CpuProgram::signature(std::string_view function) const {
  const auto index = index_of(function);
  return index.ok() ? &functions_[*index]->signature() : nullptr;
}

Result<std::unique_ptr<StateStore>> CpuProgram::make_state() const {
  return CpuStateStore::make(states_);
}

Status CpuProgram::run(std::string_view function, const Inputs& inputs, Outputs& outputs,
                       StateStore* states) const {
  const BatchItem item{&inputs, &outputs, states};
  return run_batch(function, {&item, 1});
}

Status CpuProgram::run_batch(std::string_view name, std::span<const BatchItem> items) const {
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t index, index_of(name));
  FunctionPlans& plans = *functions_[index];
  for (const BatchItem& item : items)
    ANEMONE_RETURN_IF_ERROR(check_inputs(plans.signature(), *item.inputs));
  while (!items.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(const auto plan, plans.find(*items[0].inputs));
    const std::size_t together = count_together(plan->function(), items);
    ANEMONE_RETURN_IF_ERROR(run_together(*plan, items.first(together)));
    items = items.subspan(together);
  }
  return {};
}

Status CpuProgram::run_together(const Plan& plan, std::span<const BatchItem> items) const {
  const PreparedFunction& function = plan.function();
  struct Run {
    CpuStateStore* store = nullptr;
    std::vector<std::size_t> places;
    std::vector<BufferRef> states;
    std::unique_ptr<Frame> frame;
  };
  std::vector<Run> runs(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    Run& run = runs[i];
    run.store = dynamic_cast<CpuStateStore*>(items[i].states);
    if (items[i].states != nullptr && run.store == nullptr)
      return invalid_argument("expected a state store of the CPU executor, got another one");
    ANEMONE_ASSIGN_OR_RETURN(run.places, match_states(function, run.store));
    ANEMONE_RETURN_IF_ERROR(own_states(function, run.places, run.store));
  }
  ThreadsTurn turn(*threads_);
  StateUndo undo;
  MaskCache masks;
  std::int64_t bytes_read = 0;
  const FusedContext context{turn.pool(), threads_->isa, kernels::simd::kernels_of(threads_->isa),
                             undo,        masks,         bytes_read};
  std::vector<Interpreter> interpreters;
  interpreters.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run& run = runs[i];
    for (const std::size_t place : run.places) run.states.push_back(run.store->buffers()[place]);
    ANEMONE_ASSIGN_OR_RETURN(run.frame, plan.take_frame());
    bind_inputs(function, *items[i].inputs, run.frame->slots);
    interpreters.emplace_back(function, *run.frame, run.states, context.threads);
  }
  Status status =
      Interpreter::run(function, interpreters, context, is_timed_ ? &plan.times() : nullptr);
  if (const Status files = source_.check(); !files.ok()) status = files;
  if (!status.ok()) undo.restore();
  turn.end();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run& run = runs[i];
    if (status.ok()) {
      copy_outputs(function, run.frame->slots, *items[i].outputs);
      for (std::size_t k = 0; k < run.places.size(); ++k)
        std::swap(run.store->buffers()[run.places[k]], run.states[k]);
    }
    // What is in `states` now are those that nobody needs any more.
    for (BufferRef& buffer : run.states) run.frame->pool.give(std::move(buffer));
    interpreters[i].clear();
    plan.give_frame(std::move(run.frame));
  }
  return status.ok() ? status : status.with("function " + function.function->name);
}

}  // namespace anemone::exec
