// SPDX-License-Identifier: Apache-2.0
// The private classes of the Neural Engine behind AneRuntime: converts, calls, converts back, and
// decides nothing. Their methods are those that others found (docs/ane-laws.md); they are looked up
// by name, and a system that lacks one has no runtime.
//
// Every call has an autorelease pool of its own, and an exception of Objective-C becomes an error.
#import <Foundation/Foundation.h>
#import <IOSurface/IOSurface.h>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>

#include "exec/ane_direct/error_map.h"
#include "exec/ane_direct/runtime.h"
#include "exec/coreml/apple_support.h"

NS_ASSUME_NONNULL_BEGIN

// The private methods with the types of their arguments. Class methods stand as methods of the
// class object.
@protocol AnemoneAneModel <NSObject>
- (NSString*)hexStringIdentifier;
- (BOOL)compileWithQoS:(unsigned int)qos
               options:(NSDictionary*)options
                 error:(NSError* _Nullable* _Nullable)error;
- (BOOL)loadWithQoS:(unsigned int)qos
            options:(NSDictionary*)options
              error:(NSError* _Nullable* _Nullable)error;
- (BOOL)evaluateWithQoS:(unsigned int)qos
                options:(NSDictionary*)options
                request:(id)request
                  error:(NSError* _Nullable* _Nullable)error;
- (BOOL)unloadWithQoS:(unsigned int)qos error:(NSError* _Nullable* _Nullable)error;
@end

@protocol AnemoneAneClasses
- (nullable id)modelWithMILText:(NSData*)text
                        weights:(NSDictionary*)weights
                   optionsPlist:(nullable NSData*)options;
- (nullable id<AnemoneAneModel>)inMemoryModelWithDescriptor:(id)descriptor;
- (nullable id)objectWithIOSurface:(IOSurface*)surface;
- (nullable id)requestWithInputs:(NSArray*)inputs
                    inputIndices:(NSArray<NSNumber*>*)inputIndices
                         outputs:(NSArray*)outputs
                   outputIndices:(NSArray<NSNumber*>*)outputIndices
                   weightsBuffer:(nullable id)weights
                       perfStats:(nullable id)stats
                  procedureIndex:(NSNumber*)procedure;
@end

namespace anemone::exec::ane_direct {
namespace {

using coreml::guarded;
using coreml::string_of;
using coreml::text_of;

// What a call that gave NO or nil says.
RuntimeError error_of(NSError* _Nullable error, const char* call) {
  if (error != nil) return coreml::error_of(error);
  return runtime_error(std::string(kSilentDomain), 0, std::string(call) + " gave no reason");
}

RuntimeError misuse(const char* text) {
  return runtime_error(std::string(kMisuseDomain), 0, text);
}

NSData* data_of(const void* bytes, std::size_t size) {
  return [NSData dataWithBytes:bytes length:size];
}

// A class that has the method `selector`, of its own or of its objects; nil: there is none.
id<AnemoneAneClasses> _Nullable class_with(NSString* name, SEL _Nullable selector) {
  const Class found = NSClassFromString(name);
  if (found == Nil || (selector != nullptr && ![found respondsToSelector:selector])) return nil;
  return (id<AnemoneAneClasses>)found;
}

struct Classes {
  id<AnemoneAneClasses> _Nullable descriptor =
      class_with(@"_ANEInMemoryModelDescriptor", @selector(modelWithMILText:weights:optionsPlist:));
  id<AnemoneAneClasses> _Nullable model =
      class_with(@"_ANEInMemoryModel", @selector(inMemoryModelWithDescriptor:));
  id<AnemoneAneClasses> _Nullable surface =
      class_with(@"_ANEIOSurfaceObject", @selector(objectWithIOSurface:));
  id<AnemoneAneClasses> _Nullable request =
      class_with(@"_ANERequest", @selector
                 (requestWithInputs:
                       inputIndices:outputs:outputIndices:weightsBuffer:perfStats:procedureIndex:));

  bool are_complete() const {
    if (descriptor == nil || model == nil || surface == nil || request == nil) return false;
    const Class instances = NSClassFromString(@"_ANEInMemoryModel");
    const SEL selectors[] = {
      @selector(hexStringIdentifier),
      @selector(compileWithQoS:options:error:),
      @selector(loadWithQoS:options:error:),
      @selector(evaluateWithQoS:options:request:error:),
      @selector(unloadWithQoS:error:)
    };
    for (const SEL selector : selectors)
      if (![instances instancesRespondToSelector:selector]) return false;
    return true;
  }
};

class AppleRuntime : public AneRuntime {
 public:
  explicit AppleRuntime(const Classes& classes) : classes_(classes) {}

  std::string chip() const override { return coreml::system_text("machdep.cpu.brand_string"); }

  // The compiler reads the text and the weights from a folder, although it is given both.
  Outcome<ModelHandle> compile(std::string_view mil, std::span<const WeightFile> weights,
                               int qos) override {
    NSString* _Nullable folder = nil;
    auto out = guarded([&]() -> Outcome<ModelHandle> {
      NSMutableDictionary* const files = [NSMutableDictionary dictionary];
      for (const WeightFile& file : weights)
        [files setObject:@{
          @"offset" : @0,
          @"data" : data_of(file.bytes.data(), file.bytes.size())
        }
                  forKey:string_of("@model_path/" + file.path)];
      NSData* const text = data_of(mil.data(), mil.size());
      const id descriptor = [classes_.descriptor modelWithMILText:text
                                                          weights:files
                                                     optionsPlist:nil];
      if (descriptor == nil) return error_of(nil, "modelWithMILText");
      const id<AnemoneAneModel> model = [classes_.model inMemoryModelWithDescriptor:descriptor];
      if (model == nil) return error_of(nil, "inMemoryModelWithDescriptor");
      folder = folder_of(model);
      use_folder(folder);
      NSError* error = nil;
      if (!write_files(folder, text, files, &error)) return error_of(error, "writeToFile");
      if (![model compileWithQoS:static_cast<unsigned int>(qos) options:@{} error:&error])
        return error_of(error, "compileWithQoS");
      return models_.add(model);
    });
    // Here, since an exception may have ended it.
    if (!out.ok() && folder != nil) leave_folder(folder);
    return out;
  }

  Failure load(ModelHandle handle, int qos) override {
    return with_model(handle, [&](id<AnemoneAneModel> model) -> Failure {
      NSError* error = nil;
      if (![model loadWithQoS:static_cast<unsigned int>(qos) options:@{} error:&error])
        return error_of(error, "loadWithQoS");
      return std::nullopt;
    });
  }

  Failure evaluate(ModelHandle handle, std::span<const SurfaceHandle> inputs,
                   std::span<const SurfaceHandle> outputs, int qos) override {
    return with_model(handle, [&](id<AnemoneAneModel> model) -> Failure {
      NSArray* const in = objects_of(inputs);
      NSArray* const out = objects_of(outputs);
      if (in == nil || out == nil) return misuse("a surface was released, or is none");
      const id request = [classes_.request requestWithInputs:in
                                                inputIndices:indices(inputs.size())
                                                     outputs:out
                                               outputIndices:indices(outputs.size())
                                               weightsBuffer:nil
                                                   perfStats:nil
                                              procedureIndex:@0];
      if (request == nil) return error_of(nil, "requestWithInputs");
      NSError* error = nil;
      if (![model evaluateWithQoS:static_cast<unsigned int>(qos)
                          options:@{}
                          request:request
                            error:&error])
        return error_of(error, "evaluateWithQoS");
      return std::nullopt;
    });
  }

  Failure unload(ModelHandle handle, int qos) override {
    return with_model(handle, [&](id<AnemoneAneModel> model) -> Failure {
      NSError* error = nil;
      if (![model unloadWithQoS:static_cast<unsigned int>(qos) error:&error])
        return error_of(error, "unloadWithQoS");
      return std::nullopt;
    });
  }

  void release(ModelHandle handle) override {
    static_cast<void>(with_model(handle, [&](id<AnemoneAneModel> model) -> Failure {
      leave_folder(folder_of(model));
      models_.remove(handle);
      return std::nullopt;
    }));
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
      const SurfaceHandle handle = surfaces_.add(surface);
      const Failure failure = access(handle, Access::kWrite, [](std::span<std::byte> memory) {
        std::memset(memory.data(), 0, memory.size());
      });
      if (!failure) return handle;
      surfaces_.remove(handle);
      return *failure;
    });
  }

  Failure access(SurfaceHandle handle, Access access,
                 const std::function<void(std::span<std::byte>)>& use) override {
    return guarded([&]() -> Failure {
      IOSurface* const surface = surfaces_.find(handle);
      if (surface == nil) return misuse("the surface was released, or is none");
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
    @autoreleasepool {
      surfaces_.remove(surface);
    }
  }

 private:
  template <typename F>
  Failure with_model(ModelHandle handle, const F& f) {
    return guarded([&]() -> Failure {
      const id<AnemoneAneModel> model = models_.find(handle);
      if (model == nil) return misuse("the model was released, or is none");
      return f(model);
    });
  }

  static NSArray<NSNumber*>* indices(std::size_t count) {
    NSMutableArray<NSNumber*>* const out = [NSMutableArray array];
    for (std::size_t i = 0; i < count; ++i) [out addObject:[NSNumber numberWithUnsignedLong:i]];
    return out;
  }

  NSArray* _Nullable objects_of(std::span<const SurfaceHandle> handles) const {
    NSMutableArray* const out = [NSMutableArray array];
    for (const SurfaceHandle handle : handles) {
      IOSurface* const surface = surfaces_.find(handle);
      const id object = surface == nil ? nil : [classes_.surface objectWithIOSurface:surface];
      if (object == nil) return nil;
      [out addObject:object];
    }
    return out;
  }

  static NSString* folder_of(id<AnemoneAneModel> model) {
    return [NSTemporaryDirectory() stringByAppendingPathComponent:[model hexStringIdentifier]];
  }

  static bool write_files(NSString* folder, NSData* text, NSDictionary* files,
                          NSError* _Nullable* _Nullable error) {
    NSString* const weights = [folder stringByAppendingPathComponent:@"weights"];
    if (![[NSFileManager defaultManager] createDirectoryAtPath:weights
                                   withIntermediateDirectories:YES
                                                    attributes:nil
                                                         error:error])
      return false;
    if (![text writeToFile:[folder stringByAppendingPathComponent:@"model.mil"]
                   options:NSDataWritingAtomic
                     error:error])
      return false;
    for (NSString* key in files) {
      NSString* const path = [key substringFromIndex:std::strlen("@model_path/")];
      NSData* const data = files[key][@"data"];
      if (![data writeToFile:[folder stringByAppendingPathComponent:path]
                     options:NSDataWritingAtomic
                       error:error])
        return false;
    }
    return true;
  }

  // Programs of the same text and weights share a folder, which goes with the last of them.
  void use_folder(NSString* folder) {
    const std::lock_guard lock(mutex_);
    ++folders_[text_of(folder)];
  }
  void leave_folder(NSString* folder) {
    @autoreleasepool {
      const std::lock_guard lock(mutex_);
      const auto found = folders_.find(text_of(folder));
      if (found == folders_.end() || --found->second > 0) return;
      folders_.erase(found);
      [[NSFileManager defaultManager] removeItemAtPath:folder error:nullptr];
    }
  }

  const Classes classes_;
  coreml::Objects<ModelHandle, id<AnemoneAneModel>> models_;
  coreml::Objects<SurfaceHandle, IOSurface*> surfaces_;
  std::mutex mutex_;  // of what follows
  std::map<std::string, int> folders_;
};

}  // namespace

std::shared_ptr<AneRuntime> make_ane_runtime() {
  @autoreleasepool {
    constexpr const char* kFramework =
        "/System/Library/PrivateFrameworks/AppleNeuralEngine.framework/AppleNeuralEngine";
    // Where it is absent, so are the classes.
    static_cast<void>(::dlopen(kFramework, RTLD_NOW));
    const Classes classes;
    if (!classes.are_complete()) return nullptr;
    return std::make_shared<AppleRuntime>(classes);
  }
}

}  // namespace anemone::exec::ane_direct

NS_ASSUME_NONNULL_END
