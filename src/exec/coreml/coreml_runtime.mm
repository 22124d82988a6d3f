// SPDX-License-Identifier: Apache-2.0
// Core ML behind CoreMlRuntime: converts, calls, converts back, and decides nothing. It compiles
// against Apple's public API alone.
//
// Every call has an autorelease pool of its own, since the threads that call it have none. An
// exception of Objective-C becomes an error; none of C++ crosses a frame of Core ML, because what
// is called back does not throw (runtime.h).
#import <CoreML/CoreML.h>
#import <Foundation/Foundation.h>
#include <future>
#include <utility>

#include "exec/coreml/apple_support.h"
#include "exec/coreml/apple_types.h"
#include "exec/coreml/runtime.h"
#include "exec/handle_table.h"

NS_ASSUME_NONNULL_BEGIN

namespace anemone::exec::coreml {
namespace {

// What the completion handler of a call is given. Core ML calls it once, on a queue of its own.
template <typename T, typename F>
Outcome<T> answer_of(const F& call) {
  const auto promise = std::make_shared<std::promise<std::pair<T, NSError*>>>();
  call(^(T _Nullable value, NSError* _Nullable error) {
    promise->set_value({value, error});
  });
  const auto answer = promise->get_future().get();
  if (answer.first == nil) return error_of(answer.second);
  return answer.first;
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
      const auto compiled = answer_of<NSURL*>(
          [&](auto done) { [MLModel compileModelAtURL:url_of(package) completionHandler:done]; });
      if (!compiled.ok()) return compiled.error();
      NSError* error = nil;
      if (![[NSFileManager defaultManager] moveItemAtURL:*compiled
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
      const auto names = answer_of<NSArray<NSString*>*>(
          [&](auto done) { [asset functionNamesWithCompletionHandler:done]; });
      if (!names.ok()) return names.error();
      std::vector<std::string> out;
      for (NSString* name in (*names)) out.push_back(text_of(name));
      return out;
    });
  }

  Outcome<ModelInfo> describe(const std::string& compiled, const std::string& function) override {
    return guarded([&]() -> Outcome<ModelInfo> {
      NSError* error = nil;
      MLModelAsset* const asset = [MLModelAsset modelAssetWithURL:url_of(compiled) error:&error];
      if (asset == nil) return error_of(error);
      const auto description = answer_of<MLModelDescription*>([&](auto done) {
        if (function.empty())
          [asset modelDescriptionWithCompletionHandler:done];
        else
          [asset modelDescriptionOfFunctionNamed:string_of(function) completionHandler:done];
      });
      if (!description.ok()) return description.error();
      return ModelInfo{features_of((*description).inputDescriptionsByName, row_bytes_),
                       features_of((*description).outputDescriptionsByName, row_bytes_),
                       features_of((*description).stateDescriptionsByName, 0)};
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
    pooled([&] { models_.remove(model); });
  }

  Outcome<StateHandle> make_state(ModelHandle handle) override {
    return guarded([&]() -> Outcome<StateHandle> {
      MLModel* const model = models_.find(handle);
      if (model == nil) return misuse_error("the model was released, or is none");
      MLState* const state = [model newState];
      if (state == nil) return error_of((NSError*)nil);
      return states_.add(state);
    });
  }

  void release(StateHandle state) override {
    pooled([&] { states_.remove(state); });
  }

  Failure access_state(StateHandle handle, const std::string& name,
                       const std::function<void(const Array&)>& access) override {
    return guarded([&]() -> Failure {
      MLState* const state = states_.find(handle);
      if (state == nil) return misuse_error("the state was released, or is none");
      [state getMultiArrayForStateNamed:string_of(name)
                                handler:^(MLMultiArray* array) {
                                  with_array(array, access);
                                }];
      return std::nullopt;
    });
  }

  Failure predict(ModelHandle handle, const Prediction& prediction) override {
    return guarded([&]() -> Failure {
      MLModel* const model = models_.find(handle);
      if (model == nil) return misuse_error("the model was released, or is none");
      MLState* const state = states_.find(prediction.state);
      if (state == nil && prediction.state != StateHandle::kNone)
        return misuse_error("the state was released, or is none");
      NSError* error = nil;
      NSDictionary* const inputs = multi_arrays(prediction.inputs, &error);
      if (inputs == nil) return error_of(error);
      NSDictionary* const backings = multi_arrays(prediction.backings, &error);
      if (backings == nil) return error_of(error);
      id<MLFeatureProvider> const features =
          [[MLDictionaryFeatureProvider alloc] initWithDictionary:inputs error:&error];
      if (features == nil) return error_of(error);
      MLPredictionOptions* const options = [[MLPredictionOptions alloc] init];
      options.outputBackings = backings;
      id<MLFeatureProvider> const outputs = state == nil ? [model predictionFromFeatures:features
                                                                                 options:options
                                                                                   error:&error]
                                                         : [model predictionFromFeatures:features
                                                                              usingState:state
                                                                                 options:options
                                                                                   error:&error];
      if (outputs == nil) return error_of(error);
      for (NSString* name in outputs.featureNames) {
        MLMultiArray* const array = [outputs featureValueForName:name].multiArrayValue;
        if (array == nil) continue;  // it is no array
        // Whether Core ML wrote into a backing shows in the identity of the object, whose memory
        // nobody has to ask for then.
        if (array == backings[name])
          prediction.take(text_of(name), nullptr);
        else
          with_array(array, [&](const Array& memory) { prediction.take(text_of(name), &memory); });
      }
      return std::nullopt;
    });
  }

  Outcome<ComputePlan> plan(const std::string& compiled, const ModelOptions& options) override {
    return guarded([&]() -> Outcome<ComputePlan> {
      const auto plan = answer_of<MLComputePlan*>([&](auto done) {
        [MLComputePlan loadContentsOfURL:url_of(compiled)
                           configuration:configuration_of(options)
                       completionHandler:done];
      });
      if (!plan.ok()) return plan.error();
      NSString* const name = options.function.empty() ? @"main" : string_of(options.function);
      MLModelStructureProgramFunction* const function =
          (*plan).modelStructure.program.functions[name];
      if (function == nil) return misuse_error("the plan has no function " + text_of(name));
      ComputePlan out;
      for (MLModelStructureProgramOperation* operation in function.block.operations)
        out.push_back(operation_of(operation, *plan));
      return out;
    });
  }

 private:
  const std::int64_t row_bytes_;
  HandleTable<ModelHandle, MLModel*> models_;
  HandleTable<StateHandle, MLState*> states_;
};

}  // namespace

std::shared_ptr<CoreMlRuntime> make_coreml_runtime(std::int64_t row_bytes) {
  if (@available(macOS 15.0, *)) return std::make_shared<AppleRuntime>(row_bytes);
  return nullptr;
}

}  // namespace anemone::exec::coreml

NS_ASSUME_NONNULL_END
