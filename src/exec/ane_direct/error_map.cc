// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/error_map.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "base/escape.h"

namespace anemone::exec::ane_direct {
namespace {

// A sign by which a link of an error is recognised: every field that is there has to agree.
struct Sign {
  Cause cause;
  std::string_view domain;  // empty: any
  std::string_view text;    // a part of it; empty: any
};

// The first sign that any link has decides.
constexpr Sign kSigns[] = {
    {Cause::kMisuse, kMisuseDomain, {}},     {Cause::kMisuse, kExceptionDomain, {}},
    {Cause::kDiskFull, {}, "No space left"}, {Cause::kText, {}, "InvalidMILProgram"},
    {Cause::kFolder, kFolderDomain, {}},     {Cause::kCompile, {}, "ANECCompile()"},
    {Cause::kSurface, {}, "0x1d"},
};

struct Meaning {
  Cause cause;
  Code code;
  std::string_view what;
};

constexpr Meaning kMeanings[] = {
    {Cause::kUnknown, Code::kDevice, "the Neural Engine gives no cause that is known"},
    {Cause::kText, Code::kDevice,
     "the private compiler does not take the text of the program, which has to be of the form for "
     "the chip"},
    {Cause::kCompile, Code::kDevice,
     "the private compiler does not take an operation, a shape or a size"},
    {Cause::kSurface, Code::kDevice,
     "the chip refuses the surfaces of the run (0x1d): one is too small, or they are in another "
     "order"},
    {Cause::kDiskFull, Code::kIo, "no space left on device"},
    {Cause::kFolder, Code::kIo,
     "the files that the private compiler reads cannot be written into the temporary folder"},
    {Cause::kMisuse, Code::kInternal, "the call breaks a rule of the private client"},
};

Cause cause_of(const RuntimeError& error) {
  for (const Sign& sign : kSigns)
    for (const RuntimeError::Link& link : error.chain)
      if ((sign.domain.empty() || sign.domain == link.domain) &&
          link.text.find(sign.text) != std::string::npos)
        return sign.cause;
  return Cause::kUnknown;
}

}  // namespace

MappedError map_error(const RuntimeError& error, std::string_view subject,
                      std::string_view action) {
  const Cause cause = cause_of(error);
  const auto* meaning = std::ranges::find(kMeanings, cause, &Meaning::cause);
  return {cause, Status(meaning->code, fmt::format("[{}] {}: {} ({})", subject, action,
                                                   meaning->what, describe(error)))};
}

}  // namespace anemone::exec::ane_direct
