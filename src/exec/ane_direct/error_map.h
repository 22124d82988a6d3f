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
  kFolder,  // the files that the compiler reads could not be written
  kMisuse,  // a call that breaks a rule of runtime.h: a mistake of ours
};

struct MappedError {
  Cause cause = Cause::kUnknown;
  Status status;
};

// `subject` is the kernel, `action` what was tried: "cannot compile".
MappedError map_error(const RuntimeError& error, std::string_view subject, std::string_view action);

// Domains of errors that do not come from the private classes themselves, besides those of
// runtime_error.h.
inline constexpr std::string_view kSilentDomain = "anemone.silent";  // NO, and no NSError
inline constexpr std::string_view kFolderDomain = "anemone.folder";  // model_folders.h

}  // namespace anemone::exec::ane_direct
