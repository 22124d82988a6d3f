// SPDX-License-Identifier: Apache-2.0
// Error model of the whole project. Anything that a user, a file, the network or the operating
// system can cause is returned as a Status or Result<T>; a broken invariant of ours stops the
// program (ANEMONE_CHECK in base/check.h). Nothing here throws, except Result::value() of an error,
// which is a bug of the caller. All types are thread-compatible values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace anemone {

// What went wrong. The process exit code and the HTTP status derive from the code alone
// (exit_code() below; serve has the HTTP table).
enum class Code {
  kOk = 0,
  kCheckFailed,      // a check that was asked for did not hold
  kInvalidArgument,  // a flag or a value given by the caller
  kParseError,       // text that does not follow its grammar
  kUnsupported,      // well-formed, but outside what anemone does
  kNotFound,         // a named thing that a file does not hold
  kCorrupt,          // a file that contradicts itself or its format
  kVersionMismatch,  // a format version that this build does not read
  kOutOfMemory,      // memory ran out, or a limit of it
  kIo,               // open, read, write, rename, disk space
  kBusy,             // a full queue, or something that another process uses
  kCancelled,        // the user, the caller or the client of a server gave the work up
  kDevice,           // Core ML or the Neural Engine refused or failed
  kInternal,         // a bug of anemone
};

// Stable snake_case name, as printed in --json errors: "corrupt", "invalid_argument", ...
std::string_view code_name(Code code);

// The process exit code of docs/errors.md: 0 ok, 1 check failed, 2 usage, 3 bad input, 4
// unsupported, 5 I/O, 6 out of resources, 7 device, 70 internal.
int exit_code(Code code);

// A code and one line of text: "[subject] expected X, got Y (where)". Cheap when ok.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);
  Status(const Status& other) : payload_(other.payload_ ? copy_of(*other.payload_) : nullptr) {}
  Status(Status&& other) noexcept : payload_(std::exchange(other.payload_, nullptr)) {}
  Status& operator=(Status other) noexcept {
    std::swap(payload_, other.payload_);
    return *this;
  }
  ~Status() {
    if (payload_ != nullptr) destroy(payload_);
  }

  bool ok() const { return payload_ == nullptr; }
  Code code() const { return payload_ ? payload_->code : Code::kOk; }
  const std::string& message() const;

  // The same error with `frame`, the place of the caller, at the end: "message (frame)". A caller
  // adds where it was and does not rewrite what the callee said. An ok status stays as it is.
  Status with(std::string_view frame) const;

 private:
  struct Payload {
    Code code;
    std::string message;
  };
  // A plain pointer, whose work is out of line: this class stands in every function that can fail,
  // and a smart pointer would put its code into each of them.
  static const Payload* copy_of(const Payload& payload);
  static void destroy(const Payload* payload);

  const Payload* payload_ = nullptr;
};

inline Status ok_status() {
  return {};
}

// A value, or the reason why there is none. Shaped so that it can become std::expected.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  Status status() const { return status_; }

  // Requires ok(): otherwise it throws std::bad_optional_access, which is a bug of the caller.
  T& value() & { return value_.value(); }
  const T& value() const& { return value_.value(); }
  T&& value() && { return std::move(value_).value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  T value_or(T other) const& { return ok() ? value() : std::move(other); }

  Result with(std::string_view frame) && {
    if (ok()) return std::move(*this);
    return status().with(frame);
  }

 private:
  std::optional<T> value_;
  Status status_;  // ok when there is a value
};

}  // namespace anemone

#define ANEMONE_CONCAT_INNER(a, b) a##b
#define ANEMONE_CONCAT(a, b) ANEMONE_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr`, a Status, is an error.
#define ANEMONE_RETURN_IF_ERROR(expr)                                                              \
  do {                                                                                             \
    if (::anemone::Status anemone_status_ = (expr); !anemone_status_.ok()) return anemone_status_; \
  } while (false)

// ANEMONE_ASSIGN_OR_RETURN(auto file, open(path)): declares or assigns, or returns the error.
#define ANEMONE_ASSIGN_OR_RETURN(lhs, expr) \
  ANEMONE_ASSIGN_OR_RETURN_IMPL(ANEMONE_CONCAT(anemone_result_, __LINE__), lhs, expr)
#define ANEMONE_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                  \
  if (!tmp.ok()) return tmp.status();                 \
  lhs = std::move(tmp).value()
