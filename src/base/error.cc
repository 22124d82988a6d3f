// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace anemone {

Status format_error(Code code, fmt::string_view format, fmt::format_args arguments) {
  return Status(code, fmt::vformat(format, arguments));
}

Status errno_error(std::string_view path, std::string_view action) {
  const int code = errno;
  return io_error("[{}] cannot {}: {}", path, action, std::generic_category().message(code));
}

}  // namespace anemone
