// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/error_map.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/ascii.h"
#include "base/error.h"
#include "base/escape.h"

namespace anemone::exec::coreml {
namespace {

constexpr std::string_view kCoreMl = "com.apple.CoreML";
constexpr std::string_view kPosix = "NSPOSIXErrorDomain";
constexpr std::string_view kCocoa = "NSCocoaErrorDomain";

// A sign by which a link is recognised: every field that is there has to agree.
struct Sign {
  Cause cause;
  std::string_view domain;           // empty: any
  std::optional<std::int64_t> code;  // none: any
  std::string_view text;             // a part of it in lower case; empty: any
};

// The first sign that any link has decides, so what is special stands before what is general: the
// outermost error of a full disk is often a generic one of Core ML.
constexpr Sign kSigns[] = {
    {Cause::kMisuse, kMisuseDomain, {}, {}},
    {Cause::kMisuse, kExceptionDomain, {}, {}},
    {Cause::kDiskFull, kPosix, 28, {}},   // ENOSPC
    {Cause::kDiskFull, kCocoa, 640, {}},  // NSFileWriteOutOfSpaceError
    {Cause::kDiskFull, {}, {}, "no space left"},
    {Cause::kMemory, kPosix, 12, {}},  // ENOMEM
    {Cause::kMemory, {}, {}, "out of memory"},
    {Cause::kMemory, {}, {}, "cannot allocate memory"},
    {Cause::kMemory, {}, {}, "memory pressure"},
    {Cause::kNoPlan, {}, -14, {}},
    {Cause::kNoPlan, {}, {}, "error code: -14"},
    {Cause::kSurface, {}, 0x1d, {}},
    {Cause::kSurface, {}, {}, "0x1d"},
    {Cause::kNoPlan, {}, {}, "failed to build the model execution plan"},
    {Cause::kFunctionName, {}, {}, "functionname"},
    {Cause::kFile, kPosix, 2, {}},          // ENOENT
    {Cause::kFile, kCocoa, 4, {}},          // NSFileNoSuchFileError
    {Cause::kFile, kCocoa, 256, {}},        // NSFileReadUnknownError
    {Cause::kFile, kCocoa, 259, {}},        // NSFileReadCorruptFileError
    {Cause::kFile, kCocoa, 260, {}},        // NSFileReadNoSuchFileError
    {Cause::kFeature, kCoreMl, 1, {}},      // MLModelErrorFeatureType
    {Cause::kFile, kCoreMl, 3, {}},         // MLModelErrorIO
    {Cause::kUnsupported, kCoreMl, 4, {}},  // MLModelErrorCustomLayer
    {Cause::kUnsupported, kCoreMl, 5, {}},  // MLModelErrorCustomModel
    {Cause::kFeature, kCoreMl, 7, {}},      // MLModelErrorParameters
    {Cause::kUnsupported, kCoreMl, 8, {}},  // MLModelErrorModelDecryptionKeyFetch
    {Cause::kUnsupported, kCoreMl, 9, {}},  // MLModelErrorModelDecryption
    {Cause::kCancelled, kCoreMl, 11, {}},   // MLModelErrorPredictionCancelled
};

// What a cause means to the user, and what is tried without asking.
struct Meaning {
  Cause cause;
  Code code;
  std::string_view what;
  std::string_view remedy;
  bool recompiles = false;
  bool frees_memory = false;
  bool falls_back = false;
};

constexpr Meaning kMeanings[] = {
    {Cause::kUnknown, Code::kDevice, "Core ML gives no cause that is known",
     "compile the package again; the text of Core ML may say more", false, false, true},
    {Cause::kNoPlan, Code::kDevice, "Core ML has no valid plan for it (-14)",
     "compile again from the .mlpackage; then fewer models in the process, smaller packages, fewer "
     "states, in this order",
     true, true, true},
    {Cause::kSurface, Code::kDevice, "the chip refuses the memory of the run (0x1d)",
     "compile the model with read-only caches, or with states of one shape", false, false, true},
    {Cause::kMemory, Code::kOutOfMemory, "the system has no memory for it",
     "close other models or applications, or compile smaller packages", false, true, false},
    {Cause::kDiskFull, Code::kIo, "no space left on device",
     "free space on the disk; compiling takes several times the size of a package", false, false,
     false},
    {Cause::kFile, Code::kIo, "a file of the compiled model is absent or damaged",
     "compile the package again", true, false, false},
    {Cause::kFunctionName, Code::kDevice, "Core ML does not load a function of this name",
     "it needs macOS 15 and free space on the disk, which this error is known to hide", false,
     false, false},
    {Cause::kFeature, Code::kInvalidArgument, "a value does not fit the function",
     "compile the model again: the packages do not fit the manifest", false, false, false},
    {Cause::kUnsupported, Code::kUnsupported, "the package holds what Core ML does not load",
     "run it on the CPU engine", false, false, false},
    {Cause::kCancelled, Code::kCancelled, "Core ML cancelled it", "try again", false, false, false},
    {Cause::kMisuse, Code::kInternal, "the call breaks a rule of Core ML",
     "report it as a mistake of anemone", false, false, false},
};

Cause cause_of(const RuntimeError& error) {
  for (const Sign& sign : kSigns)
    for (const RuntimeError::Link& link : error.chain)
      if ((sign.domain.empty() || sign.domain == link.domain) &&
          (!sign.code || *sign.code == link.code) &&
          (sign.text.empty() || ascii_lower(link.text).find(sign.text) != std::string::npos))
        return sign.cause;
  return Cause::kUnknown;
}

}  // namespace

MappedError map_error(const RuntimeError& error, std::string_view subject,
                      std::string_view action) {
  const Cause cause = cause_of(error);
  const auto* meaning = std::ranges::find(kMeanings, cause, &Meaning::cause);
  return {cause,
          Status(meaning->code, fmt::format("[{}] {}: {}; {} ({})", subject, action, meaning->what,
                                            meaning->remedy, describe(error))),
          meaning->recompiles, meaning->frees_memory, meaning->falls_back};
}

}  // namespace anemone::exec::coreml
