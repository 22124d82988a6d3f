// SPDX-License-Identifier: Apache-2.0
// Core ML behind CoreMlRuntime: converts, calls, converts back, and decides nothing. It compiles
// against Apple's public API alone.
//
// Every call has an autorelease pool of its own, since the threads that call it have none. An
// exception of Objective-C becomes an error; none of C++ crosses a frame of Core ML, because what
// is called back does not throw (runtime.h).
#import <CoreML/CoreML.h>
#import <Foundation/Foundation.h>
#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <sys/sysctl.h>

#include "exec/coreml/error_map.h"
#include "exec/coreml/runtime.h"

namespace anemone::exec::coreml {
namespace {

// MLMultiArrayDataTypeInt8, which only the SDK of macOS 26 names.
constexpr NSInteger kInt8 = 0x20008;

std::string text_of(NSString* _Nullable text) {
  const char* const bytes = text == nil ? nullptr : text.UTF8String;
  return bytes == nullptr ? std::string() : std::string(bytes);
}

NSString* string_of(std::string_view text) {
  NSString* const out = [[NSString alloc] initWithBytes:text.data()
                                                 length:text.size()
                                               encoding:NSUTF8StringEncoding];
  return out == nil ? @"" : out;
}

NSURL* url_of(const std::string& path) {
  return [NSURL fileURLWithPath:string_of(path)];
}

// What Core ML says when a call gives nothing: the error, if there is one, with those below it.
RuntimeError error_of(NSError* _Nullable error) {
  constexpr std::size_t kMostLinks = 16;  // a chain might lead back to itself
  RuntimeError out;
  for (NSError* link = error; link != nil && out.chain.size() < kMostLinks;
       link = link.userInfo[NSUnderlyingErrorKey])
    out.chain.push_back({text_of(link.domain), link.code, text_of(link.localizedDescription)});
  if (out.chain.empty()) out.chain.push_back({"com.apple.CoreML", 0, "no error was given"});
  return out;
}

RuntimeError error_of(NSException* exception) {
  return runtime_error(std::string(kExceptionDomain), 0,
                       text_of(exception.name) + ": " + text_of(exception.reason));
}

RuntimeError misuse(std::string text) {
  return runtime_error(std::string(kMisuseDomain), 0, std::move(text));
}

// Waits for a completion handler, which Core ML calls on a queue of its own.
template <typename T>
class Waiter {
 public:
  void set(T _Nullable value, NSError* _Nullable error) {
    const std::lock_guard lock(mutex_);
    value_ = value;
    error_ = error;
    is_set_ = true;
    wake_.notify_all();
  }
  // The value; nil with an error.
  T _Nullable wait() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return is_set_; });
    return value_;
  }
  NSError* _Nullable error() const { return error_; }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_set_ = false;
  T _Nullable value_ = nil;
  NSError* _Nullable error_ = nil;
};

Shape shape_of(NSArray<NSNumber*>* numbers) {
  Shape out;
  for (NSNumber* number in numbers) out.push_back(number.longLongValue);
  return out;
}

NSArray<NSNumber*>* numbers_of(const std::vector<std::int64_t>& values) {
  NSMutableArray<NSNumber*>* const out = [NSMutableArray array];
  for (const std::int64_t value : values) [out addObject:[NSNumber numberWithLongLong:value]];
  return out;
}

// kString: a type that has no tensor.
DType dtype_of(MLMultiArrayDataType type) {
  switch (static_cast<NSInteger>(type)) {
    case MLMultiArrayDataTypeFloat16:
      return DType::kFp16;
    case MLMultiArrayDataTypeFloat32:
      return DType::kFp32;
    case MLMultiArrayDataTypeDouble:
      return DType::kFp64;
    case MLMultiArrayDataTypeInt32:
      return DType::kInt32;
    case kInt8:
      return DType::kInt8;
    default:
      return DType::kString;
  }
}

MLMultiArrayDataType type_of(DType dtype) {
  switch (dtype) {
    case DType::kFp16:
      return MLMultiArrayDataTypeFloat16;
    case DType::kFp64:
      return MLMultiArrayDataTypeDouble;
    case DType::kInt32:
      return MLMultiArrayDataTypeInt32;
    case DType::kInt8:
      return static_cast<MLMultiArrayDataType>(kInt8);
    default:
      return MLMultiArrayDataTypeFloat32;
  }
}

MLComputeUnits units_of(ComputeUnits units) {
  switch (units) {
    case ComputeUnits::kCpuOnly:
      return MLComputeUnitsCPUOnly;
    case ComputeUnits::kCpuAndGpu:
      return MLComputeUnitsCPUAndGPU;
    case ComputeUnits::kAll:
      return MLComputeUnitsAll;
    case ComputeUnits::kCpuAndNeuralEngine:
      break;
  }
  return MLComputeUnitsCPUAndNeuralEngine;
}

// The headers do not say whether the end of a range belongs to it. A size too many is refused by
// Core ML itself, one too few would be refused here, so the end is counted in; a range of one size
// or none is a fixed size.
SizeRange range_of(NSRange range) {
  constexpr NSUInteger kMost = NSUInteger{1} << 40;
  const auto lower = static_cast<std::int64_t>(range.location);
  if (range.length <= 1) return {lower, lower};
  if (range.length > kMost || range.location > kMost) return {lower, SizeRange::kUnbounded};
  return {lower, static_cast<std::int64_t>(range.location + range.length)};
}

FeatureInfo feature_of(MLFeatureDescription* description, std::int64_t row_bytes) {
  FeatureInfo out;
  out.name = text_of(description.name);
  out.is_optional = description.isOptional;
  out.dtype = DType::kString;
  if (MLStateConstraint* const state = description.stateConstraint; state != nil) {
    out.dtype = dtype_of(state.dataType);
    out.shape = shape_of(state.bufferShape);
    return out;
  }
  MLMultiArrayConstraint* const constraint = description.multiArrayConstraint;
  if (description.type != MLFeatureTypeMultiArray || constraint == nil) return out;
  out.dtype = dtype_of(constraint.dataType);
  out.shape = shape_of(constraint.shape);
  out.row_bytes = row_bytes;
  MLMultiArrayShapeConstraint* const shapes = constraint.shapeConstraint;
  if (shapes.type == MLMultiArrayShapeConstraintTypeEnumerated) {
    for (NSArray<NSNumber*>* shape in shapes.enumeratedShapes)
      out.allowed_shapes.push_back(shape_of(shape));
    if (out.allowed_shapes.size() < 2) out.allowed_shapes.clear();
  } else if (shapes.type == MLMultiArrayShapeConstraintTypeRange) {
    for (NSValue* range in shapes.sizeRangeForDimension)
      out.size_ranges.push_back(range_of(range.rangeValue));
  }
  return out;
}

std::vector<FeatureInfo> features_of(NSDictionary<NSString*, MLFeatureDescription*>* descriptions,
                                     std::int64_t row_bytes) {
  std::vector<FeatureInfo> out;
  for (NSString* name in descriptions)
    out.push_back(feature_of((MLFeatureDescription*)descriptions[name], row_bytes));
  // A dictionary has no order.
  std::ranges::sort(out, {}, &FeatureInfo::name);
  return out;
}

MLModelConfiguration* configuration_of(const ModelOptions& options) {
  MLModelConfiguration* const out = [[MLModelConfiguration alloc] init];
  out.computeUnits = units_of(options.units);
  if (!options.function.empty()) out.functionName = string_of(options.function);
  if (!options.display_name.empty()) out.modelDisplayName = string_of(options.display_name);
  // The property gives a copy: it is changed and put back.
  MLOptimizationHints* const hints = out.optimizationHints;
  if (options.specializes_for_speed)
    hints.specializationStrategy = MLSpecializationStrategyFastPrediction;
  if (options.reshapes_seldom) hints.reshapeFrequency = MLReshapeFrequencyHintInfrequent;
  out.optimizationHints = hints;
  return out;
}

Device device_of(id<MLComputeDeviceProtocol> _Nullable device) {
  NSObject* const object = (NSObject*)device;
  if ([object isKindOfClass:[MLNeuralEngineComputeDevice class]]) return Device::kNeuralEngine;
  if ([object isKindOfClass:[MLGPUComputeDevice class]]) return Device::kGpu;
  if ([object isKindOfClass:[MLCPUComputeDevice class]]) return Device::kCpu;
  return Device::kUnknown;
}

PlannedOperation operation_of(MLModelStructureProgramOperation* operation, MLComputePlan* plan) {
  PlannedOperation out;
  if (operation.outputs.count > 0)
    out.name = text_of(((MLModelStructureProgramNamedValueType*)operation.outputs[0]).name);
  out.type = text_of(operation.operatorName);
  if (MLComputePlanDeviceUsage* const usage =
          [plan computeDeviceUsageForMLProgramOperation:operation];
      usage != nil) {
    out.preferred = device_of(usage.preferredComputeDevice);
    for (id<MLComputeDeviceProtocol> device in usage.supportedComputeDevices)
      out.supported.push_back(device_of(device));
  }
  if (MLComputePlanCost* const cost = [plan estimatedCostOfMLProgramOperation:operation];
      cost != nil)
    out.cost = cost.weight;
  return out;
}

// nil with an error: memory of somebody else as an array, without a copy.
MLMultiArray* _Nullable multi_array(const Array& array, NSError* _Nullable* _Nullable error) {
  return [[MLMultiArray alloc] initWithDataPointer:array.data
                                             shape:numbers_of(array.shape)
                                          dataType:type_of(array.dtype)
                                           strides:numbers_of(array.strides)
                                       deallocator:nil
                                             error:error];
}

// Calls `use` with the memory of an array of Core ML. Only the mutable access tells its strides.
void with_array(MLMultiArray* array, const std::function<void(const Array&)>& use) {
  const DType dtype = dtype_of(array.dataType);
  const Shape shape = shape_of(array.shape);
  const std::function<void(const Array&)>* const callee = &use;
  [array getMutableBytesWithHandler:^(void* bytes, NSInteger size, NSArray<NSNumber*>* strides) {
    (*callee)({dtype, shape, shape_of(strides), static_cast<std::byte*>(bytes),
               static_cast<std::uint64_t>(std::max<NSInteger>(size, 0))});
  }];
}

std::string system_text(const char* name) {
  std::array<char, 256> text{};
  std::size_t size = text.size() - 1;
  if (::sysctlbyname(name, text.data(), &size, nullptr, 0) != 0) return "";
  return text.data();
}

// Objects by their handles. Thread-safe.
template <typename Handle, typename T>
class Objects {
 public:
  Handle add(T object) {
    const std::lock_guard lock(mutex_);
    const Handle handle{++last_};
    objects_.emplace(handle, object);
    return handle;
  }
  T _Nullable find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nil : found->second;
  }
  void remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    objects_.erase(handle);
  }

 private:
  mutable std::mutex mutex_;
  std::map<Handle, T> objects_;
  std::uint64_t last_ = 0;
};

// f() with a pool, its exceptions as errors.
template <typename F>
auto guarded(const F& f) -> decltype(f()) {
  @autoreleasepool {
    @try {
      return f();
    } @catch (NSException* exception) {
      return error_of(exception);
    }
  }
}

class API_AVAILABLE(macos(15.0)) AppleRuntime : public CoreMlRuntime {
 public:
  explicit AppleRuntime(std::int64_t row_bytes) : row_bytes_(row_bytes) {}

  MachineInfo machine() const override {
    MachineInfo out{system_text("kern.osversion"), system_text("hw.model"), false};
    @autoreleasepool {
      for (id<MLComputeDeviceProtocol> device in MLAllComputeDevices())
        out.has_neural_engine = out.has_neural_engine || device_of(device) == Device::kNeuralEngine;
    }
    return out;
  }

  Failure compile(const std::string& package, const std::string& target) override {
    return guarded([&]() -> Failure {
      const auto waiter = std::make_shared<Waiter<NSURL*>>();
      [MLModel compileModelAtURL:url_of(package)
               completionHandler:^(NSURL* _Nullable url, NSError* _Nullable error) {
                 waiter->set(url, error);
               }];
      NSURL* const compiled = waiter->wait();
      if (compiled == nil) return error_of(waiter->error());
      NSError* error = nil;
      if (![[NSFileManager defaultManager] moveItemAtURL:compiled
                                                   toURL:url_of(target)
                                                   error:&error])
        return error_of(error);
      return std::nullopt;
    });
  }

  Outcome<std::vector<std::string>> functions(const std::string& compiled) override {
    return guarded([&]() -> Outcome<std::vector<std::string>> {
      NSError* error = nil;
      MLModelAsset* const asset = [MLModelAsset modelAssetWithURL:url_of(compiled) error:&error];
      if (asset == nil) return error_of(error);
      const auto waiter = std::make_shared<Waiter<NSArray<NSString*>*>>();
      [asset functionNamesWithCompletionHandler:^(NSArray<NSString*>* _Nullable names,
                                                  NSError* _Nullable failure) {
        waiter->set(names, failure);
      }];
      NSArray<NSString*>* const names = waiter->wait();
      if (names == nil) return error_of(waiter->error());
      std::vector<std::string> out;
      for (NSString* name in names) out.push_back(text_of(name));
      return out;
    });
  }

  Outcome<ModelInfo> describe(const std::string& compiled, const std::string& function) override {
    return guarded([&]() -> Outcome<ModelInfo> {
      NSError* error = nil;
      MLModelAsset* const asset = [MLModelAsset modelAssetWithURL:url_of(compiled) error:&error];
      if (asset == nil) return error_of(error);
      const auto waiter = std::make_shared<Waiter<MLModelDescription*>>();
      const auto done = ^(MLModelDescription* _Nullable description, NSError* _Nullable failure) {
        waiter->set(description, failure);
      };
      if (function.empty())
        [asset modelDescriptionWithCompletionHandler:done];
      else
        [asset modelDescriptionOfFunctionNamed:string_of(function) completionHandler:done];
      MLModelDescription* const description = waiter->wait();
      if (description == nil) return error_of(waiter->error());
      return ModelInfo{features_of(description.inputDescriptionsByName, row_bytes_),
                       features_of(description.outputDescriptionsByName, row_bytes_),
                       features_of(description.stateDescriptionsByName, 0)};
    });
  }

  Outcome<ModelHandle> load(const std::string& compiled, const ModelOptions& options) override {
    return guarded([&]() -> Outcome<ModelHandle> {
      NSError* error = nil;
      MLModel* const model = [MLModel modelWithContentsOfURL:url_of(compiled)
                                               configuration:configuration_of(options)
                                                       error:&error];
      if (model == nil) return error_of(error);
      return models_.add(model);
    });
  }

  void release(ModelHandle model) override {
    @autoreleasepool {
      models_.remove(model);
    }
  }

  Outcome<StateHandle> make_state(ModelHandle handle) override {
    return guarded([&]() -> Outcome<StateHandle> {
      MLModel* const model = models_.find(handle);
      if (model == nil) return misuse("the model was released, or is none");
      MLState* const state = [model newState];
      if (state == nil) return error_of((NSError*)nil);
      return states_.add(state);
    });
  }

  void release(StateHandle state) override {
    @autoreleasepool {
      states_.remove(state);
    }
  }

  Failure access_state(StateHandle handle, const std::string& name,
                       const std::function<void(const Array&)>& access) override {
    return guarded([&]() -> Failure {
      MLState* const state = states_.find(handle);
      if (state == nil) return misuse("the state was released, or is none");
      const std::function<void(const Array&)>* const callee = &access;
      [state getMultiArrayForStateNamed:string_of(name)
                                handler:^(MLMultiArray* array) {
                                  with_array(array, *callee);
                                }];
      return std::nullopt;
    });
  }

  Failure predict(ModelHandle handle, const Prediction& prediction) override {
    return guarded([&]() -> Failure {
      MLModel* const model = models_.find(handle);
      if (model == nil) return misuse("the model was released, or is none");
      NSError* error = nil;
      NSMutableDictionary<NSString*, id>* const inputs = [NSMutableDictionary dictionary];
      NSMutableDictionary<NSString*, id>* const backings = [NSMutableDictionary dictionary];
      for (const NamedArray& input : prediction.inputs) {
        MLMultiArray* const array = multi_array(input.array, &error);
        if (array == nil) return error_of(error);
        [inputs setObject:[MLFeatureValue featureValueWithMultiArray:array]
                   forKey:string_of(input.name)];
      }
      for (const NamedArray& backing : prediction.backings) {
        MLMultiArray* const array = multi_array(backing.array, &error);
        if (array == nil) return error_of(error);
        [backings setObject:array forKey:string_of(backing.name)];
      }
      id<MLFeatureProvider> const features =
          [[MLDictionaryFeatureProvider alloc] initWithDictionary:inputs error:&error];
      if (features == nil) return error_of(error);
      MLPredictionOptions* const options = [[MLPredictionOptions alloc] init];
      options.outputBackings = backings;
      id<MLFeatureProvider> outputs = nil;
      if (prediction.state == StateHandle::kNone) {
        outputs = [model predictionFromFeatures:features options:options error:&error];
      } else {
        MLState* const state = states_.find(prediction.state);
        if (state == nil) return misuse("the state was released, or is none");
        outputs = [model predictionFromFeatures:features
                                     usingState:state
                                        options:options
                                          error:&error];
      }
      if (outputs == nil) return error_of(error);
      for (NSString* name in outputs.featureNames)
        take(text_of(name), [outputs featureValueForName:name].multiArrayValue,
             (MLMultiArray*)backings[name], prediction);
      return std::nullopt;
    });
  }

  Outcome<ComputePlan> plan(const std::string& compiled, const ModelOptions& options) override {
    return guarded([&]() -> Outcome<ComputePlan> {
      const auto waiter = std::make_shared<Waiter<MLComputePlan*>>();
      [MLComputePlan loadContentsOfURL:url_of(compiled)
                         configuration:configuration_of(options)
                     completionHandler:^(MLComputePlan* _Nullable plan, NSError* _Nullable error) {
                       waiter->set(plan, error);
                     }];
      MLComputePlan* const plan = waiter->wait();
      if (plan == nil) return error_of(waiter->error());
      NSString* const name = options.function.empty() ? @"main" : string_of(options.function);
      MLModelStructureProgramFunction* const function = plan.modelStructure.program.functions[name];
      if (function == nil) return misuse("the plan has no function " + text_of(name));
      ComputePlan out;
      for (MLModelStructureProgramOperation* operation in function.block.operations)
        out.push_back(operation_of(operation, plan));
      return out;
    });
  }

 private:
  // Gives one output; none that is no array. Whether Core ML wrote into a backing shows in the
  // identity of the object, whose memory nobody has to ask for then.
  static void take(const std::string& name, MLMultiArray* _Nullable array,
                   MLMultiArray* _Nullable backing, const Prediction& prediction) {
    if (array == nil) return;
    if (array == backing) {
      const auto given =
          std::ranges::find(prediction.backings, std::string_view(name), &NamedArray::name);
      prediction.take(name, given->array, true);
      return;
    }
    with_array(array, [&](const Array& memory) { prediction.take(name, memory, false); });
  }

  const std::int64_t row_bytes_;
  Objects<ModelHandle, MLModel*> models_;
  Objects<StateHandle, MLState*> states_;
};

}  // namespace

std::shared_ptr<CoreMlRuntime> make_coreml_runtime(std::int64_t row_bytes) {
  if (@available(macOS 15.0, *)) return std::make_shared<AppleRuntime>(row_bytes);
  return nullptr;
}

}  // namespace anemone::exec::coreml
