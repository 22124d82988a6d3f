// SPDX-License-Identifier: Apache-2.0
// What ane_runtime.mm uses of Apple's public IOSurface class, for systems that have no IOSurface.
#pragma once

#import <Foundation/Foundation.h>
#include <cstdint>

using IOSurfaceLockOptions = std::uint32_t;
inline constexpr IOSurfaceLockOptions kIOSurfaceLockReadOnly = 1;
using IOSurfacePropertyKey = NSString*;

NS_ASSUME_NONNULL_BEGIN

extern "C" {
extern IOSurfacePropertyKey const IOSurfacePropertyKeyWidth;
extern IOSurfacePropertyKey const IOSurfacePropertyKeyHeight;
extern IOSurfacePropertyKey const IOSurfacePropertyKeyBytesPerElement;
extern IOSurfacePropertyKey const IOSurfacePropertyKeyBytesPerRow;
extern IOSurfacePropertyKey const IOSurfacePropertyKeyAllocSize;
extern IOSurfacePropertyKey const IOSurfacePropertyKeyPixelFormat;
}

@interface IOSurface : NSObject
- (nullable instancetype)initWithProperties:(NSDictionary<IOSurfacePropertyKey, id>*)properties;
- (int)lockWithOptions:(IOSurfaceLockOptions)options seed:(nullable std::uint32_t*)seed;
- (int)unlockWithOptions:(IOSurfaceLockOptions)options seed:(nullable std::uint32_t*)seed;
@property(readonly) void* baseAddress;
@property(readonly) NSInteger allocationSize;
@end

NS_ASSUME_NONNULL_END
