// SPDX-License-Identifier: Apache-2.0
// The private classes of the Neural Engine and IOSurface for Linux, against which tools/ci/objcxx
// runs ane_runtime.mm. Only what ane_runtime.mm calls is here.
#include "tests/exec/ane_direct/apple/fake_ane.h"

#import <Foundation/Foundation.h>
#import <IOSurface/IOSurface.h>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sys/sysctl.h"

using namespace anemone::exec::ane_direct;
using anemone::exec::Failure;
using anemone::exec::RuntimeError;
using anemone::exec::ane_direct::testing::fake_ane;
using anemone::exec::ane_direct::testing::FakeAne;

namespace anemone::exec::ane_direct::testing {
FakeAne& fake_ane() {
  static FakeAne fake;
  return fake;
}
std::string temporary_folder() {
  @autoreleasepool {
    return NSTemporaryDirectory().UTF8String;
  }
}
}  // namespace anemone::exec::ane_direct::testing

extern "C" int sysctlbyname(const char* name, void* old, std::size_t* old_size, const void*,
                            std::size_t) {
  const std::string text =
      std::strcmp(name, "machdep.cpu.brand_string") == 0 ? fake_ane().ane.options.chip : "";
  if (text.empty() || text.size() >= *old_size) return -1;
  std::memcpy(old, text.c_str(), text.size() + 1);
  *old_size = text.size() + 1;
  return 0;
}

// NO with an error, with none, or an exception; YES without a failure.
static BOOL answer(const Failure& failure, NSError** error) {
  switch (fake_ane().trouble.exchange(FakeAne::Trouble::kNone)) {
    case FakeAne::Trouble::kException:
      [NSException raise:@"NSInvalidArgumentException" format:@"nil where data was expected"];
      break;
    case FakeAne::Trouble::kNoReason:
      return NO;
    case FakeAne::Trouble::kNone:
      break;
  }
  if (!failure) return YES;
  const RuntimeError::Link& link = failure->chain[0];
  if (error != nullptr)
    *error = [NSError
        errorWithDomain:[NSString stringWithUTF8String:link.domain.c_str()]
                   code:link.code
               userInfo:@{
                 NSLocalizedDescriptionKey : [NSString stringWithUTF8String:link.text.c_str()]
               }];
  return NO;
}

static Failure refusal(const char* text) {
  return anemone::exec::runtime_error("fake", 9, text);
}

IOSurfacePropertyKey const IOSurfacePropertyKeyWidth = @"Width";
IOSurfacePropertyKey const IOSurfacePropertyKeyHeight = @"Height";
IOSurfacePropertyKey const IOSurfacePropertyKeyBytesPerElement = @"BytesPerElement";
IOSurfacePropertyKey const IOSurfacePropertyKeyBytesPerRow = @"BytesPerRow";
IOSurfacePropertyKey const IOSurfacePropertyKeyAllocSize = @"AllocSize";
IOSurfacePropertyKey const IOSurfacePropertyKeyPixelFormat = @"PixelFormat";

@implementation IOSurface {
  std::vector<std::byte> _bytes;
}
- (instancetype)initWithProperties:(NSDictionary<IOSurfacePropertyKey, id>*)properties {
  const auto number = [&](NSString* key) { return [properties[key] longLongValue]; };
  if (number(IOSurfacePropertyKeyWidth) != number(IOSurfacePropertyKeyAllocSize) ||
      number(IOSurfacePropertyKeyBytesPerRow) != number(IOSurfacePropertyKeyAllocSize) ||
      number(IOSurfacePropertyKeyHeight) != 1 || number(IOSurfacePropertyKeyBytesPerElement) != 1)
    return nil;
  self = [super init];
  if (self != nil) {
    // Memory of somebody else's past.
    _bytes.assign(static_cast<std::size_t>(number(IOSurfacePropertyKeyAllocSize)), std::byte{0x7e});
    ++fake_ane().live_surfaces;
  }
  return self;
}
- (void)dealloc {
  --fake_ane().live_surfaces;
}
- (int)lockWithOptions:(IOSurfaceLockOptions)options seed:(std::uint32_t*)seed {
  static_cast<void>(options), static_cast<void>(seed);
  ++fake_ane().locks;
  return 0;
}
- (int)unlockWithOptions:(IOSurfaceLockOptions)options seed:(std::uint32_t*)seed {
  static_cast<void>(options), static_cast<void>(seed);
  --fake_ane().locks;
  return 0;
}
- (void*)baseAddress {
  return _bytes.data();
}
- (NSInteger)allocationSize {
  return static_cast<NSInteger>(_bytes.size());
}
@end

@interface _ANEIOSurfaceObject : NSObject
@property(nonatomic, strong) IOSurface* surface;
+ (id)objectWithIOSurface:(IOSurface*)surface;
@end
@implementation _ANEIOSurfaceObject
+ (id)objectWithIOSurface:(IOSurface*)surface {
  _ANEIOSurfaceObject* const out = [[_ANEIOSurfaceObject alloc] init];
  out.surface = surface;
  return out;
}
@end

@interface _ANERequest : NSObject
@property(nonatomic, strong) NSArray* inputs;
@property(nonatomic, strong) NSArray* outputs;
@end
@implementation _ANERequest
+ (id)requestWithInputs:(NSArray*)inputs
           inputIndices:(NSArray<NSNumber*>*)inputIndices
                outputs:(NSArray*)outputs
          outputIndices:(NSArray<NSNumber*>*)outputIndices
          weightsBuffer:(id)weights
              perfStats:(id)stats
         procedureIndex:(NSNumber*)procedure {
  const auto counts = [](NSArray<NSNumber*>* indices, NSArray* objects) {
    if (indices.count != objects.count) return false;
    for (NSUInteger i = 0; i < indices.count; ++i)
      if ([indices[i] unsignedLongValue] != i) return false;
    return true;
  };
  if (weights != nil || stats != nil || procedure.intValue != 0 || !counts(inputIndices, inputs) ||
      !counts(outputIndices, outputs))
    return nil;
  _ANERequest* const out = [[_ANERequest alloc] init];
  out.inputs = inputs;
  out.outputs = outputs;
  return out;
}
@end

@interface _ANEInMemoryModelDescriptor : NSObject
@property(nonatomic, strong) NSData* text;
@property(nonatomic, strong) NSDictionary* weights;
@end
@implementation _ANEInMemoryModelDescriptor
+ (id)modelWithMILText:(NSData*)text weights:(NSDictionary*)weights optionsPlist:(NSData*)options {
  if (![text isKindOfClass:[NSData class]] || weights == nil || options != nil)
    [NSException raise:@"NSInvalidArgumentException" format:@"text, weights or options"];
  _ANEInMemoryModelDescriptor* const out = [[_ANEInMemoryModelDescriptor alloc] init];
  out.text = text;
  out.weights = weights;
  return out;
}
@end

@interface _ANEInMemoryModel : NSObject
@end
@implementation _ANEInMemoryModel {
  _ANEInMemoryModelDescriptor* _descriptor;
  ModelHandle _handle;
}
+ (id)inMemoryModelWithDescriptor:(id)descriptor {
  _ANEInMemoryModel* const out = [[_ANEInMemoryModel alloc] init];
  out->_descriptor = descriptor;
  out->_handle = ModelHandle::kNone;
  ++fake_ane().live_models;
  return out;
}
- (void)dealloc {
  --fake_ane().live_models;
  if (_handle != ModelHandle::kNone) fake_ane().ane.release(_handle);
}
- (NSString*)hexStringIdentifier {
  const std::string text(static_cast<const char*>(_descriptor.text.bytes), _descriptor.text.length);
  return [NSString stringWithFormat:@"anemone-fake-ane-%zx", std::hash<std::string>()(text)];
}
// From the folder, as the real one does.
- (BOOL)compileWithQoS:(unsigned int)qos options:(NSDictionary*)options error:(NSError**)error {
  if (options == nil) return answer(refusal("no options"), error);
  NSString* const folder =
      [NSTemporaryDirectory() stringByAppendingPathComponent:[self hexStringIdentifier]];
  NSData* const text =
      [NSData dataWithContentsOfFile:[folder stringByAppendingPathComponent:@"model.mil"]];
  if (text == nil || ![text isEqualToData:_descriptor.text])
    return answer(refusal("no model.mil in the folder"), error);
  std::vector<WeightFile> files;
  std::vector<NSData*> kept;
  for (NSString* key in _descriptor.weights) {
    NSDictionary* const entry = _descriptor.weights[key];
    NSString* const path = [key substringFromIndex:std::strlen("@model_path/")];
    NSData* const data =
        [NSData dataWithContentsOfFile:[folder stringByAppendingPathComponent:path]];
    if (data == nil || ![data isEqualToData:entry[@"data"]] || [entry[@"offset"] intValue] != 0)
      return answer(refusal("another weight file in the folder"), error);
    kept.push_back(data);
    files.push_back({path.UTF8String, {static_cast<const std::byte*>(data.bytes), data.length}});
  }
  const auto made =
      fake_ane().ane.compile({static_cast<const char*>(text.bytes), text.length}, files, qos);
  if (made.ok()) _handle = *made;
  return answer(made.ok() ? Failure() : Failure(made.error()), error);
}
- (BOOL)loadWithQoS:(unsigned int)qos options:(NSDictionary*)options error:(NSError**)error {
  if (options == nil) return answer(refusal("no options"), error);
  return answer(fake_ane().ane.load(_handle, qos), error);
}
- (BOOL)unloadWithQoS:(unsigned int)qos error:(NSError**)error {
  return answer(fake_ane().ane.unload(_handle, qos), error);
}
- (BOOL)evaluateWithQoS:(unsigned int)qos
                options:(NSDictionary*)options
                request:(_ANERequest*)request
                  error:(NSError**)error {
  if (options == nil) return answer(refusal("no options"), error);
  if (fake_ane().locks != 0) return answer(refusal("a surface is locked"), error);
  auto& ane = fake_ane().ane;
  const auto copies_of = [&](NSArray* objects) {
    std::vector<SurfaceHandle> out;
    for (_ANEIOSurfaceObject* object in objects) {
      IOSurface* const surface = object.surface;
      const auto size = static_cast<std::size_t>(surface.allocationSize);
      const auto* data = static_cast<const std::byte*>(surface.baseAddress);
      out.push_back(*ane.make_surface(size));
      static_cast<void>(
          ane.access(out.back(), AneRuntime::Access::kWrite,
                     [&](std::span<std::byte> memory) { std::memcpy(memory.data(), data, size); }));
    }
    return out;
  };
  const auto inputs = copies_of(request.inputs);
  const auto outputs = copies_of(request.outputs);
  const Failure failure = ane.evaluate(_handle, inputs, outputs, qos);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    IOSurface* const surface = [request.outputs[i] surface];
    auto* data = static_cast<std::byte*>(surface.baseAddress);
    static_cast<void>(ane.access(
        outputs[i], AneRuntime::Access::kRead,
        [&](std::span<std::byte> memory) { std::memcpy(data, memory.data(), memory.size()); }));
  }
  for (const auto* handles : {&inputs, &outputs})
    for (const SurfaceHandle handle : *handles) ane.release(handle);
  return answer(failure, error);
}
@end
