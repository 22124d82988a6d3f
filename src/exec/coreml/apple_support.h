// SPDX-License-Identifier: Apache-2.0
// What the files that call Apple's frameworks share; it needs Foundation alone. Objective-C: only
// .mm files include it.
#pragma once

#import <Foundation/Foundation.h>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/sysctl.h>

#include "exec/runtime_error.h"

NS_ASSUME_NONNULL_BEGIN

namespace anemone::exec::coreml {

std::string text_of(NSString* _Nullable text);  // empty for nil
NSString* string_of(std::string_view text);     // empty for what is not UTF-8
NSURL* url_of(const std::string& path);

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

}  // namespace anemone::exec::coreml

NS_ASSUME_NONNULL_END
