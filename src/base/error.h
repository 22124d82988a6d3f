// SPDX-License-Identifier: Apache-2.0
// A function for each error code, which makes a Status whose message fmt formats:
//   return corrupt("[{}] expected {} bytes, got {} (header)", path, want, got);
// The text names the file or value as the user gave it. Text from a file is escaped at the moment
// the line is printed (cli), not here.
#pragma once

#include <anemone/status.h>

#include <fmt/core.h>

namespace anemone {

Status format_error(Code code, fmt::string_view format, fmt::format_args arguments);

#define ANEMONE_ERROR_MAKER(name, code)                                \
  template <typename... Args>                                          \
  Status name(fmt::format_string<Args...> format, Args&&... args) {    \
    return format_error(code, format, fmt::make_format_args(args...)); \
  }
ANEMONE_ERROR_MAKER(check_not_met, Code::kCheckFailed)
ANEMONE_ERROR_MAKER(invalid_argument, Code::kInvalidArgument)
ANEMONE_ERROR_MAKER(parse_error, Code::kParseError)
ANEMONE_ERROR_MAKER(unsupported, Code::kUnsupported)
ANEMONE_ERROR_MAKER(not_found, Code::kNotFound)
ANEMONE_ERROR_MAKER(corrupt, Code::kCorrupt)
ANEMONE_ERROR_MAKER(version_mismatch, Code::kVersionMismatch)
ANEMONE_ERROR_MAKER(out_of_memory, Code::kOutOfMemory)
ANEMONE_ERROR_MAKER(io_error, Code::kIo)
ANEMONE_ERROR_MAKER(busy, Code::kBusy)
ANEMONE_ERROR_MAKER(cancelled, Code::kCancelled)
ANEMONE_ERROR_MAKER(internal_error, Code::kInternal)
#undef ANEMONE_ERROR_MAKER

// "[path] cannot open: No such file or directory": kIo with the system's text for errno. Call it
// directly after the call that failed.
Status errno_error(std::string_view path, std::string_view action);

}  // namespace anemone
