// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/coreml_executor.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "exec/coreml/coreml_program.h"
#include "exec/coreml/shared.h"

namespace anemone::exec::coreml {
namespace {

class Implementation : public CoreMlExecutor {
 public:
  explicit Implementation(std::shared_ptr<CoreMlShared> shared) : shared_(std::move(shared)) {}

  std::string_view name() const override { return "coreml"; }

  Result<std::shared_ptr<const LoadedProgram>> load(const std::string& package_path,
                                                    const LoadOptions& options) override {
    ANEMONE_ASSIGN_OR_RETURN(auto program, CoreMlProgram::make(shared_, package_path, options));
    return std::shared_ptr<const LoadedProgram>(std::move(program));
  }

  std::vector<std::string> notes() const override { return shared_->notes(); }
  MachineInfo machine() const override { return shared_->runtime().machine(); }

 private:
  const std::shared_ptr<CoreMlShared> shared_;
};

}  // namespace

Result<ComputePlan> compute_plan(const LoadedProgram& program, std::string_view function) {
  const auto* own = dynamic_cast<const CoreMlProgram*>(&program);
  if (own == nullptr)
    return invalid_argument("expected a program of the Core ML executor, got another one");
  return own->plan(function);
}

CoreMlShared::CoreMlShared(std::shared_ptr<CoreMlRuntime> runtime, CoreMlOptions options)
    : runtime_(std::move(runtime)),
      options_(std::move(options)),
      cache_(runtime_, {.folder = options_.cache_folder, .cancel = options_.cancel}) {
  if (options_.units == ComputeUnits::kCpuAndNeuralEngine && !runtime_->machine().has_neural_engine)
    note("", "this machine has no Neural Engine: packages run on the CPU");
}

void CoreMlShared::tell(const LoadEvent& event) {
  if (options_.on_event == nullptr) return;
  const std::lock_guard lock(tell_mutex_);
  options_.on_event(event);
}

void CoreMlShared::note(std::string_view package, std::string text) {
  {
    const std::lock_guard lock(mutex_);
    notes_.push_back(text);
  }
  tell({.stage = LoadEvent::Stage::kNote,
        .package = package,
        .function = {},
        .seconds = 0,
        .text = text});
}

std::vector<std::string> CoreMlShared::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

void CoreMlShared::add(CoreMlFunction* function) {
  const std::lock_guard lock(mutex_);
  functions_.push_back(function);
}

void CoreMlShared::remove(CoreMlFunction* function) {
  const std::lock_guard lock(mutex_);
  std::erase(functions_, function);
}

int CoreMlShared::release_idle(const CoreMlFunction* except) {
  const std::lock_guard lock(mutex_);
  int released = 0;
  for (CoreMlFunction* function : functions_)
    if (function != except && function->release_if_idle()) ++released;
  return released;
}

std::unique_ptr<CoreMlExecutor> make_coreml_executor(std::shared_ptr<CoreMlRuntime> runtime,
                                                     const CoreMlOptions& options) {
  ANEMONE_CHECK(runtime != nullptr);
  return std::make_unique<Implementation>(
      std::make_shared<CoreMlShared>(std::move(runtime), options));
}

}  // namespace anemone::exec::coreml
