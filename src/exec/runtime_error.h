// SPDX-License-Identifier: Apache-2.0
// What a call of Apple's frameworks gives, in plain C++: a value, or the error in its place. The
// executors turn it into a Status, since only they know what it means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace anemone::exec {

// An NSError with the errors below it. The useful text is often that of an inner one.
struct RuntimeError {
  struct Link {
    std::string domain;  // "com.apple.CoreML"
    std::int64_t code = 0;
    std::string text;
  };
  std::vector<Link> chain;  // the outermost first; never empty
};

// The links in one line, "com.apple.CoreML 0: ...; NSPOSIXErrorDomain 28: ...", each cut to a
// length that a terminal shows.
std::string describe(const RuntimeError& error);

inline RuntimeError runtime_error(std::string domain, std::int64_t code, std::string text) {
  return {{{std::move(domain), code, std::move(text)}}};
}

// Domains of errors that do not come from the frameworks themselves.
inline constexpr std::string_view kExceptionDomain = "NSException";  // thrown by a call
inline constexpr std::string_view kMisuseDomain = "anemone.misuse";  // a rule of a runtime.h

// What a call gives that breaks a rule.
inline RuntimeError misuse_error(std::string text) {
  return runtime_error(std::string(kMisuseDomain), 0, std::move(text));
}

// A value, or the error in its place.
template <typename T>
class Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Outcome(RuntimeError error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  // Requires ok().
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  // Requires !ok().
  const RuntimeError& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, RuntimeError> state_;
};

// None: it went well.
using Failure = std::optional<RuntimeError>;

}  // namespace anemone::exec
