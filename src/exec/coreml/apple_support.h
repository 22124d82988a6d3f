// SPDX-License-Identifier: Apache-2.0
// What the files that call Apple's frameworks share; it needs Foundation alone. Objective-C: only
// .mm files include it.
#pragma once

#import <Foundation/Foundation.h>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <sys/sysctl.h>

#include "exec/runtime_error.h"

NS_ASSUME_NONNULL_BEGIN

namespace anemone::exec::coreml {

std::string text_of(NSString* _Nullable text);  // empty for nil
NSString* string_of(std::string_view text);     // empty for what is not UTF-8
NSURL* url_of(const std::string& path);

// Integers of any range.
template <typename Range>
NSArray<NSNumber*>* numbers_of(const Range& integers) {
  NSMutableArray<NSNumber*>* const out = [NSMutableArray array];
  for (const auto integer : integers)
    [out addObject:[NSNumber numberWithLongLong:static_cast<long long>(integer)]];
  return out;
}

// What Core ML says when a call gives nothing: the error, if there is one, with those below it.
RuntimeError error_of(NSError* _Nullable error);
RuntimeError error_of(NSException* exception);

// A text of sysctl; empty where there is none of the name.
inline std::string system_text(const char* name) {
  std::array<char, 256> text{};
  std::size_t size = text.size() - 1;
  if (::sysctlbyname(name, text.data(), &size, nullptr, 0) != 0) return "";
  return text.data();
}

// f() with a pool.
template <typename F>
void pooled(const F& f) {
  @autoreleasepool {
    f();
  }
}

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

}  // namespace anemone::exec::coreml

NS_ASSUME_NONNULL_END
