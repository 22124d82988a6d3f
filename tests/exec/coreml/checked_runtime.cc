// SPDX-License-Identifier: Apache-2.0
#include "tests/exec/coreml/checked_runtime.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>

#include "exec/coreml/arrays.h"
#include "exec/coreml/binding_plan.h"
#include "exec/cpu/cpu_executor.h"
#include "mlpackage/package_reader.h"
#include "mlpackage/package_writer.h"
#include "ops/registry.h"

namespace anemone::exec::coreml::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCoreMl = "com.apple.CoreML";
// 0xff in every byte is NaN in fp16, fp32 and fp64.
constexpr std::byte kPoison{0xff};

std::string package_in(const std::string& compiled) {
  return compiled + "/model.mlpackage";
}
std::string end_of(const std::string& compiled) {
  return compiled + "/coremldata.bin";
}

FeatureInfo info_of(const Feature& feature, std::int64_t row_bytes, bool is_output) {
  FeatureInfo out{.name = feature.name,
                  .dtype = feature.dtype,
                  .shape = feature.shape,
                  .size_ranges = feature.size_ranges,
                  .allowed_shapes = feature.allowed_shapes,
                  .is_optional = feature.is_optional,
                  .row_bytes = row_bytes};
  if (is_static(feature.shape)) return out;
  if (is_output) {
    out.shape.clear();  // Core ML does not tell it
  } else if (!feature.allowed_shapes.empty()) {
    out.shape = feature.allowed_shapes[0];
  } else {
    for (std::size_t i = 0; i < out.shape.size(); ++i)
      if (out.shape[i] == kDynamic) out.shape[i] = feature.size_ranges[i].lower;
  }
  return out;
}

bool overlap(const Array& a, const Array& b) {
  const std::uint64_t a_end = extent_bytes(a.dtype, a.shape, a.strides);
  const std::uint64_t b_end = extent_bytes(b.dtype, b.shape, b.strides);
  return a.data < b.data + b_end && b.data < a.data + a_end;
}

const NamedArray* find_array(std::span<const NamedArray> arrays, std::string_view name) {
  const auto found = std::ranges::find(arrays, name, &NamedArray::name);
  return found == arrays.end() ? nullptr : &*found;
}

// An array in memory of its own, poisoned.
struct OwnArray {
  OwnArray(DType dtype, const Shape& shape, std::int64_t row_bytes)
      : bytes(static_cast<std::size_t>(padded_bytes(dtype, shape, row_bytes)), kPoison),
        array{dtype, shape, padded_strides(dtype, shape, row_bytes), bytes.data(), bytes.size()} {}
  std::vector<std::byte> bytes;
  Array array;
};

// Writes the package with operations of other types.
Failure miscompile(const std::string& package, const std::string& target,
                   const std::map<std::string, std::string>& types) {
  auto model = mlpackage::read_package(package);
  if (!model.ok()) return runtime_error(kCoreMl, 3, model.status().message());
  for (const ir::Function* function : model->program.functions())
    for (ir::Op* op : function->block->ops)
      if (const auto found = types.find(op->name); found != types.end()) op->type = found->second;
  const auto written =
      mlpackage::write_package(*model, target, {.registry = &ops::op_registry(), .stamp = false});
  if (!written.ok()) return runtime_error(kCoreMl, 3, written.status().message());
  return std::nullopt;
}

}  // namespace

struct CheckedRuntime::Compiled {
  std::shared_ptr<const LoadedProgram> program;
};

struct CheckedRuntime::Model {
  std::shared_ptr<Compiled> compiled;
  std::string function;  // as the program knows it
  ComputeUnits units = ComputeUnits::kAll;
  ModelInfo info;
  std::atomic<bool> is_in_use = false;
};

struct CheckedRuntime::State {
  std::shared_ptr<Compiled> compiled;
  ComputeUnits units = ComputeUnits::kAll;
  std::vector<FeatureInfo> states;
  std::unique_ptr<StateStore> store;
  std::atomic<bool> is_in_use = false;
};

class CheckedRuntime::Use {
 public:
  explicit Use(std::atomic<bool>* flag) : flag_(flag) {
    is_first_ = flag_ == nullptr || !flag_->exchange(true);
  }
  ~Use() {
    if (flag_ != nullptr && is_first_) *flag_ = false;
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  bool is_first() const { return is_first_; }

 private:
  std::atomic<bool>* const flag_;
  bool is_first_ = false;
};

CheckedRuntime::CheckedRuntime(CheckedOptions options) : options_(std::move(options)) {}
CheckedRuntime::~CheckedRuntime() = default;

MachineInfo CheckedRuntime::machine() const {
  const std::lock_guard lock(mutex_);
  return options_.machine;
}

void CheckedRuntime::set_machine(MachineInfo machine) {
  const std::lock_guard lock(mutex_);
  options_.machine = std::move(machine);
}

void CheckedRuntime::inject(Fault fault) {
  const std::lock_guard lock(mutex_);
  faults_.push_back(std::move(fault));
}

std::vector<std::string> CheckedRuntime::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

int CheckedRuntime::live_models() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(models_.size());
}

int CheckedRuntime::live_states() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(states_.size());
}

std::map<std::string, ComputeUnits> CheckedRuntime::units() const {
  const std::lock_guard lock(mutex_);
  return units_;
}

RuntimeError CheckedRuntime::misuse(const std::string& text) {
  const std::lock_guard lock(mutex_);
  violations_.push_back(text);
  return misuse_error(text);
}

void CheckedRuntime::clear_faults() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

Failure CheckedRuntime::fault(Fault::Call call, const std::string& function, ComputeUnits units) {
  const std::lock_guard lock(mutex_);
  for (Fault& fault : faults_) {
    if (fault.call != call || fault.times == 0) continue;
    if (!fault.function.empty() && fault.function != function) continue;
    if (!fault.units.empty() && std::ranges::find(fault.units, units) == fault.units.end())
      continue;
    if (fault.after > 0) {
      --fault.after;
      continue;
    }
    if (fault.times > 0) --fault.times;
    return fault.error;
  }
  return std::nullopt;
}

Failure CheckedRuntime::compile(const std::string& package, const std::string& target) {
  std::error_code error;
  if (!target.ends_with(".mlmodelc")) return misuse("compile: the target is no .mlmodelc");
  if (fs::exists(target, error)) return misuse("compile: the target exists");
  if (!fs::exists(package, error))
    return runtime_error("NSCocoaErrorDomain", 260, "The file couldn't be opened");
  ++compiles_;
  fs::create_directories(target, error);
  if (const auto hook = in_compile) hook(target);
  if (Failure failure = fault(Fault::Call::kCompile)) return failure;
  if (options_.miscompiled.empty())
    fs::copy(package, package_in(target), fs::copy_options::recursive, error);
  else if (Failure failure = miscompile(package, package_in(target), options_.miscompiled))
    return failure;
  if (!error) fs::copy_file(package + "/Manifest.json", end_of(target), error);
  if (error) return runtime_error("NSPOSIXErrorDomain", error.value(), error.message());
  return std::nullopt;
}

Outcome<std::shared_ptr<CheckedRuntime::Compiled>> CheckedRuntime::open(
    const std::string& compiled) {
  struct stat info {};
  if (!compiled.ends_with(".mlmodelc")) return misuse("expected a .mlmodelc, got " + compiled);
  if (::stat(end_of(compiled).c_str(), &info) != 0)
    return runtime_error(kCoreMl, 3, "The model is not a compiled model: " + compiled);
  const std::lock_guard lock(mutex_);
  std::weak_ptr<Compiled>& known = compiled_[fmt::format("{} {}", info.st_ino, compiled)];
  if (auto alive = known.lock()) return alive;
  auto out = std::make_shared<Compiled>();
  auto loaded = make_cpu_executor({.threads = 1})
                    ->load(package_in(compiled), {.functions = {}, .when_first_run = true});
  if (!loaded.ok()) return runtime_error(kCoreMl, 3, loaded.status().message());
  out->program = *std::move(loaded);
  known = out;
  return out;
}

Outcome<std::vector<std::string>> CheckedRuntime::functions(const std::string& compiled) {
  if (Failure failure = fault(Fault::Call::kFunctions)) return *failure;
  auto opened = open(compiled);
  if (!opened.ok()) return opened.error();
  std::vector<std::string> names = (*opened)->program->functions();
  std::ranges::reverse(names);
  return names.size() == 1 && names[0] == "main" ? std::vector<std::string>() : names;
}

Outcome<ModelInfo> CheckedRuntime::describe(const std::string& compiled,
                                            const std::string& function) {
  if (Failure failure = fault(Fault::Call::kDescribe)) return *failure;
  auto opened = open(compiled);
  if (!opened.ok()) return opened.error();
  const LoadedProgram& program = *(*opened)->program;
  const Signature* signature =
      program.signature(function.empty() ? program.default_function() : function);
  if (signature == nullptr)
    return runtime_error(kCoreMl, 0, "functionName must be nil or name a function: " + function);
  const std::int64_t row_bytes = options_.row_bytes;
  ModelInfo out;
  for (const Feature& each : signature->inputs)
    out.inputs.push_back(info_of(each, row_bytes, false));
  for (const Feature& each : signature->outputs)
    out.outputs.push_back(info_of(each, row_bytes, true));
  for (const Feature& each : signature->states) out.states.push_back(info_of(each, 0, false));
  for (auto* features : {&out.inputs, &out.outputs, &out.states}) std::ranges::reverse(*features);
  return out;
}

Outcome<ModelHandle> CheckedRuntime::load(const std::string& compiled,
                                          const ModelOptions& options) {
  if (Failure failure = fault(Fault::Call::kLoad, options.function, options.units)) return *failure;
  auto opened = open(compiled);
  if (!opened.ok()) return opened.error();
  auto model = std::make_shared<Model>();
  auto info = describe(compiled, options.function);
  if (!info.ok()) return info.error();
  model->compiled = *opened;
  model->info = *info;
  model->units = options.units;
  model->function =
      options.function.empty() ? (*opened)->program->default_function() : options.function;
  ++loads_;
  const std::lock_guard lock(mutex_);
  units_[model->function] = options.units;
  const ModelHandle handle{next_++};
  models_.emplace(handle, std::move(model));
  return handle;
}

Outcome<std::shared_ptr<CheckedRuntime::Model>> CheckedRuntime::find(ModelHandle model) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = models_.find(model);
    if (found != models_.end()) return found->second;
  }
  return misuse("the model was released, or is none");
}

Outcome<std::shared_ptr<CheckedRuntime::State>> CheckedRuntime::find(StateHandle state) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(state);
    if (found != states_.end()) return found->second;
  }
  return misuse("the state was released, or is none");
}

void CheckedRuntime::release(ModelHandle model) {
  auto found = find(model);
  if (!found.ok()) return;
  if ((*found)->is_in_use) misuse("a model is released while it runs");
  const std::lock_guard lock(mutex_);
  models_.erase(model);
}

void CheckedRuntime::release(StateHandle state) {
  auto found = find(state);
  if (!found.ok()) return;
  if ((*found)->is_in_use) misuse("a state is released while it is in use");
  const std::lock_guard lock(mutex_);
  states_.erase(state);
}

Outcome<StateHandle> CheckedRuntime::make_state(ModelHandle model) {
  if (Failure failure = fault(Fault::Call::kMakeState)) return *failure;
  auto found = find(model);
  if (!found.ok()) return found.error();
  auto state = std::make_shared<State>();
  state->compiled = (*found)->compiled;
  state->units = (*found)->units;
  state->states = (*found)->info.states;
  auto store = state->compiled->program->make_state();
  if (!store.ok()) return runtime_error("NSPOSIXErrorDomain", 12, store.status().message());
  state->store = *std::move(store);
  const std::lock_guard lock(mutex_);
  const StateHandle handle{next_++};
  states_.emplace(handle, std::move(state));
  return handle;
}

Failure CheckedRuntime::access_state(StateHandle state, const std::string& name,
                                     const std::function<void(const Array&)>& access) {
  auto found = find(state);
  if (!found.ok()) return found.error();
  const Use use(&(*found)->is_in_use);
  if (!use.is_first()) return misuse("a state is accessed while it is in use");
  const auto known = std::ranges::find((*found)->states, name, &FeatureInfo::name);
  if (known == (*found)->states.end()) return misuse("the model has no state " + name);
  if (Failure failure = fault(Fault::Call::kAccess)) return failure;
  // In other memory at every call, so that a pointer that somebody kept leads nowhere.
  auto value = (*found)->store->read(name);
  if (!value.ok()) return runtime_error(kCoreMl, 0, value.status().message());
  OwnArray own(known->dtype, known->shape, options_.given_row_bytes);
  copy_elements(array_of(value->view()), own.array);
  access(own.array);
  copy_elements(own.array, array_of(value->mutable_view()));
  const Status written = (*found)->store->write(name, value->view());
  if (!written.ok()) return runtime_error(kCoreMl, 0, written.message());
  return std::nullopt;
}

Failure CheckedRuntime::check_array(const FeatureInfo& feature, const Array& array,
                                    const char* what) {
  const auto wrong = [&](const std::string& text) {
    return misuse(fmt::format("{} {}: {}", what, feature.name, text));
  };
  if (array.dtype != feature.dtype) return wrong("another type");
  if (array.data == nullptr) return wrong("no memory");
  if (array.strides.size() != array.shape.size()) return wrong("strides of another rank");
  std::int64_t least = 1;
  for (std::size_t i = array.shape.size(); i-- > 0;) {
    if (array.strides[i] < 1 || (array.shape[i] > 1 && array.strides[i] < least))
      return wrong(fmt::format("stride {} of axis {} is too small", array.strides[i], i));
    least = std::max(least, array.strides[i] * array.shape[i]);
  }
  if (!has_row_bytes(array, feature.row_bytes))
    return wrong(fmt::format("rows are no multiple of {} bytes", feature.row_bytes));
  if (extent_bytes(array.dtype, array.shape, array.strides) > array.bytes)
    return wrong(fmt::format("{} bytes are too few", array.bytes));
  return std::nullopt;
}

Failure CheckedRuntime::check(const Model& model, const Prediction& prediction,
                              const State* state) {
  const Signature& signature = *model.compiled->program->signature(model.function);
  if (model.info.states.empty() != (state == nullptr))
    return misuse(state == nullptr ? "a function with states runs without"
                                   : "a function without states runs with some");
  if (state != nullptr) {
    if (state->compiled != model.compiled) return misuse("the state is of another package");
    if (state->units != model.units) return misuse("the state is of a model for other units");
    if (!std::ranges::equal(state->states, model.info.states, {}, &FeatureInfo::name,
                            &FeatureInfo::name) ||
        !std::ranges::equal(state->states, model.info.states, {}, &FeatureInfo::shape,
                            &FeatureInfo::shape))
      return misuse("the state is of functions with other states");
  }
  std::set<std::string_view> names;
  for (const NamedArray& input : prediction.inputs) {
    const auto known =
        std::ranges::find(model.info.inputs, std::string(input.name), &FeatureInfo::name);
    if (known == model.info.inputs.end()) return misuse(fmt::format("no input {}", input.name));
    if (!names.insert(input.name).second) return misuse(fmt::format("two inputs {}", input.name));
    if (const Status shape = check_shape(*signature.input(input.name), input.array.shape);
        !shape.ok())
      return misuse("input: " + shape.message());
    if (Failure failure = check_array(*known, input.array, "input")) return failure;
  }
  for (const FeatureInfo& input : model.info.inputs)
    if (!input.is_optional && !names.contains(input.name))
      return misuse("no value for input " + input.name);
  for (std::size_t i = 0; i < prediction.backings.size(); ++i) {
    const NamedArray& backing = prediction.backings[i];
    const auto known =
        std::ranges::find(model.info.outputs, std::string(backing.name), &FeatureInfo::name);
    if (known == model.info.outputs.end()) return misuse(fmt::format("no output {}", backing.name));
    if (!known->shape.empty() && known->shape != backing.array.shape)
      return misuse(fmt::format("backing {}: another shape", backing.name));
    if (Failure failure = check_array(*known, backing.array, "backing")) return failure;
    for (const NamedArray& input : prediction.inputs)
      if (overlap(backing.array, input.array))
        return misuse(fmt::format("backing {} lies in input {}", backing.name, input.name));
    for (const NamedArray& other : prediction.backings.first(i))
      if (overlap(backing.array, other.array))
        return misuse(fmt::format("backing {} lies in backing {}", backing.name, other.name));
  }
  if (prediction.take == nullptr) return misuse("nobody takes the outputs");
  return std::nullopt;
}

void CheckedRuntime::give(const FeatureInfo& feature, const Tensor& result,
                          const Prediction& prediction) const {
  const NamedArray* backing = find_array(prediction.backings, feature.name);
  if (backing != nullptr && options_.uses_backings) {
    const Array& array = backing->array;
    if (!is_dense(array)) std::fill_n(array.data, array.bytes, kPoison);
    copy_elements(array_of(result.view()), array);
    prediction.take(feature.name, nullptr);
    return;
  }
  const OwnArray own(result.dtype(), result.shape(), options_.given_row_bytes);
  copy_elements(array_of(result.view()), own.array);
  prediction.take(feature.name, &own.array);
}

Failure CheckedRuntime::predict(ModelHandle handle, const Prediction& prediction) {
  auto model = find(handle);
  if (!model.ok()) return model.error();
  std::shared_ptr<State> state;
  if (prediction.state != StateHandle::kNone) {
    auto found = find(prediction.state);
    if (!found.ok()) return found.error();
    state = *found;
  }
  const Use use_model(&(*model)->is_in_use);
  if (!use_model.is_first()) return misuse("two predictions at a time with one model");
  const Use use_state(state == nullptr ? nullptr : &state->is_in_use);
  if (!use_state.is_first()) return misuse("two predictions at a time with one state");
  if (Failure failure = check(**model, prediction, state.get())) return failure;
  ++predictions_;
  // A copy: the hook may replace itself.
  if (const auto hook = in_predict) hook();
  if (Failure failure = fault(Fault::Call::kPredict, (*model)->function, (*model)->units)) {
    for (const NamedArray& backing : prediction.backings)
      std::fill_n(backing.array.data, backing.array.bytes, kPoison);
    if (state != nullptr)
      for (const FeatureInfo& each : state->states)
        if (const Status status = state->store->edit(each.name,
                                                     [](const MutableTensorView& view) {
                                                       std::fill_n(view.data, view.size_bytes(),
                                                                   kPoison);
                                                     });
            !status.ok())
          return runtime_error(kCoreMl, 0, status.message());
    return failure;
  }
  std::vector<Tensor> tensors;
  Inputs inputs;
  for (const NamedArray& input : prediction.inputs) {
    Tensor& tensor = tensors.emplace_back(input.array.dtype, input.array.shape);
    copy_elements(input.array, array_of(tensor.mutable_view()));
    inputs.push_back({input.name, tensor.view()});
  }
  Outputs outputs;
  const Status status = (*model)->compiled->program->run(
      (*model)->function, inputs, outputs, state == nullptr ? nullptr : state->store.get());
  if (!status.ok()) return runtime_error(kCoreMl, 0, status.message());
  for (const FeatureInfo& feature : (*model)->info.outputs)
    give(feature, *find_output(outputs, feature.name), prediction);
  return std::nullopt;
}

Outcome<ComputePlan> CheckedRuntime::plan(const std::string& compiled,
                                          const ModelOptions& options) {
  auto opened = open(compiled);
  if (!opened.ok()) return opened.error();
  if (Failure failure = fault(Fault::Call::kPlan, options.function, options.units)) return *failure;
  const auto model = mlpackage::read_package(package_in(compiled));
  if (!model.ok()) return runtime_error(kCoreMl, 3, model.status().message());
  const std::string name =
      options.function.empty() ? (*opened)->program->default_function() : options.function;
  const ir::Function* function = model->program.function(name);
  if (function == nullptr) return runtime_error(kCoreMl, 0, "the plan has no function " + name);
  const bool has_chip = options.units != ComputeUnits::kCpuOnly;
  ComputePlan out;
  for (const ir::Op* op : function->block->ops) {
    PlannedOperation& planned = out.emplace_back();
    planned.name = op->outputs.empty() ? op->name : op->outputs[0]->name;
    planned.type = "ios18." + op->type;
    if (op->type.starts_with("const")) continue;
    planned.preferred = has_chip ? Device::kNeuralEngine : Device::kCpu;
    for (const std::string& key : {op->type, planned.name})
      if (const auto found = options_.devices.find(key); found != options_.devices.end())
        planned.preferred = found->second;
    planned.supported = {Device::kCpu};
    if (planned.preferred == Device::kNeuralEngine)
      planned.supported.push_back(Device::kNeuralEngine);
  }
  return out;
}

}  // namespace anemone::exec::coreml::testing
