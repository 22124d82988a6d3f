// SPDX-License-Identifier: Apache-2.0
// From an error of the private classes to a Status that says what happened and what helps. The
// causes are those of the laws private-errors and compile-leak (docs/ane-laws.md).
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "exec/runtime_error.h"

namespace anemone::exec::ane_direct {

enum class Cause {
  kUnknown,
  kText,     // the text of the program or its types
  kCompile,  // an operation, a shape or a size that the compiler does not take
  kSurface,  // 0x1d: a surface that is too small, of another size or in another order
  kDiskFull,
  kMisuse,  // a call that breaks a rule of runtime.h: a mistake of ours
};

struct MappedError {
  Cause cause = Cause::kUnknown;
  Status status;
};

// `subject` is the kernel, `action` what was tried: "cannot compile".
MappedError map_error(const RuntimeError& error, std::string_view subject, std::string_view action);

// Domains of errors that do not come from the private classes themselves.
inline constexpr std::string_view kExceptionDomain = "NSException";  // thrown by a call
inline constexpr std::string_view kMisuseDomain = "anemone.misuse";  // a rule of runtime.h
inline constexpr std::string_view kSilentDomain = "anemone.silent";  // NO, and no NSError

}  // namespace anemone::exec::ane_direct
