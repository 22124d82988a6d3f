// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/cpu_program.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/name_index.h"
#include "exec/cpu/bound_caches.h"
#include "exec/cpu/explain.h"
#include "exec/cpu/planner.h"
#include "exec/cpu/prepare.h"
#include "exec/cpu/run_operands.h"
#include "exec/cpu/state_store.h"
#include "exec/ending_with_memory.h"

namespace anemone::exec {
namespace {

// The states of all functions together. kCorrupt where two of them have one of the same name in
// different shapes.
Result<std::vector<Feature>> states_of(const std::vector<Signature>& signatures) {
  std::vector<Feature> states;
  std::unordered_map<std::string_view, const Feature*> known;
  for (const Signature& signature : signatures)
    for (const Feature& state : signature.states) {
      const auto [it, is_new] = known.emplace(state.name, &state);
      const Feature& first = *it->second;
      if (is_new)
        states.push_back(state);
      else if (first.dtype != state.dtype || first.shape != state.shape)
        return corrupt("[{}] expected one shape for the state in all functions, got {} and {}",
                       state.name, to_string(first.shape), to_string(state.shape));
    }
  return states;
}

// Whether two runs of a function bring inputs of the same shapes. Inputs that are left out, such as
// masks, are equal where the number of tokens is.
bool have_same_shapes(const BatchItem& a, const BatchItem& b) {
  const auto tokens = [](const BatchItem& item) {
    return item.facts == nullptr ? 0 : item.facts->tokens;
  };
  if (tokens(a) != tokens(b)) return false;
  const NameIndex by_name(*b.inputs);
  return std::ranges::all_of(*a.inputs, [&](const NamedView& input) {
    const NamedView* other = by_name.find(input.name);
    return other != nullptr && other->tensor.shape == input.tensor.shape;
  });
}

RealTokens real_tokens(const BatchItem& item) {
  if (item.facts == nullptr) return {};
  return {item.facts->tokens, item.facts->count};
}

// How many of the first runs are batched: those with the shapes of the first, over different states
// where the function accesses them in inner blocks. 0: the first binds caches that the function
// cannot work on in place.
std::size_t count_together(const PreparedFunction& function, std::span<const BatchItem> items) {
  if (!are_in_place(function, items[0])) return 0;
  std::size_t count = 1;
  for (; count < items.size(); ++count) {
    const BatchItem& next = items[count];
    if (!are_in_place(function, next) || next.inputs->size() != items[0].inputs->size() ||
        !have_same_shapes(next, items[0]))
      break;
    const auto before = items.first(count);
    if (!function.is_batchable && next.states != nullptr &&
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
                       std::shared_ptr<SharedResources> shared)
    : source_(std::move(source)),
      default_function_(std::move(default_function)),
      shared_(std::move(shared)),
      folder_(shared_->memory) {}

Result<std::shared_ptr<const CpuProgram>> CpuProgram::make(
    ProgramSource source, const std::vector<const ir::Function*>& functions,
    std::vector<Signature> signatures, std::string default_function, bool when_first_run,
    std::shared_ptr<SharedResources> shared) {
  ANEMONE_CHECK(functions.size() == signatures.size());
  std::shared_ptr<CpuProgram> out(
      new CpuProgram(std::move(source), std::move(default_function), std::move(shared)));
  ANEMONE_ASSIGN_OR_RETURN(out->states_, states_of(signatures));
  for (std::size_t i = 0; i < functions.size(); ++i) {
    out->names_.push_back(functions[i]->name);
    out->entries_.push_back(
        {functions[i], std::make_shared<const Signature>(std::move(signatures[i]))});
  }
  if (!when_first_run) ANEMONE_RETURN_IF_ERROR(out->make_plans(out->entries_));
  return std::shared_ptr<const CpuProgram>(std::move(out));
}

Status CpuProgram::make_plans(std::span<Entry> entries) const {
  std::vector<std::optional<PreparedFunction>> open;
  std::vector<PreparedFunction> planned;
  const auto prepare_and_plan = [&]() -> Status {
    for (const Entry& entry : entries) {
      ANEMONE_ASSIGN_OR_RETURN(PreparedFunction function,
                               prepare(*entry.function, entry.signature, constants_));
      // The reference runs every operation as it is written, whatever the shapes.
      if (!shared_->is_reference && has_open_shapes(function)) {
        planned.push_back(with_shapes(function, least_shapes(function)));
        open.emplace_back(std::move(function));
      } else {
        planned.push_back(std::move(function));
        open.emplace_back();
      }
    }
    std::vector<PreparedFunction*> all;
    for (PreparedFunction& function : planned) all.push_back(&function);
    const std::lock_guard lock(shared_->mutex);
    return ending_with_memory([&] {
      return exec::plan(all, !shared_->is_reference, folder_, shared_->pool,
                        shared_->offload.get());
    });
  };
  const Status status = prepare_and_plan();
  // A file that was cut short reads as zeros, so this check comes before errors that a plan finds
  // in zeros.
  ANEMONE_RETURN_IF_ERROR(source_.check());
  ANEMONE_RETURN_IF_ERROR(status);
  for (std::size_t i = 0; i < planned.size(); ++i)
    entries[i].plans = open[i] ? std::make_unique<FunctionPlans>(
                                     std::move(*open[i]), std::move(planned[i]), folder_, *shared_)
                               : std::make_unique<FunctionPlans>(std::move(planned[i]), *shared_);
  return {};
}

Result<std::size_t> CpuProgram::index_of(std::string_view function) const {
  const std::string_view name = function.empty() ? default_function_ : function;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return i;
  return not_found("[{}] expected one of the functions {}", name, names_of(names_));
}

Result<FunctionPlans*> CpuProgram::plans_of(std::string_view function) const {
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t index, index_of(function));
  const std::lock_guard lock(mutex_);
  if (entries_[index].plans == nullptr) ANEMONE_RETURN_IF_ERROR(make_plans({&entries_[index], 1}));
  return entries_[index].plans.get();
}

void CpuProgram::set_timed(bool is_timed) const {
  const std::lock_guard lock(mutex_);
  if (is_timed)
    for (const Entry& entry : entries_)
      if (entry.plans != nullptr) entry.plans->reset_times();
  is_timed_ = is_timed;
}

Result<std::shared_ptr<const ExecutionPlan>> CpuProgram::plan(std::string_view function) const {
  ANEMONE_ASSIGN_OR_RETURN(const FunctionPlans* plans, plans_of(function));
  return plans->last();
}

Result<std::vector<PlanStep>> CpuProgram::explain(std::string_view function) const {
  ANEMONE_ASSIGN_OR_RETURN(const auto found, plan(function));
  return exec::explain(*found);
}

Result<PlanMemory> CpuProgram::explain_memory(std::string_view function) const {
  ANEMONE_ASSIGN_OR_RETURN(const auto found, plan(function));
  const MemoryPlan& memory = found->function().memory;
  return PlanMemory{memory.arena_bytes, memory.value_bytes};
}

std::vector<std::string> CpuProgram::mask_inputs(std::string_view function) const {
  std::vector<std::string> names;
  const auto found = plan(function);
  if (!found.ok()) return names;
  for (const PreparedInput& input : (*found)->function().inputs)
    if (input.mask) names.push_back(input.feature->name);
  return names;
}

const Signature* CpuProgram::signature(std::string_view function) const {
  const auto index = index_of(function);
  return index.ok() ? entries_[*index].signature.get() : nullptr;
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
  ANEMONE_ASSIGN_OR_RETURN(FunctionPlans * plans, plans_of(name));
  for (const BatchItem& item : items) ANEMONE_RETURN_IF_ERROR(check_item(plans->signature(), item));
  RunTimes* const times = items.empty() ? nullptr : items.front().times;
  while (!items.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(const auto plan,
                             ending_with_memory([&] { return plans->find(items[0]); }));
    const std::size_t together = count_together(plan->function(), items);
    ANEMONE_RETURN_IF_ERROR(together == 0 ? run_with_copies(*plan, items[0], times)
                                          : run_together(*plan, items.first(together), times));
    items = items.subspan(std::max<std::size_t>(together, 1));
  }
  return {};
}

void CpuProgram::for_each(std::size_t count, const std::function<void(std::size_t)>& body) const {
  ThreadsTurn turn(*shared_);
  turn.pool().parallel_for(static_cast<std::int64_t>(count), 1, [&](std::int64_t i, std::int64_t) {
    body(static_cast<std::size_t>(i));
  });
}

Status CpuProgram::run_with_copies(const ExecutionPlan& plan, const BatchItem& item,
                                   RunTimes* times) const {
  const CacheBindings bindings = split_bindings(plan.function(), item);
  return run_with_tensors(item, bindings.others, *plan.function().signature,
                          [&](const Inputs& inputs, Outputs& outputs) {
                            const BatchItem one{&inputs,    &outputs,          item.states,
                                                item.facts, bindings.in_place, item.meanwhile};
                            return run_together(plan, {&one, 1}, times);
                          });
}

Status CpuProgram::run_together(const ExecutionPlan& plan, std::span<const BatchItem> items,
                                RunTimes* times) const {
  const PreparedFunction& function = plan.function();
  struct Run {
    CpuStateStore* store = nullptr;
    std::vector<std::size_t> places;
    std::vector<BufferRef> states;
    std::unique_ptr<Frame> frame;
    std::vector<const CacheBinding*> bindings;
    std::vector<FusedState> caches;
    std::vector<BufferRef> copies;  // of caches
  };
  std::vector<Run> runs(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    Run& run = runs[i];
    run.store = dynamic_cast<CpuStateStore*>(items[i].states);
    if (items[i].states != nullptr && run.store == nullptr)
      return invalid_argument("expected a state store of the CPU executor, got another one");
    ANEMONE_ASSIGN_OR_RETURN(run.places, match_states(function, run.store));
    ANEMONE_RETURN_IF_ERROR(unshare_states(function, run.places, run.store, shared_->memory));
  }
  ThreadsTurn turn(*shared_);
  MaskCache masks;
  std::int64_t bytes_read = 0;
  const FusedContext context{turn.pool(), kernels::simd::kernels_of(shared_->isa), masks,
                             bytes_read, shared_->chunks_delta_nets};
  std::vector<Interpreter> interpreters;
  interpreters.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run& run = runs[i];
    // Runs over one store share its states: a later one sees what an earlier one has written.
    const auto first = std::find_if(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const Run& other) { return other.store == run.store; });
    std::vector<BufferRef>& states = run.store == nullptr ? run.states : first->states;
    if (&states == &run.states)
      for (const std::size_t place : run.places) states.push_back(run.store->buffers()[place]);
    ANEMONE_ASSIGN_OR_RETURN(run.frame, plan.take_frame());
    ANEMONE_RETURN_IF_ERROR(bind_inputs(function, items[i], run.frame->registers, masks));
    place_outputs(function, *items[i].outputs, *run.frame);
    run.bindings = bindings_of(function, items[i]);
    ANEMONE_ASSIGN_OR_RETURN(run.caches,
                             bind_caches(function, run.bindings, *run.frame, run.copies));
    interpreters.emplace_back(function, *run.frame, states, run.caches, context.threads,
                              shared_->max_rounds, real_tokens(items[i]), items[i].wants_outputs);
  }
  const std::function<void()> meanwhile = [&] { turn.lend(*items[0].meanwhile); };
  std::optional<OpTimes> own;
  if (times != nullptr) own.emplace(function.block.ops.size());
  OpTimes* const counted = own ? &*own : is_timed_ ? &plan.times() : nullptr;
  Status status = ending_with_memory([&] {
    return Interpreter::run(function, interpreters, context, counted,
                            items[0].meanwhile != nullptr ? &meanwhile : nullptr);
  });
  turn.end();
  if (own) {
    if (is_timed_) plan.times().add(*own);
    times->add(plan.steps(), own->seconds());
  }
  for (std::size_t i = 0; i < runs.size() && status.ok(); ++i) {
    if (!items[i].wants_outputs) continue;
    status = ending_with_memory([&] {
      return copy_outputs(function, runs[i].frame->registers, runs[i].bindings, *shared_->memory,
                          *items[i].outputs);
    });
  }
  // The files are checked after the outputs were copied: an output may be a constant of a mapped
  // file.
  if (const Status files = source_.check(); !files.ok()) status = files;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run& run = runs[i];
    if (status.ok()) {
      for (std::size_t k = 0; k < run.states.size(); ++k)
        std::swap(run.store->buffers()[run.places[k]], run.states[k]);
    }
    // What is in `states` now are those that nobody needs any more.
    for (BufferRef& buffer : run.states) run.frame->pool.give(std::move(buffer));
    for (BufferRef& buffer : run.copies) run.frame->pool.give(std::move(buffer));
    interpreters[i].clear();
    plan.give_frame(std::move(run.frame));
  }
  return status.ok() ? status : status.with("function " + function.function->name);
}

}  // namespace anemone::exec
