// SPDX-License-Identifier: Apache-2.0
// The private classes of the Neural Engine behind AneRuntime: converts, calls, converts back, and
// decides nothing.
//
// Every call has an autorelease pool of its own, and an exception of Objective-C becomes an error.
#import <Foundation/Foundation.h>
#import <IOSurface/IOSurface.h>
#include <algorithm>
#include <dlfcn.h>
#include <ranges>

#include "exec/ane_direct/error_map.h"
#include "exec/ane_direct/model_folders.h"
#include "exec/ane_direct/private_classes.h"
#include "exec/ane_direct/runtime.h"
#include "exec/coreml/apple_support.h"
#include "exec/handle_table.h"

NS_ASSUME_NONNULL_BEGIN

namespace anemone::exec::ane_direct {
namespace {

using coreml::guarded;
using coreml::numbers_of;
using coreml::pooled;
using coreml::string_of;
using coreml::text_of;

// What a call that gave NO or nil says.
RuntimeError error_of(NSError* _Nullable error, const char* call) {
  if (error != nil) return coreml::error_of(error);
  return runtime_error(std::string(kSilentDomain), 0, std::string(call) + " gave no reason");
}

NSData* data_of(std::span<const std::byte> bytes) {
  return [NSData dataWithBytes:bytes.data() length:bytes.size()];
}

Class _Nullable class_of(const char* name) {
  return NSClassFromString(string_of(name));
}

bool is_there(const PrivateMethod& method) {
  const Class owner = class_of(method.owner);
  const SEL selector = NSSelectorFromString(string_of(method.name));
  return method.is_of_class ? [owner respondsToSelector:selector]
                            : [owner instancesRespondToSelector:selector];
}

class AppleRuntime : public AneRuntime {
 public:
  std::string chip() const override { return coreml::system_text("machdep.cpu.brand_string"); }

  Outcome<ModelHandle> compile(std::string_view mil, std::span<const WeightFile> weights,
                               std::uint32_t qos) override {
    return guarded([&]() -> Outcome<ModelHandle> {
      NSMutableDictionary* const files = [NSMutableDictionary dictionary];
      for (const WeightFile& file : weights)
        [files setObject:@{
          @"offset" : @0,
          @"data" : data_of(file.bytes)
        }
                  forKey:string_of("@model_path/" + file.path)];
      const id descriptor = [descriptor_ modelWithMILText:data_of(std::as_bytes(std::span(mil)))
                                                  weights:files
                                             optionsPlist:nil];
      if (descriptor == nil) return error_of(nil, "modelWithMILText");
      const id<AnemoneAneModel> model = [model_ inMemoryModelWithDescriptor:descriptor];
      if (model == nil) return error_of(nil, "inMemoryModelWithDescriptor");
      const auto folder = folders_.make(text_of(NSTemporaryDirectory()),
                                        text_of([model hexStringIdentifier]), mil, weights);
      if (!folder.ok()) return folder.error();
      NSError* error = nil;
      if (![model compileWithQoS:qos options:@{} error:&error])
        return error_of(error, "compileWithQoS");
      return models_.add({model, *folder});
    });
  }

  Failure load(ModelHandle handle, std::uint32_t qos) override {
    return call(handle, "loadWithQoS", [&](id<AnemoneAneModel> model, NSError** error) {
      return [model loadWithQoS:qos options:@{} error:error];
    });
  }

  Failure evaluate(ModelHandle handle, std::span<const SurfaceHandle> inputs,
                   std::span<const SurfaceHandle> outputs, std::uint32_t qos) override {
    return guarded([&]() -> Failure {
      NSArray* const in = objects_of(inputs);
      NSArray* const out = objects_of(outputs);
      if (in == nil || out == nil) return misuse_error("a surface was released, or is none");
      const id request =
          [request_ requestWithInputs:in
                         inputIndices:numbers_of(std::views::iota(0U, inputs.size()))
                              outputs:out
                        outputIndices:numbers_of(std::views::iota(0U, outputs.size()))
                        weightsBuffer:nil
                            perfStats:nil
                       procedureIndex:@0];
      if (request == nil) return error_of(nil, "requestWithInputs");
      return call(handle, "evaluateWithQoS", [&](id<AnemoneAneModel> model, NSError** error) {
        return [model evaluateWithQoS:qos options:@{} request:request error:error];
      });
    });
  }

  Failure unload(ModelHandle handle, std::uint32_t qos) override {
    return call(handle, "unloadWithQoS", [&](id<AnemoneAneModel> model, NSError** error) {
      return [model unloadWithQoS:qos error:error];
    });
  }

  void release(ModelHandle model) override {
    pooled([&] { models_.remove(model); });
  }

  Outcome<SurfaceHandle> make_surface(std::uint64_t bytes) override {
    return guarded([&]() -> Outcome<SurfaceHandle> {
      NSNumber* const size = [NSNumber numberWithUnsignedLongLong:bytes];
      IOSurface* const surface = [[IOSurface alloc] initWithProperties:@{
        IOSurfacePropertyKeyWidth : size,
        IOSurfacePropertyKeyHeight : @1,
        IOSurfacePropertyKeyBytesPerElement : @1,
        IOSurfacePropertyKeyBytesPerRow : size,
        IOSurfacePropertyKeyAllocSize : size,
        IOSurfacePropertyKeyPixelFormat : @0,
      }];
      if (surface == nil) return error_of(nil, "IOSurface");
      return surfaces_.add(surface);
    });
  }

  Failure access(SurfaceHandle handle, Access access,
                 const std::function<void(std::span<std::byte>)>& use) override {
    return guarded([&]() -> Failure {
      IOSurface* const surface = surfaces_.find(handle);
      if (surface == nil) return misuse_error("the surface was released, or is none");
      const IOSurfaceLockOptions options =
          access == Access::kRead ? kIOSurfaceLockReadOnly : static_cast<IOSurfaceLockOptions>(0);
      if (const auto code = [surface lockWithOptions:options seed:nullptr]; code != 0)
        return runtime_error("IOSurface", code, "lockWithOptions failed");
      use({static_cast<std::byte*>(surface.baseAddress),
           static_cast<std::size_t>(surface.allocationSize)});
      if (const auto code = [surface unlockWithOptions:options seed:nullptr]; code != 0)
        return runtime_error("IOSurface", code, "unlockWithOptions failed");
      return std::nullopt;
    });
  }

  void release(SurfaceHandle surface) override {
    pooled([&] { surfaces_.remove(surface); });
  }

 private:
  struct Model {
    id<AnemoneAneModel> _Nullable object;
    std::shared_ptr<const ModelFolders::Use> folder;
  };

  // Calls a method of a model that gives NO where it fails.
  template <typename F>
  Failure call(ModelHandle handle, const char* name, const F& method) {
    return guarded([&]() -> Failure {
      const id<AnemoneAneModel> model = models_.find(handle).object;
      if (model == nil) return misuse_error("the model was released, or is none");
      NSError* error = nil;
      if (!method(model, &error)) return error_of(error, name);
      return std::nullopt;
    });
  }

  // nil where one was released, or is none.
  NSArray* _Nullable objects_of(std::span<const SurfaceHandle> handles) const {
    NSMutableArray* const out = [NSMutableArray array];
    for (const SurfaceHandle handle : handles) {
      IOSurface* const surface = surfaces_.find(handle);
      const id object = surface == nil ? nil : [surface_ objectWithIOSurface:surface];
      if (object == nil) return nil;
      [out addObject:object];
    }
    return out;
  }

  const id<AnemoneAneClass> descriptor_ = (id<AnemoneAneClass>)class_of(kDescriptorClass);
  const id<AnemoneAneClass> model_ = (id<AnemoneAneClass>)class_of(kModelClass);
  const id<AnemoneAneClass> surface_ = (id<AnemoneAneClass>)class_of(kSurfaceClass);
  const id<AnemoneAneClass> request_ = (id<AnemoneAneClass>)class_of(kRequestClass);
  ModelFolders folders_;  // outlives what follows
  HandleTable<ModelHandle, Model> models_;
  HandleTable<SurfaceHandle, IOSurface*> surfaces_;
};

}  // namespace

std::shared_ptr<AneRuntime> make_ane_runtime() {
  @autoreleasepool {
    constexpr const char* kFramework =
        "/System/Library/PrivateFrameworks/AppleNeuralEngine.framework/AppleNeuralEngine";
    // Where it is absent, so are the classes.
    static_cast<void>(::dlopen(kFramework, RTLD_NOW));
    if (!std::ranges::all_of(kPrivateMethods, is_there)) return nullptr;
    return std::make_shared<AppleRuntime>();
  }
}

}  // namespace anemone::exec::ane_direct

NS_ASSUME_NONNULL_END
