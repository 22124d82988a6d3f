// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/package_models.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/path.h"

namespace anemone::exec::coreml {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

LoadEvent::Stage stage_of(CompileStage stage) {
  switch (stage) {
    case CompileStage::kHashing:
      return LoadEvent::Stage::kHashing;
    case CompileStage::kWaiting:
      return LoadEvent::Stage::kWaiting;
    case CompileStage::kCompiling:
      return LoadEvent::Stage::kCompiling;
    case CompileStage::kReady:
      break;
  }
  return LoadEvent::Stage::kCompiled;
}

CompileProgress progress_for(CoreMlShared& shared, const std::string& name) {
  return [&shared, &name](const CompileEvent& event) {
    LoadEvent out{.stage = stage_of(event.stage),
                  .package = name,
                  .function = {},
                  .seconds = event.seconds,
                  .text = {}};
    if (event.stage == CompileStage::kReady) out.text = event.was_compiled ? "compiled" : "found";
    shared.tell(out);
  };
}

}  // namespace

PackageModels::PackageModels(std::shared_ptr<CoreMlShared> shared, std::string package,
                             CompiledModel compiled)
    : shared_(std::move(shared)),
      package_(std::move(package)),
      name_(last_name(package_)),
      compiled_(std::move(compiled)),
      units_(shared_->options().units) {}

Result<std::unique_ptr<PackageModels>> PackageModels::open(std::shared_ptr<CoreMlShared> shared,
                                                           const std::string& package) {
  const std::string name = last_name(package);
  ANEMONE_ASSIGN_OR_RETURN(CompiledModel compiled,
                           shared->cache().get(package, progress_for(*shared, name)));
  return std::unique_ptr<PackageModels>(
      new PackageModels(std::move(shared), package, std::move(compiled)));
}

Status PackageModels::renew() {
  was_renewed_ = true;
  ANEMONE_ASSIGN_OR_RETURN(
      compiled_, shared_->cache().renew(package_, compiled_, progress_for(*shared_, name_)));
  ++revision_;
  return {};
}

Status PackageModels::renew_once() {
  const std::lock_guard lock(mutex_);
  return was_renewed_ ? ok_status() : renew();
}

Result<std::vector<std::string>> PackageModels::functions() {
  const std::lock_guard lock(mutex_);
  auto names = shared_->runtime().functions(compiled_.path);
  if (names.ok()) return *names;
  const MappedError error = map_error(names.error(), name_, "cannot read the compiled model");
  if (!error.recompiles || was_renewed_) return error.status;
  ANEMONE_RETURN_IF_ERROR(renew());
  names = shared_->runtime().functions(compiled_.path);
  if (names.ok()) return *names;
  return map_error(names.error(), name_, "cannot read the compiled model").status;
}

Result<ModelInfo> PackageModels::describe(const std::string& function) {
  const std::lock_guard lock(mutex_);
  auto info = shared_->runtime().describe(compiled_.path, function);
  if (!info.ok())
    return map_error(info.error(), name_, fmt::format("cannot describe function {}", function))
        .status;
  for (auto* features : {&info->inputs, &info->outputs, &info->states})
    std::ranges::sort(*features, {}, &FeatureInfo::name);
  return *std::move(info);
}

Result<ComputePlan> PackageModels::plan(const std::string& function) {
  const std::lock_guard lock(mutex_);
  auto plan = shared_->runtime().plan(
      compiled_.path, {.function = function, .units = units_, .display_name = name_});
  if (plan.ok()) return *std::move(plan);
  return map_error(plan.error(), name_, fmt::format("cannot plan function {}", function)).status;
}

Outcome<PackageModels::Loaded> PackageModels::try_load(const std::string& function,
                                                       const WarmUp& warm_up) {
  const ModelOptions options{.function = function,
                             .units = units_,
                             .specializes_for_speed = shared_->options().specializes_for_speed,
                             .display_name = name_ + " " + function};
  LoadEvent event{.stage = LoadEvent::Stage::kLoaded,
                  .package = name_,
                  .function = function,
                  .seconds = 0,
                  .text = {}};
  Clock::time_point start = Clock::now();
  auto model = shared_->runtime().load(compiled_.path, options);
  if (!model.ok()) return model.error();
  event.seconds = seconds_since(start);
  shared_->tell(event);
  const Loaded loaded{*model, revision_};
  if (warm_up == nullptr) return loaded;
  start = Clock::now();
  if (Failure failure = warm_up(loaded)) {
    shared_->runtime().release(loaded.model);
    return *std::move(failure);
  }
  event.stage = LoadEvent::Stage::kWarm;
  event.seconds = seconds_since(start);
  shared_->tell(event);
  return loaded;
}

Result<PackageModels::Loaded> PackageModels::load(const std::string& function,
                                                  const WarmUp& warm_up,
                                                  const CoreMlFunction* self) {
  const std::lock_guard lock(mutex_);
  const std::string action =
      function.empty() ? "cannot load" : fmt::format("cannot load function {}", function);
  auto loaded = try_load(function, warm_up);
  const auto error = [&] { return map_error(loaded.error(), name_, action); };
  if (!loaded.ok() && error().recompiles && !was_renewed_) {
    ANEMONE_RETURN_IF_ERROR(renew());
    loaded = try_load(function, warm_up);
  }
  if (!loaded.ok() && error().frees_memory && shared_->release_idle(self) > 0)
    loaded = try_load(function, warm_up);
  if (!loaded.ok() && error().falls_back && shared_->options().falls_back &&
      units_ != ComputeUnits::kCpuOnly) {
    shared_->note(name_, fmt::format("{}: runs on the CPU alone, because {}", name_,
                                     error().status.message()));
    units_ = ComputeUnits::kCpuOnly;
    ++revision_;
    loaded = try_load(function, warm_up);
  }
  if (!loaded.ok()) return error().status;
  return *loaded;
}

}  // namespace anemone::exec::coreml
