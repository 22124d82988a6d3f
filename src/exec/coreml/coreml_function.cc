// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/coreml_function.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/error.h"
#include "exec/cache_positions.h"
#include "exec/coreml/arrays.h"
#include "exec/ending_with_memory.h"

namespace anemone::exec::coreml {
namespace {

using Clock = std::chrono::steady_clock;

// The tensor of an output that a caller brings along from an earlier run, or a new one, at its
// place in the list.
Tensor& tensor_for(Outputs& outputs, const std::string& name, DType dtype, const Shape& shape) {
  const auto found = std::ranges::find(outputs, name, &NamedTensor::name);
  NamedTensor& output =
      found == outputs.end() ? outputs.emplace_back(NamedTensor{name, Tensor()}) : *found;
  if (output.tensor.empty() || output.tensor.dtype() != dtype || output.tensor.shape() != shape)
    output.tensor = Tensor(dtype, shape);
  return output.tensor;
}

// The outputs in the order of the signature, without what is not among them.
void put_in_order(const BindingPlan& plan, Outputs& outputs) {
  Outputs ordered;
  for (const PlannedOutput& planned : plan.outputs) {
    if (planned.use != PlannedOutput::Use::kTensor) continue;
    const auto found = std::ranges::find(outputs, planned.feature->name, &NamedTensor::name);
    if (found != outputs.end()) ordered.push_back(std::move(*found));
  }
  outputs = std::move(ordered);
}

}  // namespace

CoreMlFunction::CoreMlFunction(std::shared_ptr<CoreMlShared> shared, PackageModels& models,
                               std::string name, std::string load_name, ModelInfo info,
                               Signature signature)
    : shared_(std::move(shared)),
      models_(models),
      name_(std::move(name)),
      load_name_(std::move(load_name)),
      info_(std::move(info)),
      signature_(std::move(signature)) {
  shared_->add(this);
}

CoreMlFunction::~CoreMlFunction() {
  shared_->remove(this);
  if (model_.model != ModelHandle::kNone) shared_->runtime().release(model_.model);
}

Status CoreMlFunction::load() {
  const std::lock_guard lock(mutex_);
  return ending_with_memory([&] { return load_locked(); });
}

Status CoreMlFunction::load_locked() {
  if (model_.model != ModelHandle::kNone && model_.revision == models_.revision()) return {};
  if (model_.model != ModelHandle::kNone)
    shared_->runtime().release(std::exchange(model_, {}).model);
  PackageModels::WarmUp warm;
  if (shared_->options().warms_up)
    warm = [this](const PackageModels::Loaded& model) { return warm_up(model); };
  ANEMONE_ASSIGN_OR_RETURN(model_, models_.load(load_name_, warm, this));
  return {};
}

Failure CoreMlFunction::warm_up(const PackageModels::Loaded& model) {
  StateHandle states = StateHandle::kNone;
  if (!info_.states.empty()) {
    const auto made = shared_->runtime().make_state(model.model);
    if (!made.ok()) return made.error();
    states = *made;
  }
  Failure failure;
  const Status status = ending_with_memory([&] {
    std::vector<Tensor> zeros;
    Inputs inputs;
    for (const FeatureInfo& input : info_.inputs) {
      zeros.emplace_back(input.dtype, input.shape);
      inputs.push_back({input.name, zeros.back().view()});
    }
    Outputs outputs;
    const BatchItem item{.inputs = &inputs, .outputs = &outputs};
    return run_once(item, states, model, failure);
  });
  if (states != StateHandle::kNone) shared_->runtime().release(states);
  if (!failure && !status.ok())
    failure = runtime_error("anemone", static_cast<std::int64_t>(status.code()), status.message());
  return failure;
}

bool CoreMlFunction::release_if_idle() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || model_.model == ModelHandle::kNone) return false;
  shared_->runtime().release(std::exchange(model_, {}).model);
  staging_.clear();
  staging_bytes_ = 0;
  return true;
}

Status CoreMlFunction::prepare(CoreMlStateStore& states) {
  const std::lock_guard lock(mutex_);
  return ending_with_memory([&]() -> Status {
    ANEMONE_RETURN_IF_ERROR(load_locked());
    return states.move_to(model_.model, model_.revision, models_.name());
  });
}

Status CoreMlFunction::run(const BatchItem& item, CoreMlStateStore* states) {
  const std::lock_guard lock(mutex_);
  return ending_with_memory([&]() -> Status {
    constexpr int kTries = 2;
    for (int i = 1;; ++i) {
      ANEMONE_RETURN_IF_ERROR(load_locked());
      StateHandle handle = StateHandle::kNone;
      if (states != nullptr && !info_.states.empty()) {
        ANEMONE_RETURN_IF_ERROR(states->move_to(model_.model, model_.revision, models_.name()));
        handle = states->handle();
      }
      Failure failure;
      const Status status = run_once(item, handle, model_, failure);
      if (!failure) return status;
      const MappedError error =
          map_error(*failure, models_.name(), fmt::format("cannot run function {}", name_));
      // What helps is done even where this run cannot be retried, for the runs after it.
      bool helps = error.frees_memory && shared_->release_idle(this) > 0;
      if (error.recompiles) {
        const std::uint64_t before = models_.revision();
        ANEMONE_RETURN_IF_ERROR(models_.renew_once());
        helps = helps || models_.revision() != before;
      }
      if (!helps || i == kTries || !info_.states.empty()) return error.status;
    }
  });
}

Status CoreMlFunction::run_once(const BatchItem& item, StateHandle states,
                                const PackageModels::Loaded& model, Failure& failure) {
  std::array<Clock::time_point, PhaseTimes::kPhases + 1> marks;
  marks[0] = Clock::now();
  ANEMONE_ASSIGN_OR_RETURN(const BindingPlan plan, plan_bindings(info_, item));
  std::vector<NamedArray> inputs;
  for (const PlannedInput& input : plan.inputs) {
    Array array = input.source;
    if (input.owner == Owner::kStaging) {
      array = staging_for("i " + input.feature->name, array.dtype, array.shape, input.need);
      copy_elements(input.source, array);
    }
    inputs.push_back({input.feature->name, std::move(array)});
  }
  std::vector<NamedArray> backings;
  for (const PlannedOutput& output : plan.outputs) {
    Array array = backing_of(output, *item.outputs);
    if (array.data != nullptr) backings.push_back({output.feature->name, std::move(array)});
  }
  marks[1] = Clock::now();
  Status status;
  std::size_t taken = 0;
  double take_seconds = 0;
  // Core ML has read all inputs by the time that it gives outputs, so the caches may be written.
  const auto take_one = [&](std::string_view name, const Array* array) {
    const Clock::time_point start = Clock::now();
    const auto output = std::ranges::find(plan.outputs, name, [](const PlannedOutput& each) {
      return std::string_view(each.feature->name);
    });
    if (output != plan.outputs.end() && status.ok()) {
      const bool is_in_backing = array == nullptr;
      const Array& memory =
          is_in_backing ? std::ranges::find(backings, name, &NamedArray::name)->array : *array;
      status =
          ending_with_memory([&] { return take(*output, memory, is_in_backing, *item.outputs); });
      ++taken;
    }
    take_seconds += std::chrono::duration<double>(Clock::now() - start).count();
  };
  failure = shared_->runtime().predict(
      model.model, {.inputs = inputs, .backings = backings, .state = states, .take = take_one});
  if (failure) return {};
  ANEMONE_RETURN_IF_ERROR(status);
  if (taken != plan.outputs.size())
    return Status(Code::kDevice, fmt::format("[{}] expected {} outputs of function {}, got {}",
                                             models_.name(), plan.outputs.size(), name_, taken));
  put_in_order(plan, *item.outputs);
  marks[2] = Clock::now();
  const auto seconds = [&](std::size_t i) {
    return std::chrono::duration<double>(marks[i + 1] - marks[i]).count();
  };
  const std::vector<double> phases = {seconds(0), seconds(1) - take_seconds, take_seconds};
  if (item.times != nullptr) item.times->add(phase_steps(), phases);
  if (is_timed_) {
    const std::lock_guard lock(times_mutex_);
    for (std::size_t i = 0; i < PhaseTimes::kPhases; ++i) times_.seconds[i] += phases[i];
    ++times_.runs;
  }
  return {};
}

Array CoreMlFunction::staging_for(const std::string& key, DType dtype, const Shape& shape,
                                  const BufferNeed& need) {
  std::vector<std::byte>& bytes = staging_[key].bytes;
  if (bytes.size() < need.bytes) {
    staging_bytes_ += static_cast<std::int64_t>(need.bytes - bytes.size());
    bytes.resize(static_cast<std::size_t>(need.bytes));
  }
  return {dtype, shape, need.strides, bytes.data(), need.bytes};
}

Array CoreMlFunction::backing_of(const PlannedOutput& output, Outputs& outputs) {
  const FeatureInfo& feature = *output.feature;
  if (output.owner == Owner::kNobody) return {};
  if (output.owner == Owner::kStaging)
    return staging_for("o " + feature.name, feature.dtype, output.shape, output.need);
  if (output.use == PlannedOutput::Use::kTensor)
    return array_of(tensor_for(outputs, feature.name, feature.dtype, output.shape).mutable_view());
  Tensor& second = staging_["o " + feature.name].tensor;
  if (second.empty() || second.dtype() != feature.dtype || second.shape() != output.shape)
    second = Tensor(feature.dtype, output.shape);
  return array_of(second.mutable_view());
}

Status CoreMlFunction::take(const PlannedOutput& output, const Array& array, bool is_in_backing,
                            Outputs& outputs) {
  const FeatureInfo& feature = *output.feature;
  const bool has_shape = output.owner != Owner::kNobody;
  if (array.dtype != feature.dtype || (has_shape && array.shape != output.shape) ||
      extent_bytes(array.dtype, array.shape, array.strides) > array.bytes)
    return Status(Code::kDevice,
                  fmt::format("[{}] expected output {} {} of Core ML, got {} {}", feature.name,
                              dtype_name(feature.dtype), to_string(output.shape),
                              dtype_name(array.dtype), to_string(array.shape)));
  switch (output.use) {
    case PlannedOutput::Use::kTensor: {
      if (is_in_backing && output.owner == Owner::kCaller) return {};
      Tensor& tensor = tensor_for(outputs, feature.name, array.dtype, array.shape);
      copy_elements(array, array_of(tensor.mutable_view()));
      return {};
    }
    case PlannedOutput::Use::kReplace: {
      Tensor& cache = *output.binding->cache;
      if (is_in_backing && output.owner == Owner::kCaller)
        std::swap(cache, staging_.find("o " + feature.name)->second.tensor);
      else
        copy_elements(array, array_of(cache.mutable_view()));
      return {};
    }
    case PlannedOutput::Use::kAppend:
      break;
  }
  const CacheBinding& binding = *output.binding;
  const Shape& shape = binding.cache->shape();
  if (array.shape.size() != 4 || array.shape[0] != 1 || array.shape[1] != shape[1] ||
      array.shape[2] < binding.count || array.shape[3] != shape[3])
    return corrupt("[{}] expected {} rows for a cache {}, got {}", feature.name, binding.count,
                   to_string(shape), to_string(array.shape));
  // The first `count` rows of every head go to the positions of the step.
  Array rows = array;
  rows.shape[2] = binding.count;
  Array target = array_of(binding.cache->mutable_view());
  target.data +=
      static_cast<std::size_t>(binding.position * target.strides[2] * dtype_bits(target.dtype) / 8);
  target.shape[2] = binding.count;
  copy_elements(rows, target);
  return {};
}

const std::shared_ptr<const std::vector<PlanStep>>& phase_steps() {
  static const auto steps = [] {
    std::vector<PlanStep> out(PhaseTimes::kPhases);
    out[PhaseTimes::kStage].name = "copy inputs";
    out[PhaseTimes::kPredict].name = "predict";
    out[PhaseTimes::kTake].name = "copy outputs";
    for (PlanStep& step : out) step.operation = step.name;
    return std::make_shared<const std::vector<PlanStep>>(std::move(out));
  }();
  return steps;
}

void CoreMlFunction::set_timed(bool is_timed) {
  const std::lock_guard lock(times_mutex_);
  if (is_timed) times_ = {};
  is_timed_ = is_timed;
}

PhaseTimes CoreMlFunction::times() const {
  const std::lock_guard lock(times_mutex_);
  return times_;
}

std::int64_t CoreMlFunction::staging_bytes() const {
  return staging_bytes_;
}

}  // namespace anemone::exec::coreml
