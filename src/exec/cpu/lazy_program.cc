// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/lazy_program.h"

#include <algorithm>
#include <utility>

#include "exec/cpu/state_store.h"

namespace anemone::exec {

Result<std::shared_ptr<const LazyProgram>> LazyProgram::make(
    ProgramSource source, const std::vector<const ir::Function*>& functions,
    std::vector<Signature> signatures, std::string default_function,
    std::shared_ptr<SharedThreads> threads) {
  ANEMONE_ASSIGN_OR_RETURN(std::vector<Feature> states, states_of(signatures));
  std::shared_ptr<LazyProgram> out(new LazyProgram(std::move(source), std::move(default_function),
                                                   std::move(states), std::move(threads)));
  for (std::size_t i = 0; i < functions.size(); ++i) {
    out->names_.push_back(functions[i]->name);
    out->entries_.push_back({functions[i], std::move(signatures[i]), nullptr});
  }
  return std::shared_ptr<const LazyProgram>(std::move(out));
}

const Signature* LazyProgram::signature(std::string_view function) const {
  const auto index = index_of_function(names_, default_function_, function);
  return index.ok() ? &entries_[*index].signature : nullptr;
}

Result<std::unique_ptr<StateStore>> LazyProgram::make_state() const {
  return CpuStateStore::make(states_);
}

Result<const CpuProgram*> LazyProgram::prepared(std::string_view function) const {
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t index,
                           index_of_function(names_, default_function_, function));
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[index];
  if (entry.program == nullptr) {
    ANEMONE_ASSIGN_OR_RETURN(
        entry.program, CpuProgram::prepare_and_make(source_, {entry.function}, {entry.signature},
                                                    entry.function->name, threads_));
    entry.program->set_timed(is_timed_);
  }
  return entry.program.get();
}

void LazyProgram::set_timed(bool is_timed) const {
  const std::lock_guard lock(mutex_);
  is_timed_ = is_timed;
  for (const Entry& entry : entries_)
    if (entry.program != nullptr) entry.program->set_timed(is_timed);
}

Status LazyProgram::run(std::string_view function, const Inputs& inputs, Outputs& outputs,
                        StateStore* states) const {
  const BatchItem item{&inputs, &outputs, states};
  return run_batch(function, {&item, 1});
}

Status LazyProgram::run_batch(std::string_view function, std::span<const BatchItem> items) const {
  ANEMONE_ASSIGN_OR_RETURN(const CpuProgram* program, prepared(function));
  return program->run_batch(function.empty() ? default_function_ : function, items);
}

}  // namespace anemone::exec
