// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/apple_support.h"

NS_ASSUME_NONNULL_BEGIN

namespace anemone::exec::coreml {

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

}  // namespace anemone::exec::coreml

NS_ASSUME_NONNULL_END
