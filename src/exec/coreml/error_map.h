// SPDX-License-Identifier: Apache-2.0
// From an error of Core ML to a Status that says what happened and what helps, and to what the
// executor may try by itself. The causes are those of the laws (docs/ane-laws.md: error-14,
// system-upgrade, function-name, late-failure, package-size) and of Apple's headers.
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>

#include "exec/coreml/runtime.h"

namespace anemone::exec::coreml {

enum class Cause {
  kUnknown,
  kNoPlan,   // -14 and the like: the compiler of the chip made nothing of it
  kSurface,  // 0x1d: the chip refused the memory of a run
  kMemory,   // the system has no memory for it
  kDiskFull,
  kFile,          // a file of the compiled model is absent or damaged
  kFunctionName,  // no function of this name; Core ML also says so of a full disk
  kFeature,       // a value that does not fit the function
  kUnsupported,   // the package holds something that Core ML does not load here
  kCancelled,
  kMisuse,  // a call that breaks a rule: a mistake of ours
};

struct MappedError {
  Cause cause = Cause::kUnknown;
  Status status;
  // What may help without the user, in the order in which it is tried.
  bool recompiles = false;    // compiling the package again
  bool frees_memory = false;  // releasing functions that do not run now
  bool falls_back = false;    // another kind of compute units
};

// `subject` is the package, `action` what was tried: "cannot load function decode".
MappedError map_error(const RuntimeError& error, std::string_view subject, std::string_view action);

}  // namespace anemone::exec::coreml
