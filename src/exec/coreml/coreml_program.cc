// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/coreml_program.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "base/name_index.h"

namespace anemone::exec::coreml {
namespace {

bool are_equal(const std::vector<Feature>& a, const std::vector<Feature>& b) {
  return std::ranges::equal(a, b, [](const Feature& x, const Feature& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape;
  });
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

CoreMlProgram::CoreMlProgram() : number_(next_number()) {}

Result<std::shared_ptr<const CoreMlProgram>> CoreMlProgram::make(
    std::shared_ptr<CoreMlShared> shared, const std::string& package, const LoadOptions& options) {
  std::shared_ptr<CoreMlProgram> out(new CoreMlProgram());
  out->shared_ = shared;
  ANEMONE_ASSIGN_OR_RETURN(out->models_, PackageModels::open(shared, package));
  ANEMONE_ASSIGN_OR_RETURN(std::vector<std::string> all, out->models_->functions());
  // A package of one function that is not multifunction has no name for it.
  const bool has_names = !all.empty();
  if (!has_names) all.emplace_back("main");
  std::ranges::sort(all);
  for (const std::string& name : options.functions)
    if (std::ranges::find(all, name) == all.end())
      return not_found("[{}] expected one of the functions {}, got {}", out->models_->name(),
                       names_of(all), name);
  for (const std::string& name : all) {
    if (!options.functions.empty() &&
        std::ranges::find(options.functions, name) == options.functions.end())
      continue;
    const std::string load_name = has_names ? name : "";
    ANEMONE_ASSIGN_OR_RETURN(ModelInfo info, out->models_->describe(load_name));
    auto signature = coreml::signature_of(info).with(out->models_->name());
    if (!signature.ok()) return signature.status();
    if (!signature->states.empty() && out->states_.empty()) out->states_ = signature->states;
    if (!signature->states.empty() && !are_equal(signature->states, out->states_))
      return unsupported("[{}] expected functions with equal states, got others in {}",
                         out->models_->name(), name);
    out->names_.push_back(name);
    out->functions_.push_back(std::make_unique<CoreMlFunction>(
        shared, *out->models_, name, load_name, std::move(info), *std::move(signature)));
  }
  const bool has_main = std::ranges::find(out->names_, "main") != out->names_.end();
  out->default_function_ = has_main ? "main" : out->names_.front();
  if (!options.when_first_run)
    for (const auto& function : out->functions_) ANEMONE_RETURN_IF_ERROR(function->load());
  return std::shared_ptr<const CoreMlProgram>(std::move(out));
}

Result<CoreMlFunction*> CoreMlProgram::find(std::string_view function) const {
  const std::string_view name = function.empty() ? default_function_ : function;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return functions_[i].get();
  return not_found("[{}] expected one of the functions {}", name, names_of(names_));
}

const Signature* CoreMlProgram::signature(std::string_view function) const {
  const auto found = find(function);
  return found.ok() ? &(*found)->signature() : nullptr;
}

Result<std::unique_ptr<StateStore>> CoreMlProgram::make_state() const {
  auto store = std::make_unique<CoreMlStateStore>(shared_->shared_runtime(), number_, states_);
  const auto user = std::ranges::find_if(
      functions_, [](const auto& function) { return !function->signature().states.empty(); });
  // A loaded model of Core ML makes the states, so one of the functions that have some is loaded
  // now.
  if (user != functions_.end()) ANEMONE_RETURN_IF_ERROR((*user)->prepare(*store));
  return std::unique_ptr<StateStore>(std::move(store));
}

Status CoreMlProgram::run(std::string_view function, const Inputs& inputs, Outputs& outputs,
                          StateStore* states) const {
  const BatchItem item{.inputs = &inputs, .outputs = &outputs, .states = states};
  return run_batch(function, {&item, 1});
}

Status CoreMlProgram::run_batch(std::string_view name, std::span<const BatchItem> items) const {
  ANEMONE_ASSIGN_OR_RETURN(CoreMlFunction * function, find(name));
  const bool has_states = !function->signature().states.empty();
  for (const BatchItem& item : items) {
    ANEMONE_RETURN_IF_ERROR(check_item(function->signature(), item));
    const auto* store = dynamic_cast<const CoreMlStateStore*>(item.states);
    if (item.states != nullptr && (store == nullptr || store->owner() != number_))
      return invalid_argument("[{}] expected states of this program, got others", models_->name());
    if (has_states && store == nullptr)
      return invalid_argument("[{}] expected states for function {}, got none", models_->name(),
                              function->name());
  }
  for (BatchItem item : items) {
    item.times = items[0].times;  // the first item has those of the whole batch
    ANEMONE_RETURN_IF_ERROR(function->run(item, static_cast<CoreMlStateStore*>(item.states))
                                .with("function " + function->name()));
    if (items[0].meanwhile != nullptr) (*items[0].meanwhile)();
  }
  return {};
}

Result<ComputePlan> CoreMlProgram::plan(std::string_view name) const {
  ANEMONE_ASSIGN_OR_RETURN(const CoreMlFunction* function, find(name));
  return models_->plan(function->load_name());
}

Result<std::vector<PlanStep>> CoreMlProgram::explain(std::string_view name) const {
  ANEMONE_ASSIGN_OR_RETURN(const CoreMlFunction* function, find(name));
  const PhaseTimes times = function->times();
  std::vector<PlanStep> steps = *phase_steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].runs = times.runs;
    steps[i].seconds = times.seconds[i];
  }
  return steps;
}

Result<PlanMemory> CoreMlProgram::explain_memory(std::string_view name) const {
  ANEMONE_ASSIGN_OR_RETURN(const CoreMlFunction* function, find(name));
  const std::int64_t bytes = function->staging_bytes();
  return PlanMemory{bytes, bytes};  // staging buffers share no memory
}

void CoreMlProgram::set_timed(bool is_timed) const {
  for (const auto& function : functions_) function->set_timed(is_timed);
}

}  // namespace anemone::exec::coreml
