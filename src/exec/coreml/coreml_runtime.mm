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
#include <condition_variable>
#include <mutex>

#include "exec/coreml/apple_support.h"
#include "exec/coreml/apple_types.h"
#include "exec/coreml/error_map.h"
#include "exec/coreml/runtime.h"

NS_ASSUME_NONNULL_BEGIN

namespace anemone::exec::coreml {
namespace {

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

NS_ASSUME_NONNULL_END
